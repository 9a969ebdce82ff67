/* SPDX-License-Identifier: Apache-2.0 */
/* vision/colour.c - brightness, contrast, saturation, hue, grey, invert, posterize, solarize.
 *
 * The arithmetic is torchvision's (transforms/v2/functional/_color.py) on tensors: float32, limited to the type's
 * range, then cut to integers. Where PyTorch's vector code fuses a multiplication and an addition, so does blend()
 * in rows.c, since a value cut to an integer shows the last bit. */
#include "vision/colour.h"

#include <math.h>
#include <string.h>

#include "vision/rows.h"

enum { CHUNK = 768 }; /* a multiple of 3 */

static size_t elements(const TtImage *im)
{
    return (size_t)im->h * (size_t)im->w * (size_t)im->c;
}

static uint8_t *at(const TtImage *im, size_t i)
{
    return (uint8_t *)im->data + i * tt_dtype_size(im->dtype);
}

void tt_colour_point(TtImage *im, TtPointFn fn, const float *param)
{
    const size_t n = elements(im);
    const float bound = tt_pixels_bound(im->dtype);
    float x[CHUNK];
    if (im->dtype == TT_U8) {
        uint8_t table[256], *p = im->data;
        for (int i = 0; i < 256; i++) x[i] = (float)i;
        fn(x, 256, param, bound);
        tt_pixels_store(TT_U8, x, 256, false, table);
        for (size_t i = 0; i < n; i++) p[i] = table[p[i]];
        return;
    }
    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t m = TT_MIN(n - i, (size_t)CHUNK);
        tt_pixels_load(im->dtype, at(im, i), m, x);
        fn(x, m, param, bound);
        tt_pixels_store(im->dtype, x, m, false, at(im, i));
    }
}

void tt_colour_lookup(TtImage *im, const uint8_t table[][256])
{
    const size_t n = elements(im), c = (size_t)im->c;
    uint8_t *p = im->data;
    for (size_t i = 0; i < n; i += c)
        for (size_t j = 0; j < c; j++) p[i + j] = table[j][p[i + j]];
}

/* Integers exactly, as floor of the sum in units of 1/10000; float32 in three steps. */
#define GREY(name, type)                                                                    \
    static void name(const type *src, size_t pixels, float *grey)                           \
    {                                                                                       \
        for (size_t i = 0; i < pixels; i++, src += 3)                                       \
            grey[i] = (float)((src[0] * 2989u + src[1] * 5870u + src[2] * 1140u) / 10000u); \
    }
GREY(grey_u8, uint8_t)
GREY(grey_u16, uint16_t)
#undef GREY

void tt_colour_grey(TtDType dtype, const void *src, size_t pixels, float *grey)
{
    const float *x = src;
    if (dtype == TT_U8)
        grey_u8(src, pixels, grey);
    else if (dtype == TT_U16)
        grey_u16(src, pixels, grey);
    else
        for (size_t i = 0; i < pixels; i++)
            grey[i] = x[3 * i] * 0.2989f + x[3 * i + 1] * 0.587f + x[3 * i + 2] * 0.114f;
}

TtStatus tt_pixels_grayscale(TtTransformArgs *a, int channels)
{
    TtImage *im = a->image;
    const size_t pixels = (size_t)im->h * (size_t)im->w, size = tt_dtype_size(im->dtype);
    TT_TRY(tt_pixels_colour(a, "Grayscale"));
    if (im->c == 1 && channels == 1) return TT_OK;
    if (im->c == 1) {
        TT_TRY(tt_pixels_target(a, im->h, im->w, 3, im->dtype));
        uint8_t *d = a->scratch->image.data;
        for (size_t i = 0; i < pixels; i++)
            for (int j = 0; j < 3; j++, d += size) memcpy(d, at(im, i), size);
        tt_image_swap(im, &a->scratch->image);
        return TT_OK;
    }
    float grey[CHUNK], out[CHUNK];
    const size_t chunk = (size_t)CHUNK / (size_t)channels;
    for (size_t i = 0; i < pixels; i += chunk) { /* one channel is written behind where is read */
        const size_t m = TT_MIN(pixels - i, chunk);
        tt_colour_grey(im->dtype, at(im, i * 3), m, grey);
        for (size_t k = 0; k < m; k++)
            for (size_t j = 0; j < (size_t)channels; j++) out[k * (size_t)channels + j] = grey[k];
        tt_pixels_store(im->dtype, out, m * (size_t)channels, false, at(im, i * (size_t)channels));
    }
    im->c = channels;
    return TT_OK;
}

