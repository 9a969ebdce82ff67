/* SPDX-License-Identifier: Apache-2.0 */
/* vision/png.c - PNG through libpng, from memory; and a writer.
 *
 * Samples come as they are stored, expanded to three channels of 8 or 16 bits: no gamma, no profile, no background, no
 * alpha. Chunks that change no sample are skipped and never inflated; their CRC is still checked, with a warning.
 *
 * libpng goes on where the image data is damaged behind the last row it wants, and where a pixel has no colour in the
 * palette. Here both are errors, as is a bad CRC of PLTE in a picture that could do without it. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

#include "tensor/arena.h"
#include "tensor/fs.h"
#include "vision/reader.h"

enum { SIGNATURE = 8, CHUNK_OVERHEAD = 12 /* length, type, CRC */ };

typedef struct Reader {
    TtImageSource *s;
    size_t at;
    size_t chunks_end; /* where the last whole chunk ends */
    bool has_end;      /* that chunk is IEND */
    bool complete;     /* every row is there and the image data ended well */
    png_structp png;
    png_infop info;
    jmp_buf out;
    TtStatus status;
} Reader;

static TtStatus fail(Reader *r, size_t at, const char *text)
{
    return TT_FAIL(TT_EDATA, "%s: at byte %zu: %s", r->s->name, at, text);
}

static TT_NORETURN void leave(Reader *r, const char *text)
{
    r->status = fail(r, r->at, text);
    longjmp(r->out, 1);
}

static void on_error(png_structp png, png_const_charp text)
{
    Reader *r = png_get_error_ptr(png);
    /* "Invalid IHDR data" alone says little; the warning before it says which. */
    if (strncmp(text, "Invalid IHDR", 12) == 0 && *r->s->warning)
        r->status = TT_FAIL(TT_EDATA, "%s: %s", r->s->name, r->s->warning);
    else
        r->status = fail(r, r->at, text);
    longjmp(r->out, 1);
}

/* Damage to the image data that libpng only warns of (a wrong Adler-32) is an error; bytes behind its end do no harm. */
static void on_warning(png_structp png, png_const_charp text)
{
    Reader *r = png_get_error_ptr(png);
    if (strncmp(text, "IDAT: ", 6) == 0 && !strstr(text, "Extra compressed") && !strstr(text, "Too much image"))
        leave(r, text);
    tt_image_irregular(r->s, r->at, text);
}

static void read_bytes(png_structp png, png_bytep to, size_t n)
{
    Reader *r = png_get_io_ptr(png);
    if (n > r->s->size - r->at) {
        r->at = r->s->size;
        if (!r->complete || r->s->size - r->chunks_end >= CHUNK_OVERHEAD)
            leave(r, "the file ends inside the picture (truncated)");
        tt_image_irregular(r->s, r->at, "the end chunk (IEND) is missing");
        r->status = TT_OK;
        longjmp(r->out, 1);
    }
    memcpy(to, r->s->bytes + r->at, n);
    r->at += n;
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Walk over the chunks without looking into the image data: the first eXIf chunk, before or behind it, has the
 * orientation. */
static TtStatus survey(Reader *r, int *orientation)
{
    const TtImageSource *s = r->s;
    bool oriented = false;
    for (r->chunks_end = SIGNATURE; !r->has_end && s->size - r->chunks_end >= CHUNK_OVERHEAD;) {
        const uint8_t *chunk = s->bytes + r->chunks_end, *type = chunk + 4;
        size_t n = be32(chunk);
        if (n > s->size - r->chunks_end - CHUNK_OVERHEAD) break;
        bool exif = memcmp(type, "eXIf", 4) == 0 && !oriented, palette = memcmp(type, "PLTE", 4) == 0;
        bool whole = (exif || palette) && crc32(0, type, (uInt)n + 4) == be32(type + 4 + n);
        if (palette && !whole) return fail(r, r->chunks_end, "PLTE: CRC error");
        if (exif) *orientation = whole ? tt_exif_orientation(type + 4, n) : 1, oriented = true;
        r->has_end = memcmp(type, "IEND", 4) == 0;
        r->chunks_end += n + CHUNK_OVERHEAD;
    }
    return TT_OK;
}

/* ------------------------------------------------------------------ rows */

/* Indices, one a byte, in the last W bytes of a row of W pixels become its colours. The row is filled from the front
 * and never overtakes the indices still to be read. False when there is no such colour. */
static bool expand_palette(uint8_t *row, int w, const png_color *colours, int n)
{
    const uint8_t *index = row + 2 * (size_t)w;
    for (int x = 0; x < w; x++, row += 3) {
        int i = index[x];
        if (i >= n) return false;
        row[0] = colours[i].red, row[1] = colours[i].green, row[2] = colours[i].blue;
    }
    return true;
}

static void set_transforms(Reader *r, TtDType dtype, bool palette)
{
    png_structp png = r->png;
    if (palette) {
        png_set_packing(png);
        return;
    }
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (dtype == TT_U16) png_set_swap(png);
#endif
}

static TtStatus read_picture(Reader *r, TtImage *out)
{
    png_structp png = r->png;
    bool palette = png_get_color_type(png, r->info) == PNG_COLOR_TYPE_PALETTE;
    png_colorp colours = NULL;
    int n_colours = 0;
    png_get_PLTE(png, r->info, &colours, &n_colours);
    set_transforms(r, out->dtype, palette);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, r->info);
    TT_TRY(tt_image_make_room(r->s, out, out->h, out->w, out->dtype));
    size_t row = (size_t)out->w * 3 * tt_dtype_size(out->dtype), shift = palette ? 2 * (size_t)out->w : 0;
    TT_ASSERT(png_get_rowbytes(png, r->info) == row - shift);
    /* The passes of an interlaced picture fill each other's gaps; after the last one every pixel is written. */
    for (int pass = 1; pass <= passes; pass++)
        for (int y = 0; y < out->h; y++) {
            uint8_t *to = (uint8_t *)out->data + (size_t)y * row;
            png_read_row(png, to + shift, NULL);
            if (palette && pass == passes && !expand_palette(to, out->w, colours, n_colours))
                return fail(r, r->at, "a pixel's colour is not in the palette");
        }
    r->complete = true;
    png_read_end(png, NULL);
    return TT_OK;
}

