/* SPDX-License-Identifier: Apache-2.0 */
/* vision/flip.c - RandomHorizontalFlip and RandomVerticalFlip, in place. */
#include <string.h>

#include "vision/options.h"
#include "vision/pixels.h"

/* Written with the size of a pixel as a constant, so that the usual ones become register moves. */
#define MIRROR(name, pixel)                                                                               \
    static void name(uint8_t *row, int w)                                                                 \
    {                                                                                                     \
        for (uint8_t *p = row, *q = row + (size_t)(w - 1) * (pixel); p < q; p += (pixel), q -= (pixel)) { \
            uint8_t t[pixel], u[pixel];                                                                   \
            memcpy(t, p, pixel), memcpy(u, q, pixel);                                                     \
            memcpy(p, u, pixel), memcpy(q, t, pixel);                                                     \
        }                                                                                                 \
    }
MIRROR(mirror1, 1)
MIRROR(mirror3, 3)
MIRROR(mirror4, 4)
MIRROR(mirror6, 6)
MIRROR(mirror12, 12)
#undef MIRROR

static void mirror(uint8_t *row, int w, size_t pixel)
{
    for (uint8_t *p = row, *q = row + (size_t)(w - 1) * pixel; p < q; p += pixel, q -= pixel)
        for (size_t i = 0; i < pixel; i++) {
            const uint8_t t = p[i];
            p[i] = q[i], q[i] = t;
        }
}

TtStatus tt_pixels_horizontal_flip(TtTransformArgs *a)
{
    const TtImage *im = a->image;
    const size_t pixel = (size_t)im->c * tt_dtype_size(im->dtype), row = (size_t)im->w * pixel;
    void (*fixed)(uint8_t *, int) = pixel == 3    ? mirror3
                                    : pixel == 12 ? mirror12
                                    : pixel == 1  ? mirror1
                                    : pixel == 4  ? mirror4
                                    : pixel == 6  ? mirror6
                                                  : NULL;
    uint8_t *p = im->data;
    for (int y = 0; y < im->h; y++, p += row) {
        if (fixed)
            fixed(p, im->w);
        else
            mirror(p, im->w, pixel);
    }
    return TT_OK;
}

TtStatus tt_pixels_vertical_flip(TtTransformArgs *a)
{
    const TtImage *im = a->image;
    const size_t row = (size_t)im->w * (size_t)im->c * tt_dtype_size(im->dtype);
    uint8_t block[4096];
    for (int y = 0; y < im->h / 2; y++) {
        uint8_t *p = (uint8_t *)im->data + (size_t)y * row, *q = (uint8_t *)im->data + (size_t)(im->h - 1 - y) * row;
        for (size_t x = 0; x < row; x += sizeof block) {
            const size_t n = TT_MIN(row - x, sizeof block);
            memcpy(block, p + x, n), memcpy(p + x, q + x, n), memcpy(q + x, block, n);
        }
    }
    return TT_OK;
}

typedef struct Flip {
    double p;
} Flip;

static const TtOption options[] = {TT_OPTION_P(Flip, "0.5"), {0}};

static TtStatus horizontal(const void *o, TtTransformArgs *a)
{
    return tt_rng_double(&a->rng) < ((const Flip *)o)->p ? tt_pixels_horizontal_flip(a) : TT_OK;
}

static TtStatus vertical(const void *o, TtTransformArgs *a)
{
    return tt_rng_double(&a->rng) < ((const Flip *)o)->p ? tt_pixels_vertical_flip(a) : TT_OK;
}

const TtTransformDef tt_transform_RandomHorizontalFlip = {
    .name = "RandomHorizontalFlip",
    .help = "mirror left and right",
    .options = options,
    .size = sizeof(Flip),
    .apply = horizontal,
    .random = true,
};

const TtTransformDef tt_transform_RandomVerticalFlip = {
    .name = "RandomVerticalFlip",
    .help = "mirror top and bottom",
    .options = options,
    .size = sizeof(Flip),
    .apply = vertical,
    .random = true,
};
