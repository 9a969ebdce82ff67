/* SPDX-License-Identifier: Apache-2.0 */
/* vision/image.c - picture buffers, recognition by content, EXIF orientation. */
#include "vision/image.h"

#include <stdio.h>
#include <string.h>

#include "tensor/arena.h"
#include "vision/reader.h"

size_t tt_image_bytes(const TtImage *im)
{
    return (size_t)im->h * (size_t)im->w * (size_t)im->c * tt_dtype_size(im->dtype);
}

TtStatus tt_image_resize_buffer(TtImage *im, int h, int w, int c, TtDType dtype)
{
    TtImage want = {.h = h, .w = w, .c = c, .dtype = dtype, .data = im->data, .capacity = im->capacity};
    size_t size = (size_t)h * (size_t)w; /* below 2^62; the rest may not fit */
    if (__builtin_mul_overflow(size, (size_t)c * tt_dtype_size(dtype), &size)) size = SIZE_MAX;
    if (size > im->capacity) {
        tt_image_free(im);
        TT_TRY(tt_alloc(&want.data, size));
        want.capacity = size;
    }
    *im = want;
    return TT_OK;
}

void tt_image_swap(TtImage *a, TtImage *b)
{
    TtImage t = *a;
    *a = *b, *b = t;
}

void tt_image_free(TtImage *im)
{
    tt_free(im->data);
    *im = (TtImage){0};
}

void tt_image_irregular(TtImageSource *s, size_t at, const char *text)
{
    if (!*s->warning) snprintf(s->warning, sizeof s->warning, "at byte %zu: %s", at, text);
}

TtStatus tt_image_check_size(const TtImageSource *s, uint64_t width, uint64_t height)
{
    if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX)
        return TT_FAIL(TT_EDATA, "%s: the picture has a size of %llux%llu", s->name, (unsigned long long)width,
                       (unsigned long long)height);
    if (width * height > (uint64_t)s->max_pixels)
        return TT_FAIL(TT_EDATA, "%s: %llux%llu pixels exceed the limit of %lld (data.max_pixels raises it)", s->name,
                       (unsigned long long)width, (unsigned long long)height, (long long)s->max_pixels);
    return TT_OK;
}

TtStatus tt_image_make_room(const TtImageSource *s, TtImage *out, int h, int w, TtDType dtype)
{
    if (tt_image_resize_buffer(out, h, w, 3, dtype) == TT_OK) return TT_OK;
    return TT_FAIL(TT_EDATA, "%s: no memory for a picture of %dx%d", s->name, w, h);
}

/* ------------------------------------------------------------------ EXIF */

static uint32_t get(const uint8_t *p, int n, bool big)
{
    uint32_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint32_t)p[i] << 8 * (big ? n - 1 - i : i);
    return v;
}

/* TIFF 6.0, section 2: byte order, 42, offset of IFD0; a count and entries of 12 bytes (tag, type, count, value). */
int tt_exif_orientation(const uint8_t *tiff, size_t size)
{
    enum { ORIENTATION = 0x0112, SHORT = 3, LONG = 4 };
    if (size < 8) return 1;
    bool big = memcmp(tiff, "MM\0*", 4) == 0;
    if (!big && memcmp(tiff, "II*\0", 4) != 0) return 1;
    uint64_t at = get(tiff + 4, 4, big);
    if (at + 2 > size) return 1;
    uint32_t entries = get(tiff + at, 2, big);
    at += 2;
    for (uint32_t i = 0; i < entries && at + 12 <= size; i++, at += 12) {
        const uint8_t *e = tiff + at;
        if (get(e, 2, big) != ORIENTATION) continue;
        uint32_t type = get(e + 2, 2, big), count = get(e + 4, 4, big);
        if (count != 1 || (type != SHORT && type != LONG)) return 1;
        uint32_t v = get(e + 8, type == SHORT ? 2 : 4, big);
        return v >= 1 && v <= 8 ? (int)v : 1;
    }
    return 1;
}

/* ------------------------------------------------------------------ orientation */

/* Copy pixels of SIZE bytes: (x, y) of the new picture comes from FROM + x * step_x + y * step_y. In tiles, since a
 * transposition reads down columns. */
