/* SPDX-License-Identifier: Apache-2.0 */
/* vision/jpeg.c - JPEG through libjpeg-turbo, from memory.
 *
 * Damage is an error: the source never invents an end of image, and libjpeg's warnings about coded data count as
 * errors. What loses no pixel (stray bytes between segments, an odd version number) gives the picture and a warning.
 *
 * A picture coded in one scan is decoded row by row. All others keep every coefficient in memory (2 bytes for each
 * sample, so 8 for a pixel at most) and may go over it any number of times. That number is bounded, or a small file
 * could take hours. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "tensor/arena.h"
#include "vision/reader.h"

enum {
    PIXELS_PER_VISIT = 2,  /* of max_pixels, for one visit of a block; the usual ten scans need 7 pixels for each */
    FREE_VISITS = 1 << 16, /* for any max_pixels */
    SCAN_OVERHEAD = 64     /* a scan costs as much as this many visits, however few blocks it has */
};

typedef struct Reader {
    struct jpeg_decompress_struct c; /* first: libjpeg hands it back */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    TtImageSource *s;
    jmp_buf out;
    TtStatus status;
    uint8_t *row;    /* four components on their way to RGB */
    uint64_t visits; /* of blocks, by all scans so far */
    unsigned seen;   /* bit i: component i has had its constant coefficients */
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
    Reader *r = (Reader *)c;
    char text[JMSG_LENGTH_MAX];
    if (c->err->msg_code == JERR_OUT_OF_MEMORY)
        snprintf(text, sizeof text, "no memory for a picture of %ux%u", r->c.image_width, r->c.image_height);
    else
        c->err->format_message(c, text);
    leave(r, text);
}

/* Warnings that leave every pixel as it is. Bytes left over before a restart marker mean that the interval was not
 * decoded as it was coded; before other markers nobody can tell. */
static bool harmless(const struct jpeg_error_mgr *e)
{
    switch (e->msg_code) {
    case JWRN_EXTRANEOUS_DATA: return e->msg_parm.i[1] < JPEG_RST0 || e->msg_parm.i[1] > JPEG_RST0 + 7;
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL: return true;
    default: return false;
    }
}

static void on_message(j_common_ptr c, int level)
{
    if (level >= 0) return; /* traces */
    Reader *r = (Reader *)c;
    char text[JMSG_LENGTH_MAX];
    c->err->format_message(c, text);
    if (!harmless(c->err)) leave(r, text);
    tt_image_irregular(r->s, position(r), text);
}

static void do_nothing(j_decompress_ptr c)
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

static int orientation_of(const struct jpeg_decompress_struct *c)
{
    for (const struct jpeg_marker_struct *m = c->marker_list; m; m = m->next)
        if (m->data_length >= 6 && memcmp(m->data, "Exif\0\0", 6) == 0)
            return tt_exif_orientation(m->data + 6, m->data_length - 6);
    return 1;
}