static void multiply(float *x, size_t n, const float *param, float bound)
{
    for (size_t i = 0; i < n; i++) {
        const float v = x[i] * param[0];
        x[i] = v < 0.0f ? 0.0f : v > bound ? bound : v;
    }
}

TtStatus tt_pixels_brightness(TtTransformArgs *a, double factor)
{
    const float f = (float)factor;
    TT_TRY(tt_pixels_colour(a, "brightness"));
    tt_colour_point(a->image, multiply, &f);
    return TT_OK;
}

/* param: ratio, 1 - ratio, the value to blend with */
static void towards(float *x, size_t n, const float *param, float bound)
{
    float other[CHUNK];
    for (size_t i = 0; i < n; i++) other[i] = param[2];
    tt_rows()->blend(x, other, n, param[0], param[1], bound);
}

TtStatus tt_pixels_contrast(TtTransformArgs *a, double factor)
{
    const TtImage *im = a->image;
    const size_t pixels = (size_t)im->h * (size_t)im->w;
    float grey[CHUNK];
    double sum = 0;
    TT_TRY(tt_pixels_colour(a, "contrast"));
    for (size_t i = 0; i < pixels; i += CHUNK) {
        const size_t m = TT_MIN(pixels - i, (size_t)CHUNK);
        if (im->c == 3)
            tt_colour_grey(im->dtype, at(im, i * 3), m, grey);
        else
            tt_pixels_load(im->dtype, at(im, i), m, grey);
        for (size_t k = 0; k < m; k++) sum += grey[k];
    }
    const float param[3] = {(float)factor, (float)(1.0 - factor), (float)(sum / (double)pixels)};
    tt_colour_point(a->image, towards, param);
    return TT_OK;
}

TtStatus tt_pixels_saturation(TtTransformArgs *a, double factor)
{
    const TtImage *im = a->image;
    const size_t pixels = (size_t)im->h * (size_t)im->w;
    const float bound = tt_pixels_bound(im->dtype), ratio = (float)factor, rest = (float)(1.0 - factor);
    float x[CHUNK], grey[CHUNK / 3], other[CHUNK];
    TT_TRY(tt_pixels_colour(a, "saturation"));
    if (im->c == 1) return TT_OK;
    for (size_t i = 0; i < pixels; i += CHUNK / 3) {
        const size_t m = TT_MIN(pixels - i, (size_t)CHUNK / 3);
        tt_colour_grey(im->dtype, at(im, i * 3), m, grey);
        tt_pixels_load(im->dtype, at(im, i * 3), m * 3, x);
        for (size_t k = 0; k < m; k++) other[3 * k] = other[3 * k + 1] = other[3 * k + 2] = grey[k];
        tt_rows()->blend(x, other, m * 3, ratio, rest, bound);
        tt_pixels_store(im->dtype, x, m * 3, false, at(im, i * 3));
    }
    return TT_OK;
}

