/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/image_data.c - pictures for tests. */
#include "tests/support/image_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "tensor/arena.h"
#include "tensor/fs.h"

char image_warning[512];

Bytes bytes_of(const void *p, size_t n)
{
    Bytes b = {tt_realloc(NULL, n), n}; /* exact: a sanitizer sees reads beyond it */
    if (n) memcpy(b.p, p, n);
    return b;
}

void bytes_append(Bytes *to, const void *p, size_t n)
{
    to->p = tt_realloc(to->p, to->n + n);
    if (n) memcpy(to->p + to->n, p, n);
    to->n += n;
}

void bytes_free(Bytes *b)
{
    free(b->p);
    *b = (Bytes){0};
}

static Bytes read_file(const char *folder, const char *name, const char *end)
{
    char path[300], *data;
    size_t size;
    snprintf(path, sizeof path, "tests/data/images/%s%s%s", folder, name, end);
    if (tt_fs_read(path, 1 << 20, TT_EDATA, &data, &size) != TT_OK) fail_msg("%s", tt_error_message());
    Bytes b = bytes_of(data, size);
    free(data);
    return b;
}

Bytes bytes_read(const char *name)
{
    return read_file("", name, "");
}

Bytes bytes_cut(Bytes from, size_t at, size_t n)
{
    assert_true(at + n <= from.n);
    Bytes b = bytes_of(from.p, at);
    bytes_append(&b, from.p + at + n, from.n - at - n);
    return b;
}

Bytes bytes_put(Bytes from, size_t at, const void *what, size_t n)
{
    assert_true(at <= from.n);
    Bytes b = bytes_of(from.p, at);
    bytes_append(&b, what, n);
    bytes_append(&b, from.p + at, from.n - at);
    return b;
}

static void keep_warning(void *user, const char *text)
{
    snprintf(image_warning, sizeof image_warning, "%s", text);
}

TtStatus image_decode(Bytes b, const char *name, const TtImageOptions *o, TtImage *out)
{
    *image_warning = '\0';
    tt_warn_sink(keep_warning, NULL);
    TtStatus s = tt_image_decode(b.p, b.n, name, o, out);
    tt_warn_sink(NULL, NULL);
    bytes_free(&b);
    return s;
}

void image_expect(const TtImage *im, const char *name, int max, double mean)
{
    Bytes b = read_file("expected/", name, ".npy");
    char head[128];
    snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d, 3), }",
             im->dtype == TT_U16 ? "<u2" : "|u1", im->h, im->w);
    assert_memory_equal(b.p + 10, head, strlen(head));
    const uint8_t *want = b.p + 10 + b.p[8] + 256 * b.p[9], *got8 = im->data;
    const uint16_t *got16 = im->data;
    size_t count = (size_t)im->h * (size_t)im->w * 3;
    assert_int_equal(b.p + b.n - want, tt_image_bytes(im));
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        int g = im->dtype == TT_U16 ? got16[i] : got8[i];
        int d = abs(g - (im->dtype == TT_U16 ? want[2 * i] + 256 * want[2 * i + 1] : want[i]));
        if (d > max) fail_msg("%s: sample %zu is %d, %d apart", name, i, g, d);
        sum += d;
    }
    if (sum > mean * (double)count) fail_msg("%s: %g apart on average", name, sum / (double)count);
    bytes_free(&b);
}

/* ------------------------------------------------------------------ PNG */

static void put_be32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

Bytes png_start(void)
{
    return bytes_of("\x89PNG\r\n\x1a\n", 8);
}

void png_chunk(Bytes *png, const char *type, const void *data, size_t n)
{
    uint8_t word[4];
    put_be32(word, (uint32_t)n);
    bytes_append(png, word, 4);
    bytes_append(png, type, 4);
    bytes_append(png, data, n);
    put_be32(word, (uint32_t)crc32(0, png->p + png->n - n - 4, (uInt)n + 4));
    bytes_append(png, word, 4);
}

void png_header(Bytes *png, uint32_t w, uint32_t h, int depth, int colour)
{
    uint8_t d[13] = {0};
    put_be32(d, w);
    put_be32(d + 4, h);
    d[8] = (uint8_t)depth, d[9] = (uint8_t)colour;
    png_chunk(png, "IHDR", d, sizeof d);
}

void png_data(Bytes *png, const void *rows, size_t n)
{
    uLongf size = compressBound(n);
    uint8_t *z = tt_realloc(NULL, size);
    assert_int_equal(compress(z, &size, rows, n), Z_OK);
    png_chunk(png, "IDAT", z, size);
    free(z);
}

/* ------------------------------------------------------------------ finding things */

size_t jpeg_find(Bytes jpeg, int marker, int nth)
{
    for (size_t i = 2; i + 1 < jpeg.n; i++)
        if (jpeg.p[i] == 0xff && jpeg.p[i + 1] == marker && nth-- == 0) return i;
    fail_msg("no marker %02x", marker);
    return 0;
}

size_t png_find(Bytes png, const char *type)
{
    for (size_t at = 8; at + 12 <= png.n; at += get_be32(png.p + at) + 12)
        if (memcmp(png.p + at + 4, type, 4) == 0) return at;
    fail_msg("no chunk %s", type);
    return 0;
}