static TtStatus read_header(Reader *r, TtImage *out)
{
    png_read_info(r->png, r->info);
    png_uint_32 w = png_get_image_width(r->png, r->info), h = png_get_image_height(r->png, r->info);
    TT_TRY(tt_image_check_size(r->s, w, h));
    out->h = (int)h, out->w = (int)w, out->c = 3;
    out->dtype = png_get_bit_depth(r->png, r->info) == 16 ? TT_U16 : TT_U8;
    return TT_OK;
}

static void run(Reader *r, bool info_only, TtImage *out)
{
    if (setjmp(r->out)) return; /* status is set */
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
    if (r->png) r->info = png_create_info_struct(r->png);
    if (!r->info) {
        r->status = TT_FAIL(TT_EDATA, "%s: no memory for the PNG reader", r->s->name);
        return;
    }
    png_set_read_fn(r->png, r, read_bytes);
    png_set_user_limits(r->png, INT32_MAX, INT32_MAX); /* check_size has the limit */
    /* -1: all known ancillary chunks, but for these two */
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, (png_const_bytep) "tRNS\0eXIf", 2);
    TtStatus status = read_header(r, out);
    if (status == TT_OK && !info_only) status = read_picture(r, out);
    r->status = status;
}

TtStatus tt_png_decode(TtImageSource *s, bool info_only, TtImage *out, int *orientation)
{
    Reader r = {.s = s};
    TT_TRY(survey(&r, orientation));
    run(&r, info_only, out);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    return r.status;
}

/* ------------------------------------------------------------------ writer */

typedef struct Writer {
    uint8_t *bytes;
    size_t size, capacity;
    jmp_buf out;
    TtStatus status;
} Writer;

static void on_write_error(png_structp png, png_const_charp text)
{
    Writer *w = png_get_error_ptr(png);
    w->status = TT_FAIL(TT_EINTERNAL, "a PNG cannot be made: %s", text);
    longjmp(w->out, 1);
}

static void on_write_warning(png_structp png, png_const_charp text)
{
    (void)png, (void)text; /* libpng has none about pictures of our own */
}

static void write_bytes(png_structp png, png_bytep from, size_t n)
{
    Writer *w = png_get_io_ptr(png);
    if (n > w->capacity - w->size) {
        w->capacity = 2 * (w->size + n);
        w->bytes = tt_realloc(w->bytes, w->capacity);
    }
    memcpy(w->bytes + w->size, from, n);
    w->size += n;
}

/* libpng's own would take the writer for a FILE. */
static void no_flush(png_structp png)
{
    (void)png;
}

/* One filter for all rows and little search: libpng's defaults take four times as long for a tenth of the bytes. */
static void write_picture(Writer *w, png_structp png, png_infop info, const uint8_t *pixels, int height, int width,
                          int c)
{
    if (setjmp(w->out)) return;
    png_set_write_fn(png, w, write_bytes, no_flush);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8,
                 c == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
    png_set_compression_level(png, 3);
    png_write_info(png, info);
    for (int y = 0; y < height; y++) png_write_row(png, pixels + (size_t)y * (size_t)width * (size_t)c);
    png_write_end(png, NULL);
}

TtStatus tt_png_encode(const uint8_t *pixels, int h, int w, int c, uint8_t **out, size_t *size)
{
    TT_ASSERT(h > 0 && w > 0 && (c == 1 || c == 3));
    Writer writer = {.status = TT_OK};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer, on_write_error, on_write_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (info)
        write_picture(&writer, png, info, pixels, h, w, c);
    else
        writer.status = TT_FAIL(TT_EINTERNAL, "no memory for the PNG writer");
    png_destroy_write_struct(&png, &info);
    if (writer.status != TT_OK) {
        free(writer.bytes);
        return writer.status;
    }
    *out = writer.bytes;
    *size = writer.size;
    return TT_OK;
}

TtStatus tt_png_write(const char *path, const uint8_t *pixels, int h, int w, int c)
{
    uint8_t *bytes;
    size_t size;
    TT_TRY(tt_png_encode(pixels, h, w, c, &bytes, &size));
    TtStatus s = tt_fs_write(path, bytes, size);
    free(bytes);
    return s;
}
