/* SPDX-License-Identifier: Apache-2.0 */
/* vision/pad.c - Pad, and the padding that crops use. Rows and columns of the result are looked up in two index
 * tables, so that all modes but constant are the same loop. */
#include <string.h>

#include "vision/options.h"
#include "vision/pixels.h"

/* Source index of position i - before on an axis of n; the caller has checked that one reflection is enough. */
static int source(int64_t i, int n, TtPadMode mode)
{
    if (i >= 0 && i < n) return (int)i;
    if (mode == TT_PAD_EDGE) return i < 0 ? 0 : n - 1;
    const int64_t skip = mode == TT_PAD_REFLECT ? 1 : 0; /* reflect leaves the edge itself out */
    return (int)(i < 0 ? -i - 1 + skip : 2 * (int64_t)n - 1 - i - skip);
}

static TtStatus check_reflection(const TtTransformArgs *a, TtPadMode mode, int64_t most, int n, const char *axis)
{
    const int64_t bound = mode == TT_PAD_REFLECT ? n - 1 : n;
    if (mode == TT_PAD_CONSTANT || mode == TT_PAD_EDGE || most <= bound) return TT_OK;
    return TT_FAIL(TT_EDATA, "%s: padding of %lld by %s needs a %s of at least %lld pixels, but the picture has %d",
                   a->name, (long long)most, mode == TT_PAD_REFLECT ? "reflection" : "symmetry", axis,
                   (long long)(most + n - bound), n);
}

/* COUNT pixels of value FILL, already of the picture's type. */
static uint8_t *put(uint8_t *d, int64_t count, const uint8_t *fill, size_t pixel)
{
    for (int64_t i = 0; i < count; i++, d += pixel) memcpy(d, fill, pixel);
    return d;
}

static void pad_constant(const TtImage *im, TtImage *to, int64_t left, int64_t top, const uint8_t *fill)
{
    const size_t pixel = (size_t)im->c * tt_dtype_size(im->dtype), row = (size_t)im->w * pixel;
    const int64_t right = to->w - im->w - left, bottom = to->h - im->h - top;
    const uint8_t *s = im->data;
    uint8_t *d = put(to->data, top * to->w, fill, pixel);
    for (int y = 0; y < im->h; y++, s += row) {
        d = put(d, left, fill, pixel);
        memcpy(d, s, row);
        d = put(d + row, right, fill, pixel);
    }
    put(d, bottom * to->w, fill, pixel);
}

static void pad_mirrored(const TtImage *im, TtImage *to, int64_t left, int64_t top, TtPadMode mode)
{
    const size_t pixel = (size_t)im->c * tt_dtype_size(im->dtype), row = (size_t)im->w * pixel;
    uint8_t *d = to->data;
    for (int y = 0; y < to->h; y++) {
        const uint8_t *s = (const uint8_t *)im->data + (size_t)source(y - top, im->h, mode) * row;
        for (int64_t x = 0; x < left; x++, d += pixel)
            memcpy(d, s + (size_t)source(x - left, im->w, mode) * pixel, pixel);
        memcpy(d, s, row);
        d += row;
        for (int64_t x = im->w; x < to->w - left; x++, d += pixel)
            memcpy(d, s + (size_t)source(x, im->w, mode) * pixel, pixel);
    }
}

TtStatus tt_pixels_pad(TtTransformArgs *a, int64_t left, int64_t top, int64_t right, int64_t bottom,
                       const TtFloats *fill, TtPadMode mode)
{
    TtImage *im = a->image, *to = &a->scratch->image;
    float value[4];
    uint8_t pixel[4 * sizeof(float)];
    if (left == 0 && top == 0 && right == 0 && bottom == 0) return TT_OK;
    TT_TRY(check_reflection(a, mode, TT_MAX(left, right), im->w, "width"));
    TT_TRY(check_reflection(a, mode, TT_MAX(top, bottom), im->h, "height"));
    TT_TRY(tt_pixels_target(a, top + im->h + bottom, left + im->w + right, im->c, im->dtype));
    if (mode == TT_PAD_CONSTANT) {
        TT_TRY(tt_pixels_fill(a, fill, value));
        tt_pixels_store(im->dtype, value, (size_t)im->c, false, pixel);
        pad_constant(im, to, left, top, pixel);
    } else {
        pad_mirrored(im, to, left, top, mode);
    }
    tt_image_swap(im, to);
    return TT_OK;
}

/* ---- Pad */

typedef struct Pad {
    TtInts padding;
    TtFloats fill;
    int mode;
} Pad;

static const TtOption options[] = {
    {"padding", TT_OPT_INTS, offsetof(Pad, padding), .flags = TT_OPT_RANGED, .min = 0, .max = 65536, .min_n = 1,
     .max_n = 4, .help = "pixels: all sides, [left and right, top and bottom] or [left, top, right, bottom]"},
    TT_OPTION_FILL(Pad, "0"),
    {"padding_mode", TT_OPT_ENUM, offsetof(Pad, mode), .def = "constant", .choices = TT_PAD_MODES,
     .help = "what the border shows"},
    {0}};

TtStatus tt_check_padding(const TtInts *padding, const TtFloats *fill, int mode, const TtNode *node)
{
    if (padding->n == 3) return tt_node_fail(tt_node_get(node, "padding"), "padding takes 1, 2 or 4 values, not 3");
    if (mode != TT_PAD_CONSTANT && fill->n > 1)
        return tt_node_fail(tt_node_get(node, "fill"), "fill for each channel goes with padding_mode: constant only");
    return TT_OK;
}

void tt_padding_sides(const TtInts *p, int64_t sides[4])
{
    for (int i = 0; i < 4; i++) sides[i] = p->n == 0 ? 0 : p->v[i % p->n];
}

static TtStatus check(void *o, const TtNode *node, TtArena *arena)
{
    const Pad *p = o;
    return tt_check_padding(&p->padding, &p->fill, p->mode, node);
}

static TtStatus apply(const void *o, TtTransformArgs *a)
{
    const Pad *p = o;
    int64_t s[4];
    tt_padding_sides(&p->padding, s);
    return tt_pixels_pad(a, s[0], s[1], s[2], s[3], &p->fill, (TtPadMode)p->mode);
}

static void out_size(const void *o, int *h, int *w)
{
    int64_t s[4];
    tt_padding_sides(&((const Pad *)o)->padding, s);
    if (*h > 0) *h += (int)(s[1] + s[3]);
    if (*w > 0) *w += (int)(s[0] + s[2]);
}

const TtTransformDef tt_transform_Pad = {
    .name = "Pad",
    .help = "pad the sides",
    .options = options,
    .size = sizeof(Pad),
    .check = check,
    .apply = apply,
    .out_size = out_size,
};
