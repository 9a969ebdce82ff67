/* SPDX-License-Identifier: Apache-2.0 */
/* vision/auto_augment.c - TrivialAugmentWide (Mueller and Hutter 2021), RandAugment (Cubuk et al. 2020), AutoAugment
 * (Cubuk et al. 2019) and AugMix (Hendrycks et al. 2020), with the ranges that torchvision gives each operation. */
#include <math.h>
#include <string.h>

#include "vision/options.h"
#include "vision/pixels.h"

typedef enum Op {
    IDENTITY,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    ROTATE,
    BRIGHTNESS,
    COLOR,
    CONTRAST,
    SHARPNESS,
    POSTERIZE,
    SOLARIZE,
    AUTOCONTRAST,
    EQUALIZE,
    INVERT /* AutoAugment only */
} Op;
enum { DRAWN = INVERT }; /* the operations that TrivialAugment and RandAugment draw from */

/* What differs between the methods: how far each operation goes at the strongest magnitude. */
typedef struct Space {
    float shear, rotate, colour;
    float translate; /* pixels */
    bool relative;   /* translate is a share of the side instead */
    int bits, taken; /* posterize: bits left by the weakest, and how many fewer by the strongest */
} Space;

static const Space wide = {
    .shear = 0.99f, .rotate = 135.0f, .colour = 0.99f, .translate = 32.0f, .bits = 8, .taken = 6};
static const Space narrow = {.shear = 0.3f,
                             .rotate = 30.0f,
                             .colour = 0.9f,
                             .translate = 150.0f / 331.0f,
                             .relative = true,
                             .bits = 8,
                             .taken = 4};
static const Space mixed = {
    .shear = 0.3f, .rotate = 30.0f, .colour = 0.9f, .translate = 1.0f / 3.0f, .relative = true, .bits = 4, .taken = 4};

static bool has_sign(Op op)
{
    return op >= SHEAR_X && op <= SHARPNESS;
}

static bool has_magnitude(Op op)
{
    return has_sign(op) || op == POSTERIZE || op == SOLARIZE;
}

/* torch.linspace(from, to, bins)[i], which counts the second half from its end. */
static float linspace(float from, float to, int bins, int i)
{
    const float step = (to - from) / (float)(bins - 1);
    return i < bins / 2 ? from + step * (float)i : to - step * (float)(bins - 1 - i);
}

static double magnitude_of(const Space *s, Op op, int bins, int i, const TtImage *im)
{
    switch (op) {
    case SHEAR_X:
    case SHEAR_Y: return linspace(0, s->shear, bins, i);
    case TRANSLATE_X: return linspace(0, s->relative ? s->translate * (float)im->w : s->translate, bins, i);
    case TRANSLATE_Y: return linspace(0, s->relative ? s->translate * (float)im->h : s->translate, bins, i);
    case ROTATE: return linspace(0, s->rotate, bins, i);
    case POSTERIZE: return rint(s->bits - i / ((double)(bins - 1) / s->taken));
    case SOLARIZE: return linspace(1, 0, bins, i);
    default: return linspace(0, s->colour, bins, i);
    }
}

/* MAGNITUDE as torchvision passes it to _apply_image_or_video_transform. */
static TtStatus run(TtTransformArgs *a, Op op, double magnitude, TtWarp warp, const TtFloats *fill)
{
    static const double corner[2] = {0, 0};
    TtAffine m = {.scale = 1};
    const double degrees = atan(magnitude) * 180.0 / M_PI;
    switch (op) {
    case IDENTITY: return TT_OK;
    case SHEAR_X: m.shear[0] = degrees; return tt_pixels_affine(a, &m, warp, fill, corner);
    case SHEAR_Y: m.shear[1] = degrees; return tt_pixels_affine(a, &m, warp, fill, corner);
    case TRANSLATE_X: m.translate[0] = trunc(magnitude); return tt_pixels_affine(a, &m, warp, fill, NULL);
    case TRANSLATE_Y: m.translate[1] = trunc(magnitude); return tt_pixels_affine(a, &m, warp, fill, NULL);
    case ROTATE: return tt_pixels_rotate(a, magnitude, warp, false, NULL, fill);
    case BRIGHTNESS: return tt_pixels_brightness(a, 1.0 + magnitude);
    case COLOR: return tt_pixels_saturation(a, 1.0 + magnitude);
    case CONTRAST: return tt_pixels_contrast(a, 1.0 + magnitude);
    case SHARPNESS: return tt_pixels_sharpness(a, 1.0 + magnitude);
    case POSTERIZE: return tt_pixels_posterize(a, (int)magnitude);
    case SOLARIZE: return tt_pixels_solarize(a, (double)tt_pixels_bound(a->image->dtype) * magnitude);
    case AUTOCONTRAST: return tt_pixels_autocontrast(a);
    case EQUALIZE: return tt_pixels_equalize(a);
    case INVERT: return tt_pixels_invert(a);
    }
    return TT_OK;
}

