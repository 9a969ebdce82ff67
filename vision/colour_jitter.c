/* SPDX-License-Identifier: Apache-2.0 */
/* vision/colour_jitter.c - ColorJitter, RandomPhotometricDistort, Grayscale, RandomGrayscale, RGB and
 * RandomChannelPermutation. */
#include <math.h>

#include "vision/options.h"
#include "vision/pixels.h"

/* The four adjustments, in torchvision's numbering. */
static TtStatus (*const adjust[4])(TtTransformArgs *, double) = {tt_pixels_brightness, tt_pixels_contrast,
                                                                 tt_pixels_saturation, tt_pixels_hue};
static const char *const names[4] = {"brightness", "contrast", "saturation", "hue"};

/* ---- ColorJitter */

typedef struct ColorJitter {
    TtFloats given[4];
    double lo[4], hi[4]; /* derived: where the factor comes from; equal to 1 (hue: 0) both: left out */
    bool on[4];
} ColorJitter;

#define ADJUSTMENT(name, i, text)                                                     \
    {                                                                                 \
        name, TT_OPT_FLOATS, offsetof(ColorJitter, given) + (i) * sizeof(TtFloats),   \
            .def = "null", .flags = TT_OPT_NULL, .min_n = 1, .max_n = 2, .help = text \
    }
static const TtOption jitter_options[] = {
    ADJUSTMENT("brightness", 0, "factor from [max(0, 1 - v), 1 + v], or from [min, max]"),
    ADJUSTMENT("contrast", 1, "factor from [max(0, 1 - v), 1 + v], or from [min, max]"),
    ADJUSTMENT("saturation", 2, "factor from [max(0, 1 - v), 1 + v], or from [min, max]"),
    ADJUSTMENT("hue", 3, "turn from [-v, v], or from [min, max], within [-0.5, 0.5]"),
    {0}};
#undef ADJUSTMENT

static TtStatus jitter_check(void *o, const TtNode *node, TtArena *arena)
{
    ColorJitter *c = o;
    for (int i = 0; i < 4; i++) {
        const TtFloats *v = &c->given[i];
        const TtNode *at = tt_node_get(node, names[i]);
        const double center = i == 3 ? 0 : 1, least = i == 3 ? -0.5 : 0;
        if (v->n == 0) continue;
        if (v->n == 1 && v->v[0] < 0) return tt_node_fail(at, "%s must not be negative", names[i]);
        c->lo[i] = v->n == 2 ? v->v[0] : center - v->v[0];
        c->hi[i] = v->n == 2 ? v->v[1] : center + v->v[0];
        if (v->n == 1 && i != 3) c->lo[i] = fmax(c->lo[i], 0);
        if (c->lo[i] < least || c->lo[i] > c->hi[i] || (i == 3 && c->hi[i] > 0.5))
            return tt_node_fail(at, "%s must be %s", names[i],
                                i == 3 ? "at most 0.5, or a rising range within [-0.5, 0.5]"
                                       : "a number, or a rising range that does not begin below 0");
        c->on[i] = c->lo[i] != center || c->hi[i] != center;
    }
    return TT_OK;
}

static TtStatus jitter_apply(const void *o, TtTransformArgs *a)
{
    const ColorJitter *c = o;
    int64_t order[4] = {0, 1, 2, 3};
    double factor[4];
    tt_rng_shuffle(&a->rng, order, 4);
    for (int i = 0; i < 4; i++)
        if (c->on[i]) factor[i] = tt_rng_uniform(&a->rng, c->lo[i], c->hi[i]);
    for (int i = 0; i < 4; i++)
        if (c->on[order[i]]) TT_TRY(adjust[order[i]](a, factor[order[i]]));
    return TT_OK;
}

const TtTransformDef tt_transform_ColorJitter = {
    .name = "ColorJitter",
    .help = "change brightness, contrast, saturation and hue at random, in random order",
    .options = jitter_options,
    .size = sizeof(ColorJitter),
    .check = jitter_check,
    .apply = jitter_apply,
    .random = true,
};

/* ---- RandomPhotometricDistort (Liu et al. 2016, SSD) */

typedef struct Distort {
    TtFloats brightness, contrast, saturation, hue;
    double p;
} Distort;

static const TtOption distort_options[] = {
    TT_OPTION_RANGE(Distort, brightness, "[0.875, 1.125]", 0, 1e6, "[min, max] of the factor"),
    TT_OPTION_RANGE(Distort, contrast, "[0.5, 1.5]", 0, 1e6, "[min, max] of the factor"),
    TT_OPTION_RANGE(Distort, saturation, "[0.5, 1.5]", 0, 1e6, "[min, max] of the factor"),
    TT_OPTION_RANGE(Distort, hue, "[-0.05, 0.05]", -0.5, 0.5, "[min, max] of the turn"),
    TT_OPTION_P(Distort, "0.5"),
    {0}};

