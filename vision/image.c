/* SPDX-License-Identifier: Apache-2.0 */
/* vision/image.c - picture buffers, recognition by content, EXIF orientation. */
#include "vision/image.h"

#include <string.h>

#include "tensor/arena.h"
#include "vision/reader.h"

size_t tt_image_bytes(const TtImage *im)
{
    return (size_t)im->h * (size_t)im->w * (size_t)im->c * tt_dtype_size(im->dtype);
}

TtStatus tt_image_resize_buffer(TtImage *im, int h, int w, int c, TtDType dtype)
{
    im->h = h, im->w = w, im->c = c, im->dtype = dtype;
    size_t size = tt_image_bytes(im);
    if (size <= im->capacity) return TT_OK;
    tt_free(im->data);
    im->data = NULL, im->capacity = 0;
    TT_TRY(tt_alloc(&im->data, size));
    im->capacity = size;
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
    return TT_FAIL(TT_EDATA, "%s: no memory for a picture of %dx%d (%zu bytes)", s->name, w, h, tt_image_bytes(out));
}

/* ---- EXIF */

static uint32_t get(const uint8_t *p, int n, bool big)
{
    uint32_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint32_t)p[i] << 8 * (big ? n - 1 - i : i);
    return v;
}

int tt_exif_orientation(const uint8_t *t, size_t size)
{
    if (size < 8) return 1;
    bool big = t[0] == 'M' && t[1] == 'M';
    if (!big && !(t[0] == 'I' && t[1] == 'I')) return 1;
    if (get(t + 2, 2, big) != 42) return 1;
    uint64_t at = get(t + 4, 4, big);
    if (at + 2 > size) return 1;
    uint32_t entries = get(t + at, 2, big);
    for (uint32_t i = 0; i < entries; i++) {
        const uint64_t entry = at + 2 + 12 * (uint64_t)i;
        if (entry + 12 > size) return 1;
        const uint8_t *e = t + entry;
        if (get(e, 2, big) != 0x0112) continue;
        uint32_t type = get(e + 2, 2, big), count = get(e + 4, 4, big);
        if (count != 1 || (type != 3 && type != 4)) return 1;
        uint32_t v = get(e + 8, type == 3 ? 2 : 4, big);
        return v >= 1 && v <= 8 ? (int)v : 1;
    }
    return 1;
}

/* ---- orientation: EXIF 2.32, tag 274. Every value is a transposition (5 to 8) and flips of the upright picture. */

static void orient(const TtImage *from, TtImage *to, int orientation)
{
    size_t pixel = (size_t)from->c * tt_dtype_size(from->dtype);
    int h = to->h, w = to->w;
    bool transposed = orientation >= 5;
    bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    char *d = to->data;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, d += pixel) {
            /* (sx, sy): where the stored picture holds pixel (x, y) of the upright one */
            int sx = transposed ? y : x, sy = transposed ? x : y;
            if (flip_x) sx = from->w - 1 - sx;
            if (flip_y) sy = from->h - 1 - sy;
            memcpy(d, (const char *)from->data + ((size_t)sy * (size_t)from->w + (size_t)sx) * pixel, pixel);
        }
}

static TtStatus apply_orientation(const TtImageSource *s, int orientation, TtImage *im)
{
    if (orientation == 1) return TT_OK;
    TtImage upright = {0};
    bool transposed = orientation >= 5;
    TtStatus st = tt_image_make_room(s, &upright, transposed ? im->w : im->h, transposed ? im->h : im->w, im->dtype);
    if (st == TT_OK) {
        orient(im, &upright, orientation);
        tt_image_swap(im, &upright);
    }
    tt_image_free(&upright);
    return st;
}

/* ---- recognition */

typedef TtStatus (*Reader)(const TtImageSource *s, bool info_only, TtImage *out, int *orientation);

static Reader find_reader(const TtImageSource *s)
{
    static const uint8_t png[8] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10};
    if (s->size >= 2 && s->bytes[0] == 0xff && s->bytes[1] == 0xd8) return tt_jpeg_decode;
    if (s->size >= 8 && memcmp(s->bytes, png, 8) == 0) return tt_png_decode;
    return NULL;
}

static TtStatus decode(const uint8_t *bytes, size_t size, const char *name, const TtImageOptions *o, bool info_only,
                       TtImage *out, int *orientation)
{
    TtImageSource s = {bytes, size, name, o && o->max_pixels ? o->max_pixels : TT_MAX_PIXELS_DEFAULT};
    if (size == 0) return TT_FAIL(TT_EDATA, "%s: the file is empty", name);
    Reader reader = find_reader(&s);
    if (!reader) return TT_FAIL(TT_EDATA, "%s: no picture of a known format (JPEG, PNG)", name);
    *orientation = 1;
    TT_TRY(reader(&s, info_only, out, orientation));
    if (o && o->ignore_orientation) *orientation = 1;
    return info_only ? TT_OK : apply_orientation(&s, *orientation, out);
}

TtStatus tt_image_decode(const uint8_t *bytes, size_t size, const char *name, const TtImageOptions *options,
                         TtImage *out)
{
    int orientation;
    return decode(bytes, size, name, options, false, out, &orientation);
}

TtStatus tt_image_info(const uint8_t *bytes, size_t size, const char *name, const TtImageOptions *options,
                       TtImageInfo *out)
{
    TtImage im = {0};
    int orientation;
    TT_TRY(decode(bytes, size, name, options, true, &im, &orientation));
    bool transposed = orientation >= 5;
    *out = (TtImageInfo){.h = transposed ? im.w : im.h,
                         .w = transposed ? im.h : im.w,
                         .dtype = im.dtype,
                         .format = bytes[0] == 0xff ? "jpeg" : "png"};
    return TT_OK;
}
