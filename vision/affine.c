/* SPDX-License-Identifier: Apache-2.0 */
/* vision/affine.c - RandomAffine and RandomPerspective. */
#include <math.h>
#include <string.h>

#include "vision/options.h"
#include "vision/warp.h"

TtStatus tt_pixels_affine(TtTransformArgs *a, const TtAffine *m, TtWarp warp, const TtFloats *fill,
                          const double *center)
{
    const TtImage *im = a->image;
    const double middle[2] = {center ? center[0] - im->w * 0.5 : 0, center ? center[1] - im->h * 0.5 : 0};
    double matrix[6];
    tt_affine_inverse(m, middle, matrix);
    const TtWarpMap map = tt_affine_map(matrix, im, im->h, im->w);
    return tt_warp(a, &map, im->h, im->w, warp, fill);
}

typedef struct RandomAffine {
    TtFloats degrees, translate, scale, shear, fill, center;
    int interpolation;
} RandomAffine;

static const TtOption affine_options[] = {
    {"degrees", TT_OPT_FLOATS, offsetof(RandomAffine, degrees), .flags = TT_OPT_RANGED, .min = -1e6, .max = 1e6,
     .min_n = 1, .max_n = 2, .help = "angle in degrees: from [min, max], or from -degrees to degrees"},
    {"translate", TT_OPT_FLOATS, offsetof(RandomAffine, translate), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED,
     .min = 0, .max = 1, .min_n = 2, .max_n = 2,
     .help = "[horizontal, vertical]: largest shift either way, as a share of width and height"},
    {"scale", TT_OPT_FLOATS, offsetof(RandomAffine, scale), .def = "null",
     .flags = TT_OPT_NULL | TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = 1e6, .min_n = 2, .max_n = 2,
     .help = "[min, max] of the scale"},
    {"shear", TT_OPT_FLOATS, offsetof(RandomAffine, shear), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED,
     .min = -90, .max = 90, .min_n = 1, .max_n = 4,
     .help = "degrees: along x from -shear to shear, [min, max] along x, or [min, max, min, max] along x and y"},
    {"interpolation", TT_OPT_ENUM, offsetof(RandomAffine, interpolation), .def = "nearest", .choices = TT_WARPS,
     .help = "filter"},
    TT_OPTION_FILL(RandomAffine, "0"),
    {"center", TT_OPT_FLOATS, offsetof(RandomAffine, center), .def = "null", .flags = TT_OPT_NULL, .min_n = 2,
     .max_n = 2, .help = "[x, y] in pixels from the upper left; null: the middle"},
    {0}};

static TtStatus affine_check(void *o, const TtNode *node, TtArena *arena)
{
    RandomAffine *r = o;
    TT_TRY(tt_check_angle(&r->degrees, "degrees", 2, node, arena));
    if (r->shear.n) TT_TRY(tt_check_angle(&r->shear, "shear", 4, node, arena));
    if (r->scale.n) TT_TRY(tt_check_range(&r->scale, "scale", node));
    return TT_OK;
}

static TtStatus affine_apply(const void *o, TtTransformArgs *a)
{
    const RandomAffine *r = o;
    TtAffine m = {.scale = 1};
    m.angle = tt_rng_uniform(&a->rng, r->degrees.v[0], r->degrees.v[1]);
    if (r->translate.n) {
        const double dx = r->translate.v[0] * a->image->w, dy = r->translate.v[1] * a->image->h;
        m.translate[0] = rint(tt_rng_uniform(&a->rng, -dx, dx));
        m.translate[1] = rint(tt_rng_uniform(&a->rng, -dy, dy));
    }
    if (r->scale.n) m.scale = tt_rng_uniform(&a->rng, r->scale.v[0], r->scale.v[1]);
    if (r->shear.n) m.shear[0] = tt_rng_uniform(&a->rng, r->shear.v[0], r->shear.v[1]);
    if (r->shear.n == 4) m.shear[1] = tt_rng_uniform(&a->rng, r->shear.v[2], r->shear.v[3]);
    return tt_pixels_affine(a, &m, (TtWarp)r->interpolation, &r->fill, r->center.n ? r->center.v : NULL);
}

const TtTransformDef tt_transform_RandomAffine = {
    .name = "RandomAffine",
    .help = "rotate, move, scale and shear at random",
    .options = affine_options,
    .size = sizeof(RandomAffine),
    .check = affine_check,
    .apply = affine_apply,
    .random = true,
};

/* ---- perspective */

