/* SPDX-License-Identifier: Apache-2.0 */
/* vision/tone.c - autocontrast, equalize and sharpness: what needs the whole picture or the neighbours. */
#include <math.h>
#include <string.h>

#include "vision/colour.h"
#include "vision/rows.h"

static size_t pixels(const TtImage *im)
{
    return (size_t)im->h * (size_t)im->w;
}

/* ---- autocontrast */

typedef struct Stretch {
    float low, scale;
} Stretch;

static Stretch stretch_of(float low, float high, float bound)
{
    if (high == low) return (Stretch){0.0f, 1.0f};
    return (Stretch){low, (high - low) * (float)(1.0 / (double)bound)};
}

static float stretch(Stretch s, float v, float bound)
{
    v = (v - s.low) / s.scale;
    return v < 0.0f ? 0.0f : v > bound ? bound : v;
}

static void autocontrast_u8(TtImage *im)
{
    const size_t n = pixels(im), c = (size_t)im->c;
    const uint8_t *p = im->data;
    uint8_t table[3][256];
    for (size_t j = 0; j < c; j++) {
        uint8_t lo = 255, hi = 0;
        for (size_t i = 0; i < n; i++) {
            const uint8_t v = p[i * c + j];
            lo = v < lo ? v : lo, hi = v > hi ? v : hi;
        }
        const Stretch s = stretch_of(lo, hi, 255.0f);
        for (int v = 0; v < 256; v++) table[j][v] = (uint8_t)stretch(s, (float)v, 255.0f);
    }
    tt_colour_lookup(im, (const uint8_t(*)[256])table);
}

#define AUTOCONTRAST(name, type, bound)                                                         \
    static void name(TtImage *im)                                                               \
    {                                                                                           \
        const size_t n = pixels(im), c = (size_t)im->c;                                         \
        for (size_t j = 0; j < c; j++) {                                                        \
            type *p = (type *)im->data + j, lo = p[0], hi = p[0];                               \
            for (size_t i = 0; i < n; i++) {                                                    \
                const type v = p[i * c];                                                        \
                lo = v < lo ? v : lo, hi = v > hi ? v : hi;                                     \
            }                                                                                   \
            const Stretch s = stretch_of((float)lo, (float)hi, bound);                          \
            for (size_t i = 0; i < n; i++) p[i * c] = (type)stretch(s, (float)p[i * c], bound); \
        }                                                                                       \
    }
AUTOCONTRAST(autocontrast_u16, uint16_t, 65535.0f)
AUTOCONTRAST(autocontrast_f32, float, 1.0f)
#undef AUTOCONTRAST

TtStatus tt_pixels_autocontrast(TtTransformArgs *a)
{
    TT_TRY(tt_pixels_colour(a, "autocontrast"));
    if (a->image->dtype == TT_U8)
        autocontrast_u8(a->image);
    else if (a->image->dtype == TT_U16)
        autocontrast_u16(a->image);
    else
        autocontrast_f32(a->image);
    return TT_OK;
}

/* ---- equalize */

/* Pillow's table: step is the share of each of 255 levels in all pixels but those of the largest value. */
static void equalize_table(const uint32_t hist[256], size_t total, uint8_t table[256])
{
    int last = 255;
    while (last > 0 && hist[last] == 0) last--;
    const size_t step = (total - hist[last]) / 255;
    size_t sum = 0;
    for (int v = 0; v < 256; v++) {
        const size_t level = step ? (sum + step / 2) / step : (size_t)v;
        table[v] = (uint8_t)TT_MIN(level, 255);
        sum += hist[v];
    }
}

TtStatus tt_pixels_equalize(TtTransformArgs *a)
{
    TtImage *im = a->image;
    const TtDType dtype = im->dtype;
    uint32_t hist[3][256] = {{0}};
    uint8_t table[3][256];
    TT_TRY(tt_pixels_colour(a, "equalize"));
    TT_TRY(tt_pixels_to_dtype(a, TT_U8, true)); /* other types are equalized in 256 levels, as by torchvision */
    const size_t n = pixels(im), c = (size_t)im->c;
    const uint8_t *p = im->data;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < c; j++) hist[j][p[i * c + j]]++;
    for (size_t j = 0; j < c; j++) equalize_table(hist[j], n, table[j]);
    tt_colour_lookup(im, (const uint8_t(*)[256])table);
    return tt_pixels_to_dtype(a, dtype, true);
}

/* ---- sharpness */

/* Away from the edges, x moves from the mean of its 3x3 neighbourhood (with itself five times) by the factor. */
TtStatus tt_pixels_sharpness(TtTransformArgs *a, double factor)
{
    const TtImage *im = a->image;
    TtImage *to = &a->scratch->image;
    const TtRows *r = tt_rows();
    const size_t c = (size_t)im->c, n = (size_t)im->w * c, size = tt_dtype_size(im->dtype), row = n * size;
    const float bound = tt_pixels_bound(im->dtype);
    float *buffer;
    TT_TRY(tt_pixels_colour(a, "sharpness"));
    if (im->h <= 2 || im->w <= 2) return TT_OK;
    TT_TRY(tt_pixels_target(a, im->h, im->w, im->c, im->dtype));
    TT_TRY(tt_transform_table(a->scratch, 4 * n * sizeof(float), (void **)&buffer));
    float *x[3] = {buffer, buffer + n, buffer + 2 * n}, *difference = buffer + 3 * n;
    const uint8_t *s = im->data;
    uint8_t *d = to->data;
    memcpy(d, s, row);
    memcpy(d + (size_t)(im->h - 1) * row, s + (size_t)(im->h - 1) * row, row);
    for (int y = 0; y < 2; y++) tt_pixels_load(im->dtype, s + (size_t)y * row, n, x[y]);
    for (int y = 1; y < im->h - 1; y++) {
        float *up = x[(y - 1) % 3], *here = x[y % 3], *down = x[(y + 1) % 3];
        tt_pixels_load(im->dtype, s + (size_t)(y + 1) * row, n, down);
        for (size_t i = 0; i < n; i++) up[i] += here[i] + down[i];
        for (size_t i = c; i < n - c; i++)
            difference[i] = (up[i - c] + up[i] + up[i + c] + 4.0f * here[i]) * (1.0f / 13.0f);
        if (im->dtype != TT_F32) r->round(difference + c, n - 2 * c);
        for (size_t i = c; i < n - c; i++) difference[i] -= here[i];
        memcpy(up + c, here + c, (n - 2 * c) * sizeof(float));
        r->blend(up + c, difference + c, n - 2 * c, 1.0f, (float)(1.0 - factor), bound);
        uint8_t *out = d + (size_t)y * row;
        memcpy(out, s + (size_t)y * row, row);
        tt_pixels_store(im->dtype, up + c, n - 2 * c, false, out + c * size);
    }
    tt_image_swap(a->image, to);
    return TT_OK;
}
