/* SPDX-License-Identifier: Apache-2.0 */
/* vision/png.c - PNG through libpng, from memory; and a plain writer.
 *
 * Samples come as they are stored, expanded to three channels of 8 or 16 bits: no gamma, no profile, no background.
 * Chunks that change no sample are skipped without being inflated (their CRC is still checked). */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <png.h>
#include <zlib.h>

#include "tensor/arena.h"
#include "vision/reader.h"

typedef struct Reader {
    const TtImageSource *s;
    size_t at;
    png_structp png;
    png_infop info;
    jmp_buf out;
    TtStatus status;
    bool warned;
} Reader;

static TT_NORETURN void leave(Reader *r, const char *text)
{
    r->status = TT_FAIL(TT_EDATA, "%s: at byte %zu: %s", r->s->name, r->at, text);
    longjmp(r->out, 1);
}

static void on_error(png_structp png, png_const_charp text)
{
    leave(png_get_error_ptr(png), text);
}

static void on_warning(png_structp png, png_const_charp text)
{
    Reader *r = png_get_error_ptr(png);
    /* Damage to the compressed samples is an error even when libpng has all the rows it wants (a wrong Adler-32);
     * only bytes behind the end of the stream do no harm. */
    if (strncmp(text, "IDAT: ", 6) == 0 && !strstr(text, "Extra compressed") && !strstr(text, "Too much"))
        leave(r, text);
    if (!r->warned) tt_warn("%s: at byte %zu: %s", r->s->name, r->at, text);
    r->warned = true;
}

static void read_bytes(png_structp png, png_bytep to, size_t n)
{
    Reader *r = png_get_io_ptr(png);
    if (n > r->s->size - r->at) {
        r->at = r->s->size;
        leave(r, "the file ends inside the picture (truncated)");
    }
    memcpy(to, r->s->bytes + r->at, n);
    r->at += n;
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Orientation from the first eXIf chunk, which may stand before or behind the samples. */
static int find_orientation(const TtImageSource *s)
{
    size_t at = 8;
    while (s->size - at >= 12) {
        uint32_t n = be32(s->bytes + at);
        const uint8_t *type = s->bytes + at + 4;
        if (n > s->size - at - 12 || memcmp(type, "IEND", 4) == 0) break;
        if (memcmp(type, "eXIf", 4) == 0)
            return crc32(0, type, n + 4) == be32(type + 4 + n) ? tt_exif_orientation(type + 4, n) : 1;
        at += (size_t)n + 12;
    }
    return 1;
}

static void skip_other_chunks(png_structp png)
{
    static const uint8_t chunks[] =
        "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0"
        "tIME\0zTXt\0acTL\0fcTL\0fdAT\0cICP\0mDCV\0cLLI";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, chunks, (int)(sizeof chunks / 5));
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

static TtStatus read_rows(Reader *r, TtImage *out)
{
    png_structp png = r->png;
    png_set_expand(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (out->dtype == TT_U16) png_set_swap(png);
#endif
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, r->info);
    TT_TRY(tt_image_make_room(r->s, out, out->h, out->w, out->dtype));
    size_t row = (size_t)out->w * 3 * tt_dtype_size(out->dtype);
    if (png_get_rowbytes(png, r->info) != row) leave(r, "unexpected row size");
    /* Passes of an interlaced picture fill in the gaps; libpng writes every pixel by the last. */
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < out->h; y++) png_read_row(png, (uint8_t *)out->data + (size_t)y * row, NULL);
    png_read_end(png, NULL);
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
    png_set_user_limits(r->png, 0x7fffffff, 0x7fffffff);
    skip_other_chunks(r->png);
    TtStatus s = read_header(r, out);
    if (s == TT_OK && !info_only) s = read_rows(r, out);
    r->status = s;
}

TtStatus tt_png_decode(const TtImageSource *s, bool info_only, TtImage *out, int *orientation)
{
    Reader r = {.s = s};
    run(&r, info_only, out);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    if (r.status == TT_OK) *orientation = find_orientation(s);
    return r.status;
}

/* ---- writer */

TtStatus tt_png_write(const char *path, const uint8_t *pixels, int h, int w, int c)
{
    char part[4096];
    if (snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid()) >= (int)sizeof part)
        return TT_FAIL(TT_EINTERNAL, "%s: the path is too long", path);
    png_image im = {.version = PNG_IMAGE_VERSION,
                    .width = (png_uint_32)w,
                    .height = (png_uint_32)h,
                    .format = c == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
    int ok = png_image_write_to_file(&im, part, 0, pixels, w * c, NULL);
    if (ok && rename(part, path) == 0) return TT_OK;
    TtStatus s = ok ? TT_FAIL(TT_EINTERNAL, "%s: cannot be renamed into place: %m", path)
                    : TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %s", path, im.message);
    unlink(part);
    return s;
}
