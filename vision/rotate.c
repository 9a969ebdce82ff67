/* SPDX-License-Identifier: Apache-2.0 */
/* vision/rotate.c - RandomRotation. Right angles that keep every pixel are moves, not resampling. */
#include <math.h>
#include <string.h>

#include "vision/options.h"
#include "vision/warp.h"

/* A quarter turn counter-clockwise (or clockwise). */
static TtStatus quarter(TtTransformArgs *a, bool clockwise)
{
    const TtImage *im = a->image;
    TtImage *to = &a->scratch->image;
    TT_TRY(tt_pixels_target(a, im->w, im->h, im->c, im->dtype));
    const size_t pixel = (size_t)im->c * tt_dtype_size(im->dtype);
    uint8_t *d = to->data;
    for (int y = 0; y < to->h; y++)
        for (int x = 0; x < to->w; x++, d += pixel) {
            const int sy = clockwise ? im->h - 1 - x : x, sx = clockwise ? y : im->w - 1 - y;
            memcpy(d, (const uint8_t *)im->data + ((size_t)sy * (size_t)im->w + (size_t)sx) * pixel, pixel);
        }
    tt_image_swap(a->image, to);
    return TT_OK;
}

/* The box around the rotated picture, in float32 and cut to four decimals as in torchvision's
 * _compute_affine_output_size_tensor, so that a right angle gains no pixel from rounding. */
static void expanded(const double matrix[6], int w, int h, int64_t *out_w, int64_t *out_h)
{
    const float hw = 0.5f * (float)w, hh = 0.5f * (float)h, tol = 1e-4f, inverse = 1e4f;
    int64_t size[2];
    for (int i = 0; i < 2; i++) {
        const float p = (float)matrix[3 * i], q = (float)matrix[3 * i + 1], r = (float)matrix[3 * i + 2];
        const float v[4] = {-hw * p + -hh * q + r, -hw * p + hh * q + r, hw * p + hh * q + r, hw * p + -hh * q + r};
        float lo = v[0], hi = v[0];
        for (int k = 1; k < 4; k++) lo = fminf(lo, v[k]), hi = fmaxf(hi, v[k]);
        lo += i ? hh : hw, hi += i ? hh : hw;
        size[i] = (int64_t)(ceilf(truncf(hi * inverse) * tol) - floorf(truncf(lo * inverse) * tol));
    }
    *out_w = size[0], *out_h = size[1];
}

TtStatus tt_pixels_rotate(TtTransformArgs *a, double angle, TtWarp warp, bool expand, const double *center,
                          const TtFloats *fill)
{
    const TtImage *im = a->image;
    angle -= 360.0 * floor(angle / 360.0);
    if (!center) {
        if (angle == 0 || angle == 360) return TT_OK;
        if (angle == 180) {
            TT_TRY(tt_pixels_horizontal_flip(a));
            return tt_pixels_vertical_flip(a);
        }
        if ((angle == 90 || angle == 270) && (expand || im->w == im->h)) return quarter(a, angle == 270);
    }
    const double middle[2] = {center ? center[0] - im->w * 0.5 : 0, center ? center[1] - im->h * 0.5 : 0};
    const TtAffine m = {.angle = -angle, .scale = 1};
    double matrix[6];
    tt_affine_inverse(&m, middle, matrix);
    int64_t w = im->w, h = im->h;
    if (expand) expanded(matrix, im->w, im->h, &w, &h);
    const TtWarpMap map = tt_affine_map(matrix, im, (int)h, (int)w);
    return tt_warp(a, &map, h, w, warp, fill);
}

/* ---- RandomRotation */

typedef struct RandomRotation {
    TtFloats degrees, center, fill;
    int interpolation;
    bool expand;
} RandomRotation;

static const TtOption options[] = {
    {"degrees", TT_OPT_FLOATS, offsetof(RandomRotation, degrees), .flags = TT_OPT_RANGED, .min = -1e6, .max = 1e6,
     .min_n = 1, .max_n = 2, .help = "angle in degrees: from [min, max], or from -degrees to degrees"},
    {"interpolation", TT_OPT_ENUM, offsetof(RandomRotation, interpolation), .def = "nearest", .choices = TT_WARPS,
     .help = "filter"},
    {"expand", TT_OPT_BOOL, offsetof(RandomRotation, expand), .def = "false", .help = "grow to hold the whole picture"},
    {"center", TT_OPT_FLOATS, offsetof(RandomRotation, center), .def = "null", .flags = TT_OPT_NULL, .min_n = 2,
     .max_n = 2, .help = "[x, y] in pixels from the upper left; null: the middle"},
    TT_OPTION_FILL(RandomRotation, "0"),
    {0}};

static TtStatus check(void *o, const TtNode *node, TtArena *arena)
{
    RandomRotation *r = o;
    return tt_check_angle(&r->degrees, "degrees", 2, node, arena);
}

static TtStatus apply(const void *o, TtTransformArgs *a)
{
    const RandomRotation *r = o;
    const double angle = tt_rng_uniform(&a->rng, r->degrees.v[0], r->degrees.v[1]);
    return tt_pixels_rotate(a, angle, (TtWarp)r->interpolation, r->expand, r->center.n ? r->center.v : NULL, &r->fill);
}

static void out_size(const void *o, int *h, int *w)
{
    if (((const RandomRotation *)o)->expand) *h = *w = 0;
}

const TtTransformDef tt_transform_RandomRotation = {
    .name = "RandomRotation",
    .help = "rotate by a random angle",
    .options = options,
    .size = sizeof(RandomRotation),
    .check = check,
    .apply = apply,
    .out_size = out_size,
    .random = true,
};