static const TtFloats *distort_range(const Distort *d, int i)
{
    const TtFloats *const ranges[4] = {&d->brightness, &d->contrast, &d->saturation, &d->hue};
    return ranges[i];
}

static TtStatus distort_check(void *o, const TtNode *node, TtArena *arena)
{
    for (int i = 0; i < 4; i++) TT_TRY(tt_check_range(distort_range(o, i), names[i], node));
    return TT_OK;
}

static TtStatus distort_apply(const void *o, TtTransformArgs *a)
{
    const Distort *d = o;
    bool on[4];
    double factor[4];
    int64_t channels[8];
    for (int i = 0; i < 4; i++) {
        const TtFloats *range = distort_range(d, i);
        on[i] = tt_rng_double(&a->rng) < d->p;
        factor[i] = on[i] ? tt_rng_uniform(&a->rng, range->v[0], range->v[1]) : 0;
    }
    const bool early = tt_rng_double(&a->rng) < 0.5, permute = tt_rng_double(&a->rng) < d->p;
    if (on[0]) TT_TRY(tt_pixels_brightness(a, factor[0]));
    if (on[1] && early) TT_TRY(tt_pixels_contrast(a, factor[1]));
    if (on[2]) TT_TRY(tt_pixels_saturation(a, factor[2]));
    if (on[3]) TT_TRY(tt_pixels_hue(a, factor[3]));
    if (on[1] && !early) TT_TRY(tt_pixels_contrast(a, factor[1]));
    if (!permute) return TT_OK;
    for (int j = 0; j < 8; j++) channels[j] = j;
    tt_rng_shuffle(&a->rng, channels, TT_MIN(a->image->c, 8));
    return tt_pixels_permute_channels(a, channels);
}

const TtTransformDef tt_transform_RandomPhotometricDistort = {
    .name = "RandomPhotometricDistort",
    .help = "each of brightness, contrast, saturation, hue and channel order with probability p",
    .options = distort_options,
    .size = sizeof(Distort),
    .check = distort_check,
    .apply = distort_apply,
    .random = true,
};

/* ---- grey */

typedef struct Grayscale {
    int64_t num_output_channels;
} Grayscale;

static const TtOption grayscale_options[] = {{"num_output_channels", TT_OPT_INT,
                                              offsetof(Grayscale, num_output_channels), .def = "1",
                                              .flags = TT_OPT_RANGED, .min = 1, .max = 3, .help = "1 or 3"},
                                             {0}};

static TtStatus grayscale_check(void *o, const TtNode *node, TtArena *arena)
{
    if (((const Grayscale *)o)->num_output_channels != 2) return TT_OK;
    return tt_node_fail(tt_node_get(node, "num_output_channels"), "num_output_channels must be 1 or 3, not 2");
}

static TtStatus grayscale_apply(const void *o, TtTransformArgs *a)
{
    return tt_pixels_grayscale(a, (int)((const Grayscale *)o)->num_output_channels);
}

const TtTransformDef tt_transform_Grayscale = {
    .name = "Grayscale",
    .help = "grey, in 1 channel or 3 equal ones",
    .options = grayscale_options,
    .size = sizeof(Grayscale),
    .check = grayscale_check,
    .apply = grayscale_apply,
};

typedef struct Probability {
    double p;
} Probability;

static const TtOption random_grayscale_options[] = {TT_OPTION_P(Probability, "0.1"), {0}};

static TtStatus random_grayscale_apply(const void *o, TtTransformArgs *a)
{
    if (tt_rng_double(&a->rng) >= ((const Probability *)o)->p) return TT_OK;
    return tt_pixels_grayscale(a, a->image->c);
}

const TtTransformDef tt_transform_RandomGrayscale = {
    .name = "RandomGrayscale",
    .help = "grey with probability p, in as many channels as before",
    .options = random_grayscale_options,
    .size = sizeof(Probability),
    .apply = random_grayscale_apply,
    .random = true,
};

static const TtOption no_options[] = {{0}};

static TtStatus rgb_apply(const void *o, TtTransformArgs *a)
{
    return a->image->c == 1 ? tt_pixels_grayscale(a, 3) : TT_OK;
}

const TtTransformDef tt_transform_RGB = {
    .name = "RGB", .help = "three channels out of one", .options = no_options, .size = 1, .apply = rgb_apply};

static TtStatus permutation_apply(const void *o, TtTransformArgs *a)
{
    int64_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    tt_rng_shuffle(&a->rng, order, TT_MIN(a->image->c, 8));
    return tt_pixels_permute_channels(a, order);
}

const TtTransformDef tt_transform_RandomChannelPermutation = {
    .name = "RandomChannelPermutation",
    .help = "channels in random order",
    .options = no_options,
    .size = 1,
    .apply = permutation_apply,
    .random = true,
};