/* Solve the 8 equations by elimination with pivots; false when the corners determine no map. */
static bool solve(double m[8][9], double out[8])
{
    for (int k = 0; k < 8; k++) {
        int best = k;
        for (int i = k + 1; i < 8; i++)
            if (fabs(m[i][k]) > fabs(m[best][k])) best = i;
        if (fabs(m[best][k]) < 1e-12) return false;
        for (int j = 0; j < 9; j++) {
            const double t = m[k][j];
            m[k][j] = m[best][j], m[best][j] = t;
        }
        for (int i = 0; i < 8; i++) {
            if (i == k) continue;
            const double f = m[i][k] / m[k][k];
            for (int j = k; j < 9; j++) m[i][j] -= f * m[k][j];
        }
    }
    for (int k = 0; k < 8; k++) out[k] = m[k][8] / m[k][k];
    return true;
}

/* (x, y) of the result shows ((ax + by + c) / (gx + hy + 1), (dx + ey + f) / (gx + hy + 1)) of the source
 * (torchvision's _get_perspective_coeffs). */
static bool perspective_coefficients(const int start[4][2], const int end[4][2], double out[8])
{
    double m[8][9] = {{0}};
    for (int i = 0; i < 4; i++) {
        const double x = end[i][0], y = end[i][1];
        for (int k = 0; k < 2; k++) {
            double *row = m[2 * i + k];
            row[3 * k] = x, row[3 * k + 1] = y, row[3 * k + 2] = 1;
            row[6] = -start[i][k] * x, row[7] = -start[i][k] * y, row[8] = start[i][k];
        }
    }
    return solve(m, out);
}

TtStatus tt_pixels_perspective(TtTransformArgs *a, const int start[4][2], const int end[4][2], TtWarp warp,
                               const TtFloats *fill)
{
    const TtImage *im = a->image;
    double k[8];
    if (!perspective_coefficients(start, end, k))
        return TT_FAIL(TT_EDATA, "%s: a picture of %dx%d is too small for a change of perspective", a->name, im->w,
                       im->h);
    TtWarpMap map = {.x0 = 0.5f, .y0 = 0.5f, .shift = 1.0f};
    for (int i = 0; i < 3; i++) {
        map.t[0][i] = (float)k[i] / (0.5f * (float)im->w);
        map.t[1][i] = (float)k[3 + i] / (0.5f * (float)im->h);
    }
    map.t[2][0] = (float)k[6], map.t[2][1] = (float)k[7], map.t[2][2] = 1.0f;
    return tt_warp(a, &map, im->h, im->w, warp, fill);
}

typedef struct RandomPerspective {
    double distortion_scale, p;
    TtFloats fill;
    int interpolation;
} RandomPerspective;

static const TtOption perspective_options[] = {
    {"distortion_scale", TT_OPT_FLOAT, offsetof(RandomPerspective, distortion_scale), .def = "0.5",
     .flags = TT_OPT_RANGED, .min = 0, .max = 1, .help = "how far the corners move, as a share of half the picture"},
    TT_OPTION_P(RandomPerspective, "0.5"),
    {"interpolation", TT_OPT_ENUM, offsetof(RandomPerspective, interpolation), .def = "bilinear", .choices = TT_WARPS,
     .help = "filter"},
    TT_OPTION_FILL(RandomPerspective, "0"),
    {0}};

static TtStatus perspective_apply(const void *o, TtTransformArgs *a)
{
    const RandomPerspective *r = o;
    const int h = a->image->h, w = a->image->w;
    if (tt_rng_double(&a->rng) >= r->p || h < 2 || w < 2) return TT_OK;
    const int dw = (int)(r->distortion_scale * (w / 2)) + 1, dh = (int)(r->distortion_scale * (h / 2)) + 1;
    const int start[4][2] = {{0, 0}, {w - 1, 0}, {w - 1, h - 1}, {0, h - 1}};
    int end[4][2];
    for (int i = 0; i < 4; i++) {
        const int dx = (int)tt_rng_below(&a->rng, (uint64_t)dw), dy = (int)tt_rng_below(&a->rng, (uint64_t)dh);
        end[i][0] = start[i][0] ? w - dw + dx : dx;
        end[i][1] = start[i][1] ? h - dh + dy : dy;
    }
    return tt_pixels_perspective(a, start, (const int(*)[2])end, (TtWarp)r->interpolation, &r->fill);
}

const TtTransformDef tt_transform_RandomPerspective = {
    .name = "RandomPerspective",
    .help = "change the perspective at random",
    .options = perspective_options,
    .size = sizeof(RandomPerspective),
    .apply = perspective_apply,
    .random = true,
};
