/* SPDX-License-Identifier: Apache-2.0 */
/* vision/jpeg.c - JPEG through libjpeg-turbo, from memory.
 *
 * Damage is an error: the source never invents an end of image, and libjpeg's warnings about coded data count as
 * errors. What loses no pixel (stray bytes between segments, an odd version number) is a warning. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "tensor/arena.h"
#include "vision/reader.h"

/* A progressive file may hold very many scans; honest ones have about ten. */
enum { MAX_SCANS = 500, SCANS_UNCHECKED = 32 };
#define MAX_SCAN_PIXELS ((int64_t)1 << 32)

typedef struct Reader {
    struct jpeg_decompress_struct c; /* first: libjpeg hands it back */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    const TtImageSource *s;
    jmp_buf out;
    TtStatus status;
    bool warned;
    uint8_t *row; /* four-component rows on their way to RGB */
} Reader;

static size_t position(const Reader *r)
{
    return r->s->size - r->source.bytes_in_buffer;
}

static TT_NORETURN void leave(Reader *r, const char *text)
{
    r->status = TT_FAIL(TT_EDATA, "%s: at byte %zu: %s", r->s->name, position(r), text);
    longjmp(r->out, 1);
}

static void on_error(j_common_ptr c)
{
    char text[JMSG_LENGTH_MAX];
    c->err->format_message(c, text);
    leave((Reader *)c, text);
}

/* Warnings that leave every pixel as it is. */
static bool harmless(int code)
{
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
           code == JWRN_NOT_SEQUENTIAL;
}

static void on_message(j_common_ptr c, int level)
{
    if (level >= 0) return; /* traces */
    Reader *r = (Reader *)c;
    char text[JMSG_LENGTH_MAX];
    c->err->format_message(c, text);
    if (!harmless(c->err->msg_code)) leave(r, text);
    if (!r->warned) tt_warn("%s: at byte %zu: %s", r->s->name, position(r), text);
    r->warned = true;
}

static void start_source(j_decompress_ptr c)
{
    (void)c;
}

static boolean end_of_data(j_decompress_ptr c)
{
    leave((Reader *)c, "the file ends inside the picture (truncated)");
}

static void skip_data(j_decompress_ptr c, long n)
{
    Reader *r = (Reader *)c;
    if (n <= 0) return;
    if ((size_t)n > r->source.bytes_in_buffer) leave(r, "a segment reaches beyond the end of the file (truncated)");
    r->source.next_input_byte += n;
    r->source.bytes_in_buffer -= (size_t)n;
}

static void on_progress(j_common_ptr c)
{
    Reader *r = (Reader *)c;
    int64_t scans = r->c.input_scan_number, pixels = (int64_t)r->c.image_width * r->c.image_height;
    if (scans > MAX_SCANS || (scans > SCANS_UNCHECKED && scans * pixels > MAX_SCAN_PIXELS))
        leave(r, "too many scans for a picture of this size");
}

static int orientation_of(const struct jpeg_decompress_struct *c)
{
    for (const struct jpeg_marker_struct *m = c->marker_list; m; m = m->next)
        if (m->marker == JPEG_APP0 + 1 && m->data_length >= 6 && memcmp(m->data, "Exif\0\0", 6) == 0)
            return tt_exif_orientation(m->data + 6, m->data_length - 6);
    return 1;
}

/* CMYK as stored (inverted) to RGB, as Pillow rounds: (255 - ink)(255 - K) / 255. */
static void cmyk_row(const uint8_t *restrict from, uint8_t *restrict to, int w)
{
    for (int x = 0; x < w; x++, from += 4, to += 3) {
        int nk = from[3];
        for (int k = 0; k < 3; k++) {
            int t = (255 - from[k]) * nk + 128;
            int v = nk - ((t + (t >> 8)) >> 8);
            to[k] = (uint8_t)(v < 0 ? 0 : v);
        }
    }
}

static TtStatus read_header(Reader *r, TtImage *out, int *orientation)
{
    jpeg_save_markers(&r->c, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&r->c, TRUE);
    *orientation = orientation_of(&r->c);
    TT_TRY(tt_image_check_size(r->s, r->c.image_width, r->c.image_height));
    int n = r->c.num_components;
    if (n != 1 && n != 3 && n != 4)
        return TT_FAIL(TT_EDATA, "%s: a JPEG of %d components; 1, 3 or 4 can be read", r->s->name, n);
    out->h = (int)r->c.image_height, out->w = (int)r->c.image_width, out->c = 3, out->dtype = TT_U8;
    return TT_OK;
}

static TtStatus read_rows(Reader *r, TtImage *out)
{
    struct jpeg_decompress_struct *c = &r->c;
    bool four = c->num_components == 4;
    c->out_color_space = four ? JCS_CMYK : JCS_RGB;
    c->dct_method = JDCT_ISLOW;
    c->do_fancy_upsampling = TRUE;
    TT_TRY(tt_image_make_room(r->s, out, out->h, out->w, TT_U8));
    if (four) TT_TRY(tt_alloc((void **)&r->row, (size_t)out->w * 4));
    jpeg_start_decompress(c);
    while (c->output_scanline < c->output_height) {
        uint8_t *to = (uint8_t *)out->data + (size_t)c->output_scanline * (size_t)out->w * 3;
        JSAMPROW rows[1] = {four ? r->row : to};
        jpeg_read_scanlines(c, rows, 1);
        if (four) cmyk_row(r->row, to, out->w);
    }
    jpeg_finish_decompress(c);
    return TT_OK;
}

static void run(Reader *r, bool info_only, TtImage *out, int *orientation)
{
    if (setjmp(r->out)) return; /* status is set */
    jpeg_create_decompress(&r->c);
    r->c.src = &r->source;
    r->c.progress = &r->progress;
    TtStatus s = read_header(r, out, orientation);
    if (s == TT_OK && !info_only) s = read_rows(r, out);
    r->status = s;
}

TtStatus tt_jpeg_decode(const TtImageSource *s, bool info_only, TtImage *out, int *orientation)
{
    Reader r = {.s = s};
    r.c.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = on_error;
    r.errors.emit_message = on_message;
    r.source = (struct jpeg_source_mgr){.next_input_byte = s->bytes,
                                        .bytes_in_buffer = s->size,
                                        .init_source = start_source,
                                        .fill_input_buffer = end_of_data,
                                        .skip_input_data = skip_data,
                                        .resync_to_restart = jpeg_resync_to_restart,
                                        .term_source = start_source};
    r.progress.progress_monitor = on_progress;
    run(&r, info_only, out, orientation);
    jpeg_destroy_decompress(&r.c);
    tt_free(r.row);
    return r.status;
}
