/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/image_data.h - pictures of tests/data/images, warnings, and PNG files put together chunk by chunk. */
#ifndef TT_TESTS_SUPPORT_IMAGE_DATA_H
#define TT_TESTS_SUPPORT_IMAGE_DATA_H

#include "vision/image.h"

typedef struct Bytes {
    uint8_t *p;
    size_t n;
} Bytes;

Bytes bytes_of(const void *p, size_t n);                            /* a copy */
Bytes bytes_read(const char *name);                                 /* tests/data/images/NAME */
Bytes bytes_cut(Bytes from, size_t at, size_t n);                   /* a copy without N bytes */
Bytes bytes_put(Bytes from, size_t at, const void *what, size_t n); /* a copy with N bytes more */
void bytes_append(Bytes *to, const void *p, size_t n);
void bytes_free(Bytes *b);

/* Decode B under NAME and free it. The last warning, or "", is in image_warning. */
TtStatus image_decode(Bytes b, const char *name, const TtImageOptions *o, TtImage *out);
extern char image_warning[512];

/* Compare with tests/data/images/expected/NAME.npy: at most MAX apart, MEAN on average. */
void image_expect(const TtImage *im, const char *name, int max, double mean);

/* PNG: signature, chunks with right CRCs, zlib streams. */
Bytes png_start(void);
void png_chunk(Bytes *png, const char *type, const void *data, size_t n);
void png_header(Bytes *png, uint32_t w, uint32_t h, int depth, int colour);
void png_data(Bytes *png, const void *rows, size_t n); /* one IDAT with the compressed rows */

/* Where the Nth segment or chunk of this type begins; fails the test when there is none. */
size_t jpeg_find(Bytes jpeg, int marker, int nth);
size_t png_find(Bytes png, const char *type);

#endif