static TtStatus read_header(Reader *r, TtImage *out, int *orientation)
{
    struct jpeg_decompress_struct *c = &r->c;
    jpeg_save_markers(c, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(c, TRUE);
    *orientation = orientation_of(c);
    TT_TRY(tt_image_check_size(r->s, c->image_width, c->image_height));
    int n = c->num_components;
    if (n != 1 && n != 3 && n != 4)
        return TT_FAIL(TT_EDATA, "%s: a JPEG of %d components; 1, 3 or 4 can be read", r->s->name, n);
    out->h = (int)c->image_height, out->w = (int)c->image_width, out->c = 3, out->dtype = TT_U8;
    return TT_OK;
}

/* ------------------------------------------------------------------ several scans */

static void begin_scan(Reader *r)
{
    const struct jpeg_decompress_struct *c = &r->c;
    r->visits += SCAN_OVERHEAD;
    for (int i = 0; i < c->comps_in_scan; i++) {
        const jpeg_component_info *info = c->cur_comp_info[i];
        r->visits += (uint64_t)info->width_in_blocks * info->height_in_blocks;
        if (c->Ss == 0 || !c->progressive_mode) r->seen |= 1u << info->component_index;
    }
    if (r->visits > FREE_VISITS + (uint64_t)r->s->max_pixels / PIXELS_PER_VISIT)
        leave(r, "too many scans for the limit on pixels (data.max_pixels raises it)");
}

/* Read all scans before the first row is made. A component without any data would come out flat. */
static TtStatus read_scans(Reader *r)
{
    struct jpeg_decompress_struct *c = &r->c;
    int event = JPEG_REACHED_SOS;
    for (; event != JPEG_REACHED_EOI; event = jpeg_consume_input(c))
        if (event == JPEG_REACHED_SOS) begin_scan(r);
    for (int i = 0; i < c->num_components; i++) {
        if (!(r->seen & 1u << i))
            return TT_FAIL(TT_EDATA, "%s: at byte %zu: the picture ends before component %d of %d (truncated)",
                           r->s->name, position(r), i + 1, c->num_components);
        for (int k = 0; c->progressive_mode && k < DCTSIZE2; k++)
            if (c->coef_bits[i][k] > 0)
                tt_image_irregular(r->s, position(r), "the picture ends before the scans that refine it");
    }
    return TT_OK;
}

/* ------------------------------------------------------------------ rows */

/* CMYK as stored (inverted) to RGB, in Pillow's rounding (cmyk2rgb in Convert.c): (255 - ink)(255 - K) / 255. */
static void cmyk_to_rgb(const uint8_t *restrict from, uint8_t *restrict to, int w)
{
    for (int x = 0; x < w; x++, from += 4, to += 3) {
        int nk = from[3];
        for (int k = 0; k < 3; k++) {
            int t = (255 - from[k]) * nk + 128;
            to[k] = (uint8_t)(nk - ((t + (t >> 8)) >> 8));
        }
    }
}

static void read_rows(Reader *r, TtImage *out)
{
    struct jpeg_decompress_struct *c = &r->c;
    while (c->output_scanline < c->output_height) {
        uint8_t *to = (uint8_t *)out->data + (size_t)c->output_scanline * (size_t)out->w * 3;
        JSAMPROW row = r->row ? r->row : to;
        jpeg_read_scanlines(c, &row, 1);
        if (r->row) cmyk_to_rgb(r->row, to, out->w);
    }
}

static TtStatus read_picture(Reader *r, TtImage *out)
{
    struct jpeg_decompress_struct *c = &r->c;
    bool four = c->num_components == 4, scans = jpeg_has_multiple_scans(c);
    c->out_color_space = four ? JCS_CMYK : JCS_RGB;
    c->dct_method = JDCT_ISLOW;
    c->do_fancy_upsampling = TRUE;
    c->buffered_image = scans;
    TT_TRY(tt_image_make_room(r->s, out, out->h, out->w, TT_U8));
    if (four) TT_TRY(tt_alloc((void **)&r->row, (size_t)out->w * 4));
    jpeg_start_decompress(c);
    if (scans) {
        TT_TRY(read_scans(r));
        jpeg_start_output(c, c->input_scan_number);
    }
    read_rows(r, out);
    if (scans) jpeg_finish_output(c);
    jpeg_finish_decompress(c); /* to the end marker, which must be there */
    return TT_OK;
}

static void run(Reader *r, bool info_only, TtImage *out, int *orientation)
{
    if (setjmp(r->out)) return; /* status is set */
    jpeg_create_decompress(&r->c);
    r->c.src = &r->source;
    TtStatus status = read_header(r, out, orientation);
    if (status == TT_OK && !info_only) status = read_picture(r, out);
    r->status = status;
}

TtStatus tt_jpeg_decode(TtImageSource *s, bool info_only, TtImage *out, int *orientation)
{
    Reader r = {.s = s};
    r.c.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = on_error;
    r.errors.emit_message = on_message;
    r.source = (struct jpeg_source_mgr){.next_input_byte = s->bytes,
                                        .bytes_in_buffer = s->size,
                                        .init_source = do_nothing,
                                        .fill_input_buffer = end_of_data,
                                        .skip_input_data = skip_data,
                                        .resync_to_restart = jpeg_resync_to_restart,
                                        .term_source = do_nothing};
    run(&r, info_only, out, orientation);
    jpeg_destroy_decompress(&r.c);
    tt_free(r.row);
    return r.status;
}