/* One operation at step I of BINS, its sign drawn. */
static TtStatus run_step(TtTransformArgs *a, const Space *s, Op op, int bins, int i, TtWarp warp, const TtFloats *fill)
{
    double magnitude = has_magnitude(op) ? magnitude_of(s, op, bins, i, a->image) : 0;
    if (has_sign(op) && tt_rng_double(&a->rng) < 0.5) magnitude = -magnitude;
    return run(a, op, magnitude, warp, fill);
}

typedef struct Augment {
    int64_t num_ops, magnitude, num_magnitude_bins;
    int policy, interpolation;
    TtFloats fill;
} Augment;

#define BINS                                                                                                           \
    {                                                                                                                  \
        "num_magnitude_bins", TT_OPT_INT, offsetof(Augment, num_magnitude_bins),                                       \
            .def = "31", .flags = TT_OPT_RANGED, .min = 2, .max = 10000, .help = "steps from nothing to the strongest" \
    }
#define INTERPOLATION                                                                                                \
    {                                                                                                                \
        "interpolation", TT_OPT_ENUM, offsetof(Augment, interpolation), .def = "nearest", .choices = TT_WARPS,       \
                                                                        .help = "filter of the geometric operations" \
    }

/* ---- TrivialAugmentWide */

static const TtOption trivial_options[] = {BINS, INTERPOLATION, TT_OPTION_FILL(Augment, "null"), {0}};

static TtStatus trivial_apply(const void *o, TtTransformArgs *a)
{
    const Augment *t = o;
    const int bins = (int)t->num_magnitude_bins;
    const Op op = (Op)tt_rng_below(&a->rng, DRAWN);
    const int i = has_magnitude(op) ? (int)tt_rng_below(&a->rng, (uint64_t)bins) : 0;
    return run_step(a, &wide, op, bins, i, (TtWarp)t->interpolation, &t->fill);
}

const TtTransformDef tt_transform_TrivialAugmentWide = {
    .name = "TrivialAugmentWide",
    .help = "one random operation of random strength",
    .options = trivial_options,
    .size = sizeof(Augment),
    .apply = trivial_apply,
    .random = true,
};

/* ---- RandAugment */

static const TtOption rand_options[] = {
    {"num_ops", TT_OPT_INT, offsetof(Augment, num_ops), .def = "2", .flags = TT_OPT_RANGED, .min = 0, .max = 100,
     .help = "operations, one after another"},
    {"magnitude", TT_OPT_INT, offsetof(Augment, magnitude), .def = "9", .flags = TT_OPT_RANGED, .min = 0, .max = 9999,
     .help = "which step of num_magnitude_bins"},
    BINS,
    INTERPOLATION,
    TT_OPTION_FILL(Augment, "null"),
    {0}};

static TtStatus rand_check(void *o, const TtNode *node, TtArena *arena)
{
    const Augment *r = o;
    if (r->magnitude < r->num_magnitude_bins) return TT_OK;
    return TT_FAIL_AT_KEY(node, "magnitude", "magnitude must be less than num_magnitude_bins (%lld), not %lld",
                          (long long)r->num_magnitude_bins, (long long)r->magnitude);
}

static TtStatus rand_apply(const void *o, TtTransformArgs *a)
{
    const Augment *r = o;
    for (int64_t k = 0; k < r->num_ops; k++) {
        const Op op = (Op)tt_rng_below(&a->rng, DRAWN);
        TT_TRY(run_step(a, &narrow, op, (int)r->num_magnitude_bins, (int)r->magnitude, (TtWarp)r->interpolation,
                        &r->fill));
    }
    return TT_OK;
}

const TtTransformDef tt_transform_RandAugment = {
    .name = "RandAugment",
    .help = "random operations of one strength",
    .options = rand_options,
    .size = sizeof(Augment),
    .check = rand_check,
    .apply = rand_apply,
    .random = true,
};

/* ---- AutoAugment */

/* An operation, its probability and its step of ten. */
typedef struct Rule {
    unsigned char op;
    float p;
    signed char step;
} Rule;

