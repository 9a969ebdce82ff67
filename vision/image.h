/* SPDX-License-Identifier: Apache-2.0 */
/* vision/image.h - decoded pictures and the readers that make them. */
#ifndef TT_VISION_IMAGE_H
#define TT_VISION_IMAGE_H

#include "tensor/types.h"

/* A picture: H,W,C interleaved, rows without padding, R G B when c is 3. It owns its buffer, which is
 * reused by the next picture put into it (grown only when too small). Zero-initialise, free once. */
typedef struct TtImage {
    int h, w, c;
    TtDType dtype; /* TT_U8, TT_U16 (PNG of 16 bits) or TT_F32 (after a float transform) */
    void *data;
    size_t capacity; /* bytes behind data */
} TtImage;

/* Set size and type and make room; the content is undefined. TT_EINTERNAL when there is no memory. */
TtStatus tt_image_resize_buffer(TtImage *im, int h, int w, int c, TtDType dtype) TT_NODISCARD;
size_t tt_image_bytes(const TtImage *im);
void tt_image_swap(TtImage *a, TtImage *b);
void tt_image_free(TtImage *im);

/* What the first bytes say: "jpeg", "png" or NULL. */
const char *tt_image_format(const uint8_t *bytes, size_t size);

#define TT_MAX_PIXELS_DEFAULT ((int64_t)1 << 28)

typedef struct TtImageOptions {
    int64_t max_pixels;      /* 0 means TT_MAX_PIXELS_DEFAULT; larger is TT_EDATA before any allocation */
    bool ignore_orientation; /* leave EXIF orientation unapplied */
} TtImageOptions;

/* Decode a JPEG or PNG from memory; the content decides, not the name. NAME is used in messages, which
 * give the byte offset where there is one ("NAME: at byte 928: ..."). Damaged data is TT_EDATA, never a
 * partial picture; harmless irregularities give the picture and a warning that names the file.
 * Always three channels (R G B), uint8, or uint16 for PNG of 16 bits a sample. After a failure OUT is good for the
 * next picture or tt_image_free, no more. docs/readers.md has the rules. */
TtStatus tt_image_decode(const uint8_t *bytes, size_t size, const char *name, const TtImageOptions *options,
                         TtImage *out) TT_NODISCARD;

/* Size and channel type from the header alone, orientation applied. */
typedef struct TtImageInfo {
    int h, w;
    TtDType dtype;
    const char *format; /* "jpeg" or "png" */
} TtImageInfo;
TtStatus tt_image_info(const uint8_t *bytes, size_t size, const char *name, const TtImageOptions *options,
                       TtImageInfo *out) TT_NODISCARD;

/* 8-bit RGB (or grey, c == 1) as a PNG in memory; *OUT to be freed with free(). */
TtStatus tt_png_encode(const uint8_t *pixels, int h, int w, int c, uint8_t **out, size_t *size) TT_NODISCARD;
/* The same into a file; atomic (written aside, renamed). */
TtStatus tt_png_write(const char *path, const uint8_t *pixels, int h, int w, int c) TT_NODISCARD;

#endif
