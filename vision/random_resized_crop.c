/* SPDX-License-Identifier: Apache-2.0 */
/* vision/random_resized_crop.c - RandomResizedCrop (Szegedy et al. 2015): a crop of random area and aspect ratio,
 * resized. The window is resized where it lies, without a copy. */
#include <math.h>

#include "vision/options.h"
#include "vision/pixels.h"

typedef struct RandomResizedCrop {
    TtInts size;
    TtFloats scale, ratio;
    int interpolation;
    bool antialias;
} RandomResizedCrop;

static const TtOption options[] = {
    TT_OPTION_SIZE(RandomResizedCrop),
    TT_OPTION_RANGE(RandomResizedCrop, scale, "[0.08, 1.0]", 0, 1e6, "area of the crop, as a share of the picture's"),
    TT_OPTION_RANGE(RandomResizedCrop, ratio, "[0.75, 1.3333333333333333]", 1e-6, 1e6, "width to height of the crop"),
    {"interpolation", TT_OPT_ENUM, offsetof(RandomResizedCrop, interpolation), .def = "bilinear",
     .choices = TT_INTERPOLATIONS, .help = "filter"},
    {"antialias", TT_OPT_BOOL, offsetof(RandomResizedCrop, antialias), .def = "true",
     .help = "widen the filter when reducing"},
    {0}};

static TtStatus check(void *o, const TtNode *node, TtArena *arena)
{
    const RandomResizedCrop *r = o;
    TT_TRY(tt_check_range(&r->scale, "scale", node));
    TT_TRY(tt_check_range(&r->ratio, "ratio", node));
    if (r->interpolation == TT_LANCZOS && !r->antialias)
        return tt_node_fail(tt_node_get(node, "interpolation"), "lanczos needs antialias: true");
    return TT_OK;
}

typedef struct Box {
    int top, left, h, w;
} Box;

/* The middle of the picture, as large as the ratios allow. */
static Box fallback(const RandomResizedCrop *r, int height, int width)
{
    const double in = (double)width / height, least = r->ratio.v[0], most = r->ratio.v[1];
    int h = height, w = width;
    if (in < least)
        h = (int)rint(w / least);
    else if (in > most)
        w = (int)rint(h * most);
    h = TT_MAX(h, 1), w = TT_MAX(w, 1);
    return (Box){(height - h) / 2, (width - w) / 2, h, w};
}

static Box draw(const RandomResizedCrop *r, TtRng *rng, int height, int width)
{
    const double area = (double)height * width, lo = log(r->ratio.v[0]), hi = log(r->ratio.v[1]);
    for (int attempt = 0; attempt < 10; attempt++) {
        const double target = area * tt_rng_uniform(rng, r->scale.v[0], r->scale.v[1]);
        const double aspect = exp(tt_rng_uniform(rng, lo, hi));
        const double w = rint(sqrt(target * aspect)), h = rint(sqrt(target / aspect));
        if (w < 1 || w > width || h < 1 || h > height) continue;
        const int top = (int)tt_rng_below(rng, (uint64_t)(height - (int)h) + 1);
        const int left = (int)tt_rng_below(rng, (uint64_t)(width - (int)w) + 1);
        return (Box){top, left, (int)h, (int)w};
    }
    return fallback(r, height, width);
}

static TtStatus apply(const void *o, TtTransformArgs *a)
{
    const RandomResizedCrop *r = o;
    const Box b = draw(r, &a->rng, a->image->h, a->image->w);
    return tt_pixels_resize(a, b.top, b.left, b.h, b.w, r->size.v[0], r->size.v[r->size.n - 1],
                            (TtInterpolation)r->interpolation, r->antialias);
}

static void out_size(const void *o, int *h, int *w)
{
    const TtInts *s = &((const RandomResizedCrop *)o)->size;
    *h = (int)s->v[0], *w = (int)s->v[s->n - 1];
}

const TtTransformDef tt_transform_RandomResizedCrop = {
    .name = "RandomResizedCrop",
    .help = "crop a random area of random aspect ratio and resize it",
    .options = options,
    .size = sizeof(RandomResizedCrop),
    .check = check,
    .apply = apply,
    .out_size = out_size,
    .random = true,
};