/* The policies that the paper found; each picture gets one pair. */
static const Rule policies[3][25][2] = {
    /* clang-format off */
    {
        {{POSTERIZE, 0.4, 8}, {ROTATE, 0.6, 9}},
        {{SOLARIZE, 0.6, 5}, {AUTOCONTRAST, 0.6, 0}},
        {{EQUALIZE, 0.8, 0}, {EQUALIZE, 0.6, 0}},
        {{POSTERIZE, 0.6, 7}, {POSTERIZE, 0.6, 6}},
        {{EQUALIZE, 0.4, 0}, {SOLARIZE, 0.2, 4}},
        {{EQUALIZE, 0.4, 0}, {ROTATE, 0.8, 8}},
        {{SOLARIZE, 0.6, 3}, {EQUALIZE, 0.6, 0}},
        {{POSTERIZE, 0.8, 5}, {EQUALIZE, 1, 0}},
        {{ROTATE, 0.2, 3}, {SOLARIZE, 0.6, 8}},
        {{EQUALIZE, 0.6, 0}, {POSTERIZE, 0.4, 6}},
        {{ROTATE, 0.8, 8}, {COLOR, 0.4, 0}},
        {{ROTATE, 0.4, 9}, {EQUALIZE, 0.6, 0}},
        {{EQUALIZE, 0, 0}, {EQUALIZE, 0.8, 0}},
        {{INVERT, 0.6, 0}, {EQUALIZE, 1, 0}},
        {{COLOR, 0.6, 4}, {CONTRAST, 1, 8}},
        {{ROTATE, 0.8, 8}, {COLOR, 1, 2}},
        {{COLOR, 0.8, 8}, {SOLARIZE, 0.8, 7}},
        {{SHARPNESS, 0.4, 7}, {INVERT, 0.6, 0}},
        {{SHEAR_X, 0.6, 5}, {EQUALIZE, 1, 0}},
        {{COLOR, 0.4, 0}, {EQUALIZE, 0.6, 0}},
        {{EQUALIZE, 0.4, 0}, {SOLARIZE, 0.2, 4}},
        {{SOLARIZE, 0.6, 5}, {AUTOCONTRAST, 0.6, 0}},
        {{INVERT, 0.6, 0}, {EQUALIZE, 1, 0}},
        {{COLOR, 0.6, 4}, {CONTRAST, 1, 8}},
        {{EQUALIZE, 0.8, 0}, {EQUALIZE, 0.6, 0}},
    },
    {
        {{INVERT, 0.1, 0}, {CONTRAST, 0.2, 6}},
        {{ROTATE, 0.7, 2}, {TRANSLATE_X, 0.3, 9}},
        {{SHARPNESS, 0.8, 1}, {SHARPNESS, 0.9, 3}},
        {{SHEAR_Y, 0.5, 8}, {TRANSLATE_Y, 0.7, 9}},
        {{AUTOCONTRAST, 0.5, 0}, {EQUALIZE, 0.9, 0}},
        {{SHEAR_Y, 0.2, 7}, {POSTERIZE, 0.3, 7}},
        {{COLOR, 0.4, 3}, {BRIGHTNESS, 0.6, 7}},
        {{SHARPNESS, 0.3, 9}, {BRIGHTNESS, 0.7, 9}},
        {{EQUALIZE, 0.6, 0}, {EQUALIZE, 0.5, 0}},
        {{CONTRAST, 0.6, 7}, {SHARPNESS, 0.6, 5}},
        {{COLOR, 0.7, 7}, {TRANSLATE_X, 0.5, 8}},
        {{EQUALIZE, 0.3, 0}, {AUTOCONTRAST, 0.4, 0}},
        {{TRANSLATE_Y, 0.4, 3}, {SHARPNESS, 0.2, 6}},
        {{BRIGHTNESS, 0.9, 6}, {COLOR, 0.2, 8}},
        {{SOLARIZE, 0.5, 2}, {INVERT, 0, 0}},
        {{EQUALIZE, 0.2, 0}, {AUTOCONTRAST, 0.6, 0}},
        {{EQUALIZE, 0.2, 0}, {EQUALIZE, 0.6, 0}},
        {{COLOR, 0.9, 9}, {EQUALIZE, 0.6, 0}},
        {{AUTOCONTRAST, 0.8, 0}, {SOLARIZE, 0.2, 8}},
        {{BRIGHTNESS, 0.1, 3}, {COLOR, 0.7, 0}},
        {{SOLARIZE, 0.4, 5}, {AUTOCONTRAST, 0.9, 0}},
        {{TRANSLATE_Y, 0.9, 9}, {TRANSLATE_Y, 0.7, 9}},
        {{AUTOCONTRAST, 0.9, 0}, {SOLARIZE, 0.8, 3}},
        {{EQUALIZE, 0.8, 0}, {INVERT, 0.1, 0}},
        {{TRANSLATE_Y, 0.7, 9}, {AUTOCONTRAST, 0.9, 0}},
    },
    {
        {{SHEAR_X, 0.9, 4}, {INVERT, 0.2, 0}},
        {{SHEAR_Y, 0.9, 8}, {INVERT, 0.7, 0}},
        {{EQUALIZE, 0.6, 0}, {SOLARIZE, 0.6, 6}},
        {{INVERT, 0.9, 0}, {EQUALIZE, 0.6, 0}},
        {{EQUALIZE, 0.6, 0}, {ROTATE, 0.9, 3}},
        {{SHEAR_X, 0.9, 4}, {AUTOCONTRAST, 0.8, 0}},
        {{SHEAR_Y, 0.9, 8}, {INVERT, 0.4, 0}},
        {{SHEAR_Y, 0.9, 5}, {SOLARIZE, 0.2, 6}},
        {{INVERT, 0.9, 0}, {AUTOCONTRAST, 0.8, 0}},
        {{EQUALIZE, 0.6, 0}, {ROTATE, 0.9, 3}},
        {{SHEAR_X, 0.9, 4}, {SOLARIZE, 0.3, 3}},
        {{SHEAR_Y, 0.8, 8}, {INVERT, 0.7, 0}},
        {{EQUALIZE, 0.9, 0}, {TRANSLATE_Y, 0.6, 6}},
        {{INVERT, 0.9, 0}, {EQUALIZE, 0.6, 0}},
        {{CONTRAST, 0.3, 3}, {ROTATE, 0.8, 4}},
        {{INVERT, 0.8, 0}, {TRANSLATE_Y, 0, 2}},
        {{SHEAR_Y, 0.7, 6}, {SOLARIZE, 0.4, 8}},
        {{INVERT, 0.6, 0}, {ROTATE, 0.8, 4}},
        {{SHEAR_Y, 0.3, 7}, {TRANSLATE_X, 0.9, 3}},
        {{SHEAR_X, 0.1, 6}, {INVERT, 0.6, 0}},
        {{SOLARIZE, 0.7, 2}, {TRANSLATE_Y, 0.6, 7}},
        {{SHEAR_Y, 0.8, 4}, {INVERT, 0.8, 0}},
        {{SHEAR_X, 0.7, 9}, {TRANSLATE_Y, 0.8, 3}},
        {{SHEAR_Y, 0.8, 5}, {AUTOCONTRAST, 0.7, 0}},
        {{SHEAR_X, 0.7, 2}, {INVERT, 0.1, 0}},
    },
    /* clang-format on */
};

