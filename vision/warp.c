/* SPDX-License-Identifier: Apache-2.0 */
/* vision/warp.c - resample along a map, as torch.nn.functional.grid_sample with zero padding and
 * align_corners=False.
 *
 * Coordinates are computed in float32 in torchvision's order (_affine_grid, _perspective_grid, then grid_sample's
 * unnormalisation): where a coordinate falls just between two pixels, as it does for every right angle on an odd
 * size, rounding decides which one is seen. */
#include "vision/warp.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256 };

/* a * b + c with one rounding, on any machine: the product of floats is exact in double. PyTorch's vector code has
 * the instruction. */
static inline float fused(float a, float b, float c)
{
    return (float)((double)a * (double)b + (double)c);
}

/* Source coordinates of output pixels x..x+n-1 of row y. */
static void locate(const TtWarpMap *m, const TtImage *im, int x, int y, int n, float *sx, float *sy)
{
    const float yy = (float)y + m->y0, half_w = (float)im->w / 2.0f, half_h = (float)im->h / 2.0f;
    for (int i = 0; i < n; i++) {
        const float xx = (float)(x + i) + m->x0;
        float u = (xx * m->t[0][0] + yy * m->t[0][1]) + m->t[0][2];
        float v = (xx * m->t[1][0] + yy * m->t[1][1]) + m->t[1][2];
        if (!m->affine) {
            const float d = (xx * m->t[2][0] + yy * m->t[2][1]) + m->t[2][2];
            u = u / d - m->shift, v = v / d - m->shift;
        }
        sx[i] = fused(u + 1.0f, half_w, -0.5f);
        sy[i] = fused(v + 1.0f, half_h, -0.5f);
    }
}

/* To the nearest integer, ties to even, for |v| < 2^22; beyond, something as far outside any picture. */
static float nearest(float v)
{
    return (v + 12582912.0f) - 12582912.0f;
}

static void sample_nearest(const TtImage *im, const float *sx, const float *sy, int n, const uint8_t *fill, uint8_t *d)
{
    const size_t pixel = (size_t)im->c * tt_dtype_size(im->dtype);
    const float w = (float)im->w, h = (float)im->h;
    const uint8_t *src = im->data;
    for (int i = 0; i < n; i++, d += pixel) {
        const float x = nearest(sx[i]), y = nearest(sy[i]);
        const bool inside = x >= 0 && x < w && y >= 0 && y < h;
        const uint8_t *s = inside ? src + ((size_t)y * (size_t)im->w + (size_t)x) * pixel : fill;
        if (pixel == 3)
            d[0] = s[0], d[1] = s[1], d[2] = s[2];
        else
            memcpy(d, s, pixel);
    }
}

static float element(const TtImage *im, size_t i)
{
    return im->dtype == TT_U8    ? (float)((const uint8_t *)im->data)[i]
           : im->dtype == TT_U16 ? (float)((const uint16_t *)im->data)[i]
                                 : ((const float *)im->data)[i];
}

/* One pixel as float32. MASK, which sums the weights of the corners inside, pulls the value towards FILL when
 * there is one (NULL: none). */
static void sample_bilinear(const TtImage *im, float sx, float sy, const float *fill, float *out)
{
    const int c = im->c;
    for (int j = 0; j < c; j++) out[j] = 0;
    float mask = 0;
    /* also false for NaN */
    if (sx > -1.0f && sx < (float)im->w && sy > -1.0f && sy < (float)im->h) {
        const float fx = floorf(sx), fy = floorf(sy), right = sx - fx, down = sy - fy;
        const float weight[4] = {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right};
        const int x = (int)fx, y = (int)fy;
        for (int k = 0; k < 4; k++) {
            const int xx = x + k % 2, yy = y + k / 2;
            if (xx < 0 || xx >= im->w || yy < 0 || yy >= im->h) continue;
            const size_t at = ((size_t)yy * (size_t)im->w + (size_t)xx) * (size_t)c;
            for (int j = 0; j < c; j++) out[j] = fused(element(im, at + (size_t)j), weight[k], out[j]);
            mask += weight[k];
        }
    }
    if (fill)
        for (int j = 0; j < c; j++) out[j] = (out[j] - fill[j]) * mask + fill[j];
}

TtStatus tt_warp(TtTransformArgs *a, const TtWarpMap *map, int64_t out_h, int64_t out_w, TtWarp warp,
                 const TtFloats *fill)
{
    const TtImage *im = a->image;
    TtImage *to = &a->scratch->image;
    float value[4], sx[CHUNK], sy[CHUNK], row[CHUNK * 4];
    uint8_t pixel[4 * sizeof(float)];
    TT_TRY(tt_pixels_fill(a, fill, value));
    TT_TRY(tt_pixels_target(a, out_h, out_w, im->c, im->dtype));
    float stored[4];
    memcpy(stored, value, sizeof stored);
    tt_pixels_store(im->dtype, stored, (size_t)im->c, true, pixel);
    const size_t size = (size_t)im->c * tt_dtype_size(im->dtype);
    uint8_t *d = to->data;
    for (int y = 0; y < to->h; y++) {
        for (int x = 0; x < to->w; x += CHUNK) {
            const int n = TT_MIN(CHUNK, to->w - x);
            locate(map, im, x, y, n, sx, sy);
            if (warp == TT_WARP_NEAREST) {
                sample_nearest(im, sx, sy, n, pixel, d);
            } else {
                for (int i = 0; i < n; i++)
                    sample_bilinear(im, sx[i], sy[i], fill->n ? value : NULL, row + (size_t)i * (size_t)im->c);
                tt_pixels_store(im->dtype, row, (size_t)n * (size_t)im->c, true, d);
            }
            d += (size_t)n * size;
        }
    }
    tt_image_swap(a->image, to);
    return TT_OK;
}

/* M = T C R(angle) S(scale) SHy SHx C^-1; its inverse in closed form (torchvision's _get_inverse_affine_matrix). */
void tt_affine_inverse(const TtAffine *m, const double center[2], double out[6])
{
    const double rad = M_PI / 180.0, rot = m->angle * rad, sx = m->shear[0] * rad, sy = m->shear[1] * rad;
    const double a = cos(rot - sy) / cos(sy), b = -(a * tan(sx) + sin(rot));
    const double c = sin(rot - sy) / cos(sy), d = cos(rot) - c * tan(sx);
    const double x = center[0] + m->translate[0], y = center[1] + m->translate[1];
    out[0] = d / m->scale, out[1] = -b / m->scale;
    out[3] = -c / m->scale, out[4] = a / m->scale;
    out[2] = center[0] - out[0] * x - out[1] * y;
    out[5] = center[1] - out[3] * x - out[4] * y;
}

TtWarpMap tt_affine_map(const double matrix[6], const TtImage *im, int out_h, int out_w)
{
    TtWarpMap map = {.affine = true, .x0 = (1.0f - (float)out_w) * 0.5f, .y0 = (1.0f - (float)out_h) * 0.5f};
    for (int i = 0; i < 3; i++) {
        map.t[0][i] = (float)matrix[i] / (0.5f * (float)im->w);
        map.t[1][i] = (float)matrix[3 + i] / (0.5f * (float)im->h);
    }
    return map;
}