static inline void copy_pixels(const char *from, ptrdiff_t step_x, ptrdiff_t step_y, TtImage *to, size_t size)
{
    enum { TILE = 32 };
    for (int y0 = 0; y0 < to->h; y0 += TILE)
        for (int x0 = 0; x0 < to->w; x0 += TILE) {
            int y1 = TT_MIN(y0 + TILE, to->h), x1 = TT_MIN(x0 + TILE, to->w);
            for (int y = y0; y < y1; y++) {
                char *d = (char *)to->data + ((size_t)y * (size_t)to->w + (size_t)x0) * size;
                for (int x = x0; x < x1; x++, d += size) memcpy(d, from + x * step_x + y * step_y, size);
            }
        }
}

/* EXIF 2.32, tag 274: 2 to 4 mirror and turn, 5 to 8 transpose as well. */
static void orient(const TtImage *from, TtImage *to, int orientation)
{
    size_t pixel = (size_t)from->c * tt_dtype_size(from->dtype);
    ptrdiff_t right = (ptrdiff_t)pixel, down = right * from->w;
    bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const char *origin = from->data;
    if (mirror_x) origin += right * (from->w - 1), right = -right;
    if (mirror_y) origin += down * (from->h - 1), down = -down;
    ptrdiff_t step_x = orientation >= 5 ? down : right, step_y = orientation >= 5 ? right : down;
    if (pixel == 3)
        copy_pixels(origin, step_x, step_y, to, 3);
    else
        copy_pixels(origin, step_x, step_y, to, pixel);
}

static TtStatus apply_orientation(const TtImageSource *s, int orientation, TtImage *im)
{
    if (orientation == 1) return TT_OK;
    TtImage upright = {0};
    bool transposed = orientation >= 5;
    TT_TRY(tt_image_make_room(s, &upright, transposed ? im->w : im->h, transposed ? im->h : im->w, im->dtype));
    orient(im, &upright, orientation);
    tt_image_swap(im, &upright);
    tt_image_free(&upright);
    return TT_OK;
}

/* ------------------------------------------------------------------ recognition */

static const struct {
    const char *name, *magic;
    size_t magic_size;
    TtStatus (*read)(TtImageSource *s, bool info_only, TtImage *out, int *orientation);
} formats[] = {
    {"jpeg", "\xff\xd8", 2, tt_jpeg_decode},
    {"png", "\x89PNG\r\n\x1a\n", 8, tt_png_decode},
};

static int find_format(const uint8_t *bytes, size_t size)
{
    for (int i = 0; i < TT_COUNT(formats); i++)
        if (size >= formats[i].magic_size && memcmp(bytes, formats[i].magic, formats[i].magic_size) == 0) return i;
    return -1;
}

const char *tt_image_format(const uint8_t *bytes, size_t size)
{
    int i = find_format(bytes, size);
    return i < 0 ? NULL : formats[i].name;
}

static TtStatus read_image(TtImageSource *s, const TtImageOptions *o, bool info_only, TtImage *out, int *orientation)
{
    s->max_pixels = o && o->max_pixels ? o->max_pixels : TT_MAX_PIXELS_DEFAULT;
    if (s->size == 0) return TT_FAIL(TT_EDATA, "%s: the file is empty", s->name);
    int i = find_format(s->bytes, s->size);
    if (i < 0) return TT_FAIL(TT_EDATA, "%s: unknown format: neither JPEG nor PNG by its content", s->name);
    *orientation = 1;
    TT_TRY(formats[i].read(s, info_only, out, orientation));
    if (o && o->ignore_orientation) *orientation = 1;
    return TT_OK;
}

TtStatus tt_image_decode(const uint8_t *bytes, size_t size, const char *name, const TtImageOptions *options,
                         TtImage *out)
{
    TtImageSource s = {.bytes = bytes, .size = size, .name = name};
    int orientation;
    TT_TRY(read_image(&s, options, false, out, &orientation));
    TT_TRY(apply_orientation(&s, orientation, out));
    if (*s.warning) tt_warn("%s: %s", name, s.warning);
    return TT_OK;
}

TtStatus tt_image_info(const uint8_t *bytes, size_t size, const char *name, const TtImageOptions *options,
                       TtImageInfo *out)
{
    TtImageSource s = {.bytes = bytes, .size = size, .name = name};
    TtImage im = {0};
    int orientation;
    TT_TRY(read_image(&s, options, true, &im, &orientation));
    bool transposed = orientation >= 5;
    *out = (TtImageInfo){.h = transposed ? im.w : im.h,
                         .w = transposed ? im.h : im.w,
                         .dtype = im.dtype,
                         .format = tt_image_format(bytes, size)};
    return TT_OK;
}