TtStatus tt_pixels_hue(TtTransformArgs *a, double factor)
{
    const TtImage *im = a->image;
    const size_t pixels = (size_t)im->h * (size_t)im->w;
    const bool real = im->dtype == TT_F32;
    const float bound = tt_pixels_bound(im->dtype), in = (float)(1.0 / (double)bound);
    const float out = (float)((double)bound + 1.0 - 1e-3); /* to_dtype's: 1 gives the maximum, cut */
    float x[CHUNK], rgb[3][CHUNK / 3];
    TT_TRY(tt_pixels_colour(a, "hue"));
    if (im->c == 1) return TT_OK;
    for (size_t i = 0; i < pixels; i += CHUNK / 3) {
        const size_t m = TT_MIN(pixels - i, (size_t)CHUNK / 3);
        tt_pixels_load(im->dtype, at(im, i * 3), m * 3, x);
        if (!real) tt_rows()->scale(x, m * 3, in);
        for (size_t k = 0; k < m; k++) rgb[0][k] = x[3 * k], rgb[1][k] = x[3 * k + 1], rgb[2][k] = x[3 * k + 2];
        tt_rows()->hue(rgb[0], rgb[1], rgb[2], m, (float)factor);
        for (size_t k = 0; k < m; k++) x[3 * k] = rgb[0][k], x[3 * k + 1] = rgb[1][k], x[3 * k + 2] = rgb[2][k];
        if (!real) tt_rows()->scale(x, m * 3, out);
        tt_pixels_store(im->dtype, x, m * 3, false, at(im, i * 3));
    }
    return TT_OK;
}

static void invert(float *x, size_t n, const float *param, float bound)
{
    for (size_t i = 0; i < n; i++) x[i] = bound - x[i];
}

TtStatus tt_pixels_invert(TtTransformArgs *a)
{
    tt_colour_point(a->image, invert, NULL);
    return TT_OK;
}

static void solarize(float *x, size_t n, const float *param, float bound)
{
    for (size_t i = 0; i < n; i++) x[i] = x[i] >= param[0] ? bound - x[i] : x[i];
}

TtStatus tt_pixels_solarize(TtTransformArgs *a, double threshold)
{
    const float t = (float)threshold, bound = tt_pixels_bound(a->image->dtype);
    if (t > bound)
        return TT_FAIL(TT_ECONFIG,
                       "RandomSolarize: the threshold %g is above %g, the largest value of %s pictures (%s)", threshold,
                       (double)bound, tt_dtype_name(a->image->dtype), a->name);
    tt_colour_point(a->image, solarize, &t);
    return TT_OK;
}

/* The float32 rule of torchvision: the lower edge of one of 2^bits steps. */
static void posterize_f32(float *x, size_t n, const float *param, float bound)
{
    const float levels = param[0];
    for (size_t i = 0; i < n; i++) {
        const float v = floorf(x[i] * levels);
        x[i] = (v < 0.0f ? 0.0f : v > levels - 1.0f ? levels - 1.0f : v) * (1.0f / levels);
    }
}

TtStatus tt_pixels_posterize(TtTransformArgs *a, int bits)
{
    const TtImage *im = a->image;
    const size_t n = elements(im);
    if (im->dtype == TT_F32) {
        const float levels = (float)(1 << bits);
        tt_colour_point(a->image, posterize_f32, &levels);
        return TT_OK;
    }
    const int all = im->dtype == TT_U8 ? 8 : 16;
    const unsigned mask = ((1u << bits) - 1) << (all - bits);
    uint8_t *p8 = im->data;
    uint16_t *p16 = im->data;
    if (all == 8)
        for (size_t i = 0; i < n; i++) p8[i] &= (uint8_t)mask;
    else
        for (size_t i = 0; i < n; i++) p16[i] &= (uint16_t)mask;
    return TT_OK;
}

TtStatus tt_pixels_permute_channels(TtTransformArgs *a, const int64_t *order)
{
    const TtImage *im = a->image;
    const size_t size = tt_dtype_size(im->dtype), c = (size_t)im->c, n = (size_t)im->h * (size_t)im->w;
    uint8_t old[8 * sizeof(float)];
    if (c > 8) return TT_FAIL(TT_EDATA, "%s: the picture has %zu channels; at most 8 can be permuted", a->name, c);
    for (size_t i = 0; i < n; i++) {
        uint8_t *p = at(im, i * c);
        memcpy(old, p, c * size);
        for (size_t j = 0; j < c; j++) memcpy(p + j * size, old + (size_t)order[j] * size, size);
    }
    return TT_OK;
}
