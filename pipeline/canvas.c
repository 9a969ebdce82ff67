/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/canvas.c - cairo, kept in one place. Fonts are looked for when the first page is opened, never before. */
#include "pipeline/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/arena.h"
#include "tensor/fs.h"
#include "vision/image.h"

enum { TEXT = 1024, MAX_PIXELS = 32767 };

uint32_t tt_canvas_line_colour(int i)
{
    static const uint32_t colours[] = {TT_BLUE,  TT_VERMILION, TT_GREEN, 0xcc79a7,
                                       0xe69f00, 0x56b4e9,     0x000000, 0x8c8c00};
    return colours[i % TT_COUNT(colours)];
}

#ifdef __SANITIZE_ADDRESS__
/* fontconfig keeps what it knows for as long as the process lives, behind offsets that the leak checker cannot follow. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig";
}
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}
#endif

/* ---- pages */

static void set_font(TtCanvas *c, const TtWords *how)
{
    cairo_select_font_face(c->cr, "sans", CAIRO_FONT_SLANT_NORMAL,
                           how->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c->cr, how->size > 0 ? how->size : 12);
}

/* Try a word on a page of its own: an error would spoil the real one for good. */
static bool find_font(void)
{
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 8, 8);
    TtCanvas try = {.surface = s, .cr = cairo_create(s)};
    cairo_text_extents_t e;
    set_font(&try, &(TtWords){0});
    cairo_text_extents(try.cr, "0", &e);
    cairo_show_text(try.cr, "0");
    bool ok = cairo_status(try.cr) == CAIRO_STATUS_SUCCESS && e.x_advance > 0;
    cairo_destroy(try.cr);
    cairo_surface_destroy(s);
    return ok;
}

static void close_canvas(TtCanvas *c)
{
    cairo_destroy(c->cr);
    cairo_surface_destroy(c->surface);
    *c = (TtCanvas){0};
}

TtStatus tt_canvas_open(TtCanvas *c, double w, double h)
{
    double pw = ceil(w * TT_CANVAS_SCALE), ph = ceil(h * TT_CANVAS_SCALE);
    TT_ASSERT(pw >= 1 && ph >= 1 && pw <= MAX_PIXELS && ph <= MAX_PIXELS);
    *c = (TtCanvas){.w = w, .h = h, .words = find_font()};
    c->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)pw, (int)ph);
    c->cr = cairo_create(c->surface);
    if (cairo_status(c->cr) != CAIRO_STATUS_SUCCESS) {
        TtStatus s = TT_FAIL(TT_EINTERNAL, "no memory for a picture of %.0f x %.0f pixels: %s", pw, ph,
                             cairo_status_to_string(cairo_status(c->cr)));
        close_canvas(c);
        return s;
    }
    cairo_scale(c->cr, TT_CANVAS_SCALE, TT_CANVAS_SCALE);
    /* The same shapes on every machine: no colour fringes, no pulling of outlines to pixels. */
    cairo_font_options_t *o = cairo_font_options_create();
    cairo_font_options_set_antialias(o, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(o, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(o, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(c->cr, o);
    cairo_font_options_destroy(o);
    tt_canvas_colour(c, TT_WHITE, 1);
    cairo_paint(c->cr);
    return TT_OK;
}

/* cairo's own PNG writer leaves libpng's defaults on, which cost more than all the drawing. */
static TtStatus encode(cairo_surface_t *surface, TtPlot *out)
{
    int h = cairo_image_surface_get_height(surface), w = cairo_image_surface_get_width(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    const uint8_t *rows = cairo_image_surface_get_data(surface);
    uint8_t *rgb;
    TT_TRY(tt_alloc((void **)&rgb, (size_t)h * (size_t)w * 3));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            uint32_t v;
            uint8_t *p = rgb + ((size_t)y * (size_t)w + (size_t)x) * 3;
            memcpy(&v, rows + (size_t)y * stride + (size_t)x * 4, 4);
            p[0] = (uint8_t)(v >> 16), p[1] = (uint8_t)(v >> 8), p[2] = (uint8_t)v;
        }
    *out = (TtPlot){.w = w, .h = h};
    TtStatus s = tt_png_encode(rgb, h, w, 3, &out->png, &out->size);
    tt_free(rgb);
    return s;
}

TtStatus tt_canvas_finish(TtCanvas *c, TtPlot *out)
{
    *out = (TtPlot){0};
    cairo_surface_flush(c->surface);
    cairo_status_t drawn = cairo_status(c->cr);
    TtStatus s = drawn == CAIRO_STATUS_SUCCESS
                     ? encode(c->surface, out)
                     : TT_FAIL(TT_EINTERNAL, "a plot cannot be drawn: %s", cairo_status_to_string(drawn));
    close_canvas(c);
    return s;
}

void tt_plot_free(TtPlot *p)
{
    free(p->png);
    *p = (TtPlot){0};
}

TtStatus tt_plot_save(const TtPlot *p, const char *path)
{
    return tt_fs_write(path, p->png, p->size);
}

/* ---- shapes */

void tt_canvas_colour(TtCanvas *c, uint32_t rgb, double alpha)
{
    cairo_set_source_rgba(c->cr, (rgb >> 16) / 255.0, (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0, alpha);
}

void tt_canvas_line(TtCanvas *c, double x0, double y0, double x1, double y1, uint32_t rgb, double width)
{
    tt_canvas_colour(c, rgb, 1);
    cairo_set_line_width(c->cr, width);
    cairo_move_to(c->cr, x0, y0);
    cairo_line_to(c->cr, x1, y1);
    cairo_stroke(c->cr);
}

void tt_canvas_box(TtCanvas *c, double x, double y, double w, double h, uint32_t rgb)
{
    tt_canvas_colour(c, rgb, 1);
    cairo_rectangle(c->cr, x, y, w, h);
    cairo_fill(c->cr);
}

void tt_canvas_dot(TtCanvas *c, double x, double y, double radius, uint32_t rgb)
{
    cairo_new_path(c->cr);
    cairo_arc(c->cr, x, y, radius, 0, 2 * M_PI);
    tt_canvas_colour(c, rgb, 1);
    cairo_fill(c->cr);
}

/* ---- text */

/* Bytes of the UTF-8 character at P (RFC 3629), 0 when there is none. */
static int character(const unsigned char *p)
{
    if (*p < 0x80) return 1;
    int n = *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    bool bad = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0) || (*p == 0xf0 && p[1] < 0x90) ||
               (*p == 0xf4 && p[1] >= 0x90);
    return bad ? 0 : n;
}

/* Valid UTF-8 without control characters, at most TEXT - 4 bytes. */
static void clean(const char *text, char out[TEXT])
{
    int n = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p && n < TEXT - 8;) {
        int k = character(p);
        if (k == 0)
            n += (int)strlen(strcpy(out + n, "\xef\xbf\xbd")); /* U+FFFD */
        else if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0))
            out[n++] = ' ';
        else
            memcpy(out + n, p, (size_t)k), n += k;
        p += k ? k : 1;
    }
    out[n] = '\0';
}