static const TtOption auto_options[] = {{"policy", TT_OPT_ENUM, offsetof(Augment, policy), .def = "imagenet",
                                         .choices = "imagenet|cifar10|svhn", .help = "which data it was found on"},
                                        INTERPOLATION,
                                        TT_OPTION_FILL(Augment, "null"),
                                        {0}};

static TtStatus auto_apply(const void *o, TtTransformArgs *a)
{
    const Augment *p = o;
    const Rule *pair = policies[p->policy][tt_rng_below(&a->rng, 25)];
    for (int k = 0; k < 2; k++)
        if (tt_rng_double(&a->rng) < (double)pair[k].p)
            TT_TRY(run_step(a, &narrow, (Op)pair[k].op, 10, pair[k].step, (TtWarp)p->interpolation, &p->fill));
    return TT_OK;
}

const TtTransformDef tt_transform_AutoAugment = {
    .name = "AutoAugment",
    .help = "a pair of operations of a learned policy",
    .options = auto_options,
    .size = sizeof(Augment),
    .apply = auto_apply,
    .random = true,
};

/* ---- AugMix */

typedef struct AugMix {
    int64_t severity, mixture_width, chain_depth;
    double alpha;
    bool all_ops;
    int interpolation;
    TtFloats fill;
} AugMix;

enum { MAX_WIDTH = 16, PARTIAL = 9 };

/* What the chains draw from; without all_ops only the first PARTIAL, which no corruption benchmark tests. */
static const unsigned char mix_ops[] = {SHEAR_X,      SHEAR_Y,  TRANSLATE_X, TRANSLATE_Y, ROTATE,   POSTERIZE, SOLARIZE,
                                        AUTOCONTRAST, EQUALIZE, BRIGHTNESS,  COLOR,       CONTRAST, SHARPNESS};

