/* SPDX-License-Identifier: Apache-2.0 */
/* vision/erase.c - RandomErasing (Zhong et al. 2017) and GaussianNoise. */
#include <math.h>
#include <string.h>

#include "vision/options.h"
#include "vision/pixels.h"

enum { CHUNK = 512 };

TtStatus tt_pixels_erase(TtTransformArgs *a, int top, int left, int h, int w, const TtFloats *value)
{
    const TtImage *im = a->image;
    const size_t c = (size_t)im->c, size = tt_dtype_size(im->dtype), n = (size_t)w * c;
    float x[CHUNK];
    if (value && value->n > 1 && value->n != im->c)
        return TT_FAIL(TT_ECONFIG, "RandomErasing has %d values, but the picture has %d channel%s (%s)", value->n,
                       im->c, im->c > 1 ? "s" : "", a->name);
    const size_t chunk = CHUNK / c * c; /* whole pixels, so that a row of values begins with the first channel */
    if (chunk == 0) return TT_FAIL(TT_EDATA, "%s: the picture has too many channels (%d)", a->name, im->c);
    for (int y = 0; y < h; y++) {
        uint8_t *d = (uint8_t *)im->data + ((size_t)(top + y) * (size_t)im->w + (size_t)left) * c * size;
        for (size_t i = 0; i < n; i += chunk) {
            const size_t m = TT_MIN(n - i, chunk);
            for (size_t k = 0; k < m; k++)
                x[k] = (float)(value ? value->v[value->n == 1 ? 0 : k % c] : tt_rng_normal(&a->rng));
            tt_pixels_store(im->dtype, x, m, false, d + i * size);
        }
    }
    return TT_OK;
}

typedef struct RandomErasing {
    double p;
    TtFloats scale, ratio;
    const TtNode *value;
    bool inplace;
    bool normal; /* derived from value */
    TtFloats values;
} RandomErasing;

static const TtOption erasing_options[] = {
    TT_OPTION_P(RandomErasing, "0.5"),
    TT_OPTION_RANGE(RandomErasing, scale, "[0.02, 0.33]", 0, 1, "area erased, as a share of the picture's"),
    TT_OPTION_RANGE(RandomErasing, ratio, "[0.3, 3.3]", 1e-6, 1e6, "height to width of the area"),
    {"value", TT_OPT_NODE, offsetof(RandomErasing, value),
     .help = "a number (default 0), one for each channel, or `random` for normal random numbers"},
    {"inplace", TT_OPT_BOOL, offsetof(RandomErasing, inplace), .def = "false", .help = "accepted; changes nothing"},
    {0}};

static TtStatus erasing_check(void *o, const TtNode *node, TtArena *arena)
{
    static double zero = 0;
    RandomErasing *r = o;
    const TtNode *v = r->value;
    TT_TRY(tt_check_range(&r->scale, "scale", node));
    TT_TRY(tt_check_range(&r->ratio, "ratio", node));
    r->values = (TtFloats){1, &zero};
    if (tt_node_is_null(v)) return TT_OK;
    r->normal = v->kind == TT_NODE_SCALAR && strcmp(v->text, "random") == 0;
    if (r->normal) return TT_OK;
    if (v->kind == TT_NODE_MAP || (v->kind == TT_NODE_LIST && v->count == 0))
        return tt_node_fail(v, "value must be a number, a list of numbers or `random`");
    const int n = v->kind == TT_NODE_LIST ? v->count : 1;
    r->values = (TtFloats){n, TT_NEWN(arena, double, n)};
    for (int i = 0; i < n; i++) {
        const TtNode *item = v->kind == TT_NODE_LIST ? v->items[i] : v;
        if (tt_node_float(item, "value", &r->values.v[i]) != TT_OK || !isfinite(r->values.v[i]))
            return tt_node_fail(item, "value must be a number, a list of numbers or `random`");
    }
    return TT_OK;
}

static TtStatus erasing_apply(const void *o, TtTransformArgs *a)
{
    const RandomErasing *r = o;
    const int height = a->image->h, width = a->image->w;
    const double area = (double)height * width, lo = log(r->ratio.v[0]), hi = log(r->ratio.v[1]);
    if (tt_rng_double(&a->rng) >= r->p) return TT_OK;
    for (int attempt = 0; attempt < 10; attempt++) {
        const double target = area * tt_rng_uniform(&a->rng, r->scale.v[0], r->scale.v[1]);
        const double aspect = exp(tt_rng_uniform(&a->rng, lo, hi));
        const double h = rint(sqrt(target * aspect)), w = rint(sqrt(target / aspect));
        if (!(h < height && w < width)) continue;
        const int top = (int)tt_rng_below(&a->rng, (uint64_t)(height - (int)h) + 1);
        const int left = (int)tt_rng_below(&a->rng, (uint64_t)(width - (int)w) + 1);
        return tt_pixels_erase(a, top, left, (int)h, (int)w, r->normal ? NULL : &r->values);
    }
    return TT_OK;
}

const TtTransformDef tt_transform_RandomErasing = {
    .name = "RandomErasing",
    .help = "erase a random rectangle with probability p",
    .options = erasing_options,
    .size = sizeof(RandomErasing),
    .check = erasing_check,
    .apply = erasing_apply,
    .random = true,
};

/* ---- GaussianNoise */

typedef struct GaussianNoise {
    double mean, sigma;
    bool clip;
} GaussianNoise;

static const TtOption noise_options[] = {
    {"mean", TT_OPT_FLOAT, offsetof(GaussianNoise, mean), .def = "0.0", .flags = TT_OPT_RANGED, .min = -1e6, .max = 1e6,
     .help = "mean of the noise, on the scale of [0,1]"},
    {"sigma", TT_OPT_FLOAT, offsetof(GaussianNoise, sigma), .def = "0.1", .flags = TT_OPT_RANGED, .min = 0, .max = 1e6,
     .help = "standard deviation of the noise, likewise"},
    {"clip", TT_OPT_BOOL, offsetof(GaussianNoise, clip), .def = "true",
     .help = "limit to [0,1] (integers: always to their range)"},
    {0}};

static TtStatus noise_apply(const void *o, TtTransformArgs *a)
{
    const GaussianNoise *g = o;
    const TtImage *im = a->image;
    const size_t n = (size_t)im->h * (size_t)im->w * (size_t)im->c, size = tt_dtype_size(im->dtype);
    const double bound = tt_pixels_bound(im->dtype);
    float x[CHUNK];
    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t m = TT_MIN(n - i, (size_t)CHUNK);
        uint8_t *p = (uint8_t *)im->data + i * size;
        tt_pixels_load(im->dtype, p, m, x);
        for (size_t k = 0; k < m; k++) {
            const double noise = (g->mean + g->sigma * tt_rng_normal(&a->rng)) * bound;
            /* torchvision cuts the noise, not the sum, to an integer */
            const double v = x[k] + (im->dtype == TT_F32 ? noise : trunc(noise));
            x[k] = (float)(im->dtype == TT_F32 && g->clip ? fmin(fmax(v, 0), 1) : v);
        }
        tt_pixels_store(im->dtype, x, m, false, p);
    }
    return TT_OK;
}

const TtTransformDef tt_transform_GaussianNoise = {
    .name = "GaussianNoise",
    .help = "add normal noise",
    .options = noise_options,
    .size = sizeof(GaussianNoise),
    .apply = noise_apply,
    .random = true,
};