static double measure(TtCanvas *c, const char *text)
{
    cairo_text_extents_t e;
    cairo_text_extents(c->cr, text, &e);
    return e.x_advance;
}

/* The longest beginning that, with an ellipsis, is no wider than ROOM. The font is set. */
static void cut(TtCanvas *c, char text[TEXT], double room)
{
    if (measure(c, text) <= room) return;
    int starts[TEXT] = {0}, n = 0;
    for (int i = 0; text[i]; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80) starts[n++] = i;
    int lo = 0, hi = n - 1;
    char try[TEXT];
    while (lo < hi) {
        int mid = (lo + hi + 1) / 2;
        memcpy(try, text, (size_t)starts[mid]);
        strcpy(try + starts[mid], "…");
        if (measure(c, try) <= room)
            lo = mid;
        else
            hi = mid - 1;
    }
    while (lo > 0 && text[starts[lo] - 1] == ' ') lo--;
    strcpy(text + starts[lo], "…");
}

static double prepare(TtCanvas *c, const char *text, const TtWords *how, char out[TEXT])
{
    clean(text, out);
    set_font(c, how);
    if (how->room > 0) cut(c, out, how->room);
    return measure(c, out);
}

double tt_canvas_text_width(TtCanvas *c, const char *text, const TtWords *how)
{
    char buf[TEXT];
    return c->words ? prepare(c, text, how, buf) : 0;
}

void tt_canvas_text(TtCanvas *c, double x, double y, const char *text, const TtWords *how)
{
    char buf[TEXT];
    if (!c->words || !text || !*text) return;
    double w = prepare(c, text, how, buf);
    cairo_save(c->cr);
    cairo_translate(c->cr, x, y);
    cairo_rotate(c->cr, how->angle);
    cairo_move_to(c->cr, how->align == TT_LEFT ? 0 : how->align == TT_CENTRE ? -w / 2 : -w, 0);
    if (how->halo) {
        cairo_text_path(c->cr, buf);
        tt_canvas_colour(c, TT_WHITE, 0.9);
        cairo_set_line_width(c->cr, 4);
        cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_ROUND);
        cairo_stroke(c->cr);
        cairo_move_to(c->cr, how->align == TT_LEFT ? 0 : how->align == TT_CENTRE ? -w / 2 : -w, 0);
    }
    tt_canvas_colour(c, how->colour ? how->colour : TT_INK, 1);
    cairo_show_text(c->cr, buf);
    cairo_new_path(c->cr);
    cairo_restore(c->cr);
}

double tt_canvas_measure(const char *text, const TtWords *how)
{
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    TtCanvas c = {.surface = s, .cr = cairo_create(s), .words = true};
    double w = tt_canvas_text_width(&c, text, how);
    if (cairo_status(c.cr) != CAIRO_STATUS_SUCCESS) w = 0;
    close_canvas(&c);
    return w;
}

enum { HEAD = 16, TITLE = 24, SUBTITLE = 18 };

double tt_canvas_heading_height(const char *title, const char *subtitle)
{
    return HEAD + (title && *title ? TITLE : 0) + (subtitle && *subtitle ? SUBTITLE : 0);
}

void tt_canvas_heading(TtCanvas *c, double x, const char *title, const char *subtitle)
{
    double y = HEAD, room = c->w - 2 * x;
    tt_canvas_text(c, x, y + 16, title, &(TtWords){.size = 17, .bold = true, .room = room});
    if (title && *title) y += TITLE;
    tt_canvas_text(c, x, y + 11, subtitle, &(TtWords){.size = 12, .colour = TT_INK_SOFT, .room = room});
}