static const TtOption mix_options[] = {
    {"severity", TT_OPT_INT, offsetof(AugMix, severity), .def = "3", .flags = TT_OPT_RANGED, .min = 1, .max = 10,
     .help = "strength of the operations: the first so many steps of ten"},
    {"mixture_width", TT_OPT_INT, offsetof(AugMix, mixture_width), .def = "3", .flags = TT_OPT_RANGED, .min = 1,
     .max = MAX_WIDTH, .help = "chains that are mixed"},
    {"chain_depth", TT_OPT_INT, offsetof(AugMix, chain_depth), .def = "-1", .flags = TT_OPT_RANGED, .min = -1,
     .max = 100, .help = "operations in a chain; 0 or less: 1 to 3 at random"},
    {"alpha", TT_OPT_FLOAT, offsetof(AugMix, alpha), .def = "1.0", .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0,
     .max = 1e6, .help = "of the Dirichlet distributions that the weights come from"},
    {"all_ops", TT_OPT_BOOL, offsetof(AugMix, all_ops), .def = "true",
     .help = "with brightness, color, contrast and sharpness"},
    {"interpolation", TT_OPT_ENUM, offsetof(AugMix, interpolation), .def = "bilinear", .choices = TT_WARPS,
     .help = "filter of the geometric operations"},
    TT_OPTION_FILL(AugMix, "null"),
    {0}};

/* Dirichlet(alpha, ..., alpha): gammas divided by their sum. */
static void dirichlet(TtRng *r, double alpha, int n, double *out)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += out[i] = tt_rng_gamma(r, alpha);
    for (int i = 0; i < n; i++) out[i] = sum > 0 ? out[i] / sum : 1.0 / n; /* all can underflow for a tiny alpha */
}

/* sum += weight * picture. */
static void accumulate(TtImage *sum, const TtImage *im, float weight)
{
    enum { CHUNK = 512 };
    const size_t n = (size_t)im->h * (size_t)im->w * (size_t)im->c, size = tt_dtype_size(im->dtype);
    float *s = sum->data, x[CHUNK];
    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t m = TT_MIN(n - i, (size_t)CHUNK);
        tt_pixels_load(im->dtype, (const uint8_t *)im->data + i * size, m, x);
        for (size_t k = 0; k < m; k++) s[i + k] += weight * x[k];
    }
}

static TtStatus run_chain(const AugMix *m, TtTransformArgs *a)
{
    const int depth = m->chain_depth > 0 ? (int)m->chain_depth : 1 + (int)tt_rng_below(&a->rng, 3);
    for (int k = 0; k < depth; k++) {
        const Op op = (Op)mix_ops[tt_rng_below(&a->rng, m->all_ops ? sizeof mix_ops : PARTIAL)];
        const int i = has_magnitude(op) ? (int)tt_rng_below(&a->rng, (uint64_t)m->severity) : 0;
        TT_TRY(run_step(a, &mixed, op, 10, i, (TtWarp)m->interpolation, &m->fill));
    }
    return TT_OK;
}

/* The picture and MIXTURE_WIDTH chains of operations on it, in a weighted sum. */
static TtStatus mix_apply(const void *o, TtTransformArgs *a)
{
    const AugMix *m = o;
    const int h = a->image->h, w = a->image->w, c = a->image->c;
    const TtDType dtype = a->image->dtype;
    TtImage *original = &a->scratch->spare[0], *sum = &a->scratch->spare[1];
    double share[2], weight[MAX_WIDTH];
    dirichlet(&a->rng, m->alpha, 2, share);
    dirichlet(&a->rng, m->alpha, (int)m->mixture_width, weight);
    TT_TRY(tt_image_resize_buffer(original, h, w, c, dtype));
    TT_TRY(tt_image_resize_buffer(sum, h, w, c, TT_F32));
    memcpy(original->data, a->image->data, tt_image_bytes(original));
    memset(sum->data, 0, tt_image_bytes(sum));
    accumulate(sum, original, (float)share[0]);
    for (int i = 0; i < m->mixture_width; i++) {
        memcpy(a->image->data, original->data, tt_image_bytes(original));
        TT_TRY(run_chain(m, a));
        accumulate(sum, a->image, (float)(weight[i] * share[1]));
    }
    tt_pixels_store(dtype, sum->data, (size_t)h * (size_t)w * (size_t)c, false, a->image->data);
    return TT_OK;
}

const TtTransformDef tt_transform_AugMix = {
    .name = "AugMix",
    .help = "the picture mixed with several chains of random operations on it",
    .options = mix_options,
    .size = sizeof(AugMix),
    .apply = mix_apply,
    .random = true,
};
