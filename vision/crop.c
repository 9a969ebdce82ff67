/* SPDX-License-Identifier: Apache-2.0 */
/* vision/crop.c - CenterCrop and RandomCrop. A crop inside the picture moves its rows together in place. */
#include <math.h>
#include <string.h>

#include "vision/options.h"
#include "vision/pixels.h"

static const TtFloats zero = {0};

static void crop_inside(TtImage *im, int top, int left, int h, int w)
{
    const size_t pixel = (size_t)im->c * tt_dtype_size(im->dtype), row = (size_t)w * pixel;
    const size_t stride = (size_t)im->w * pixel;
    uint8_t *d = im->data;
    const uint8_t *s = d + (size_t)top * stride + (size_t)left * pixel;
    for (int y = 0; y < h; y++, d += row, s += stride) memmove(d, s, row);
    im->h = h, im->w = w;
}

TtStatus tt_pixels_crop(TtTransformArgs *a, int64_t top, int64_t left, int64_t h, int64_t w)
{
    TtImage *im = a->image;
    const int64_t bottom = top + h, right = left + w;
    if (top == 0 && left == 0 && h == im->h && w == im->w) return TT_OK;
    if (top < 0 || left < 0 || bottom > im->h || right > im->w) {
        const int64_t l = TT_MAX(-left, 0), t = TT_MAX(-top, 0);
        TT_TRY(tt_pixels_pad(a, l, t, TT_MAX(right - im->w, 0), TT_MAX(bottom - im->h, 0), &zero, TT_PAD_CONSTANT));
        top += t, left += l;
    }
    crop_inside(im, (int)top, (int)left, (int)h, (int)w);
    return TT_OK;
}

/* Ties go to even, as Python's round. */
static int64_t half(int64_t n)
{
    return (int64_t)rint((double)n / 2.0);
}

TtStatus tt_pixels_center_crop(TtTransformArgs *a, int64_t h, int64_t w)
{
    TtImage *im = a->image;
    const int64_t dh = TT_MAX(h - im->h, 0), dw = TT_MAX(w - im->w, 0);
    TT_TRY(tt_pixels_pad(a, dw / 2, dh / 2, (dw + 1) / 2, (dh + 1) / 2, &zero, TT_PAD_CONSTANT));
    return tt_pixels_crop(a, half(im->h - h), half(im->w - w), h, w);
}

/* ---- CenterCrop */

typedef struct CenterCrop {
    TtInts size;
} CenterCrop;

static const TtOption center_options[] = {TT_OPTION_SIZE(CenterCrop), {0}};

static TtStatus center_apply(const void *o, TtTransformArgs *a)
{
    const TtInts *s = &((const CenterCrop *)o)->size;
    return tt_pixels_center_crop(a, s->v[0], s->v[s->n - 1]);
}

static void center_size(const void *o, int *h, int *w)
{
    const TtInts *s = &((const CenterCrop *)o)->size;
    *h = (int)s->v[0], *w = (int)s->v[s->n - 1];
}

const TtTransformDef tt_transform_CenterCrop = {
    .name = "CenterCrop",
    .help = "crop the middle; a smaller picture is padded with 0",
    .options = center_options,
    .size = sizeof(CenterCrop),
    .apply = center_apply,
    .out_size = center_size,
};

/* ---- RandomCrop */

typedef struct RandomCrop {
    TtInts size, padding;
    TtFloats fill;
    int mode;
    bool pad_if_needed;
} RandomCrop;

static const TtOption random_options[] = {
    TT_OPTION_SIZE(RandomCrop),
    {"padding", TT_OPT_INTS, offsetof(RandomCrop, padding), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED,
     .min = 0, .max = 65536, .min_n = 1, .max_n = 4,
     .help = "pixels added before: all sides, [left and right, top and bottom] or [left, top, right, bottom]"},
    {"pad_if_needed", TT_OPT_BOOL, offsetof(RandomCrop, pad_if_needed), .def = "false",
     .help = "pad a picture smaller than size"},
    TT_OPTION_FILL(RandomCrop, "0"),
    {"padding_mode", TT_OPT_ENUM, offsetof(RandomCrop, mode), .def = "constant", .choices = TT_PAD_MODES,
     .help = "what the border shows"},
    {0}};

static TtStatus random_check(void *o, const TtNode *node, TtArena *arena)
{
    const RandomCrop *r = o;
    return tt_check_padding(&r->padding, &r->fill, r->mode, node);
}

static TtStatus random_apply(const void *o, TtTransformArgs *a)
{
    const RandomCrop *r = o;
    const int64_t ch = r->size.v[0], cw = r->size.v[r->size.n - 1];
    int64_t s[4];
    tt_padding_sides(&r->padding, s);
    int64_t h = a->image->h + s[1] + s[3], w = a->image->w + s[0] + s[2];
    if (r->pad_if_needed) { /* by the whole difference on both sides, so that the picture lies at random within */
        const int64_t dh = TT_MAX(ch - h, 0), dw = TT_MAX(cw - w, 0);
        s[0] += dw, s[1] += dh, s[2] += dw, s[3] += dh;
        h += 2 * dh, w += 2 * dw;
    }
    if (h < ch || w < cw)
        return TT_FAIL(
            TT_EDATA, "%s: RandomCrop wants %lldx%lld, but the picture has only %lldx%lld%s; set pad_if_needed: true",
            a->name, (long long)cw, (long long)ch, (long long)w, (long long)h, r->padding.n ? " with its padding" : "");
    const int64_t top = h > ch ? (int64_t)tt_rng_below(&a->rng, (uint64_t)(h - ch + 1)) : 0;
    const int64_t left = w > cw ? (int64_t)tt_rng_below(&a->rng, (uint64_t)(w - cw + 1)) : 0;
    TT_TRY(tt_pixels_pad(a, s[0], s[1], s[2], s[3], &r->fill, (TtPadMode)r->mode));
    return tt_pixels_crop(a, top, left, ch, cw);
}

static void random_size(const void *o, int *h, int *w)
{
    const TtInts *s = &((const RandomCrop *)o)->size;
    *h = (int)s->v[0], *w = (int)s->v[s->n - 1];
}

const TtTransformDef tt_transform_RandomCrop = {
    .name = "RandomCrop",
    .help = "crop at a random place",
    .options = random_options,
    .size = sizeof(RandomCrop),
    .check = random_check,
    .apply = random_apply,
    .out_size = random_size,
    .random = true,
};
