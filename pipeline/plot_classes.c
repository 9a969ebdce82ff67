/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/plot_classes.c - how a classifier does class by class: confusion matrix, bars. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/canvas.h"
#include "tensor/arena.h"

enum { NAMED_CLASSES = 30, PLAIN_SIDE = 512, BARS = 40 };

/* White to dark blue, even in lightness: few colours of a ramp mixed by hand. */
static uint32_t shade(double v)
{
    static const uint8_t stops[][3] = {{255, 255, 255}, {214, 230, 244}, {156, 198, 226},
                                       {84, 154, 203},  {25, 105, 167},  {8, 48, 107}};
    enum { LAST = TT_COUNT(stops) - 1 };
    double t = TT_MIN(TT_MAX(v, 0), 1) * LAST;
    int i = TT_MIN((int)t, LAST - 1);
    uint32_t rgb = 0;
    for (int k = 0; k < 3; k++)
        rgb = rgb << 8 | (uint32_t)lrint(stops[i][k] + (t - i) * (stops[i + 1][k] - stops[i][k]));
    return rgb;
}

static const char *class_name(const char *const *names, int i, char buf[16])
{
    if (names && names[i]) return names[i];
    snprintf(buf, 16, "%d", i);
    return buf;
}

/* ---- confusion matrix */

static double *row_sums(const TtConfusion *m)
{
    double *sums = tt_realloc(NULL, sizeof *sums * (size_t)TT_MAX(m->classes, 1));
    for (int i = 0; i < m->classes; i++) {
        sums[i] = 0;
        for (int j = 0; j < m->classes; j++) sums[i] += (double)m->counts[(size_t)i * (size_t)m->classes + (size_t)j];
    }
    return sums;
}

static void count_text(int64_t n, char buf[32])
{
    if (n < 10000)
        snprintf(buf, 32, "%lld", (long long)n);
    else
        snprintf(buf, 32, n < 1000000 ? "%.0fk" : "%.1fM", (double)n / (n < 1000000 ? 1e3 : 1e6));
}

/* From white to dark beside the matrix. */
static void draw_scale(TtCanvas *c, double x, double y, double h, double power, const char *what)
{
    const double w = 12;
    for (int i = 0; i < 64; i++)
        tt_canvas_box(c, x, y + h * i / 64, w, h / 64 + 0.5, shade(pow(1 - (i + 0.5) / 64, power)));
    cairo_rectangle(c->cr, x, y, w, h);
    tt_canvas_colour(c, TT_AXIS, 1);
    cairo_set_line_width(c->cr, 0.75);
    cairo_stroke(c->cr);
    for (int i = 0; i <= 4; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d%%", 100 - 25 * i);
        tt_canvas_text(c, x + w + 6, y + h * i / 4 + 4, text, &(TtWords){.size = 11, .colour = TT_INK_SOFT});
    }
    tt_canvas_text(c, x + w + 46, y + h / 2, what,
                   &(TtWords){.size = 11, .colour = TT_INK_SOFT, .align = TT_CENTRE, .angle = M_PI / 2, .room = h});
}

/* Where things stand. */
typedef struct Layout {
    double cell, side, left, top, names, size;
    bool slanted; /* the names below */
} Layout;

static Layout lay_out(const TtConfusion *m)
{
    int n = TT_MAX(m->classes, 1);
    double cell = TT_MIN(TT_MAX(520.0 / n, 28), 64);
    Layout l = {.cell = cell, .side = cell * n, .names = 16, .size = TT_MIN(cell * 0.42, 12)};
    char buf[16];
    for (int i = 0; i < m->classes; i++)
        l.names =
            TT_MAX(l.names, tt_canvas_measure(class_name(m->names, i, buf), &(TtWords){.size = l.size, .room = 150}));
    l.slanted = l.names > cell - 8;
    l.left = 44 + l.names + 10;
    l.top = tt_canvas_heading_height(m->title, m->subtitle) + 16;
    return l;
}

/* Left and below. */
static void draw_class_names(TtCanvas *c, const TtConfusion *m, const Layout *l)
{
    char buf[16];
    for (int i = 0; i < m->classes; i++) {
        const char *name = class_name(m->names, i, buf);
        double at = (i + 0.5) * l->cell, size = l->size, bottom = l->top + l->side;
        TtWords how = {.size = size, .align = TT_RIGHT, .room = l->names + 1};
        tt_canvas_text(c, l->left - 8, l->top + at + size * 0.36, name, &how);
        how.angle = l->slanted ? -M_PI / 4 : 0;
        how.align = l->slanted ? TT_RIGHT : TT_CENTRE;
        tt_canvas_text(c, l->left + at + (l->slanted ? size * 0.3 : 0), bottom + (l->slanted ? 10 : 17), name, &how);
    }
}

static void draw_cell(TtCanvas *c, double x, double y, double cell, int64_t count, double share, bool right)
{
    char text[32];
    tt_canvas_box(c, x, y, cell - 1, cell - 1, count ? shade(0.06 + 0.94 * share) : TT_PALE);
    if (count == 0) return;
    count_text(count, text);
    TtWords how = {
        .size = TT_MIN(cell * 0.32, 12), .align = TT_CENTRE, .bold = right, .colour = share > 0.5 ? TT_WHITE : TT_INK};
    double w = tt_canvas_text_width(c, text, &how);
    if (w > cell - 4) how.size *= (cell - 4) / w;
    tt_canvas_text(c, x + cell / 2 - 0.5, y + cell / 2 + how.size * 0.36 - 0.5, text, &how);
}

static TtStatus draw_named(const TtConfusion *m, const double *sums, TtPlot *out)
{
    TtCanvas c;
    Layout l = lay_out(m);
    double below = l.slanted ? 20 + l.names * 0.71 + 34 : 54, w = TT_MAX(l.left + l.side + 92, 420);
    TT_TRY(tt_canvas_open(&c, w, l.top + l.side + below));
    tt_canvas_heading(&c, 24, m->title, m->subtitle);
    for (int i = 0; i < m->classes; i++)
        for (int j = 0; j < m->classes; j++) {
            int64_t count = m->counts[i * m->classes + j];
            draw_cell(&c, l.left + j * l.cell, l.top + i * l.cell, l.cell, count,
                      sums[i] > 0 ? (double)count / sums[i] : 0, i == j);
        }
    draw_class_names(&c, m, &l);
    tt_canvas_text(&c, 30, l.top + l.side / 2, "true class", &(TtWords){.align = TT_CENTRE, .angle = -M_PI / 2});
    tt_canvas_text(&c, l.left + l.side / 2, c.h - 16, "predicted class", &(TtWords){.align = TT_CENTRE});
    draw_scale(&c, l.left + l.side + 16, l.top, TT_MIN(l.side, 200), 1, "share of the true class");
    if (m->classes == 0)
        tt_canvas_text(&c, w / 2, l.top + l.side / 2, "no classes",
                       &(TtWords){.size = 15, .align = TT_CENTRE, .colour = TT_INK_SOFT});
    return tt_canvas_finish(&c, out);
}

/* The largest share within each pixel: a wrong pair among thousands must not be averaged away. */
static void paint_shares(const TtConfusion *m, const double *sums, cairo_surface_t *s, int side)
{
    uint8_t *rows = cairo_image_surface_get_data(s);
    int stride = cairo_image_surface_get_stride(s), n = m->classes;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            int i0 = (int)((int64_t)y * n / side), i1 = TT_MAX((int)((int64_t)(y + 1) * n / side), i0 + 1);
            int j0 = (int)((int64_t)x * n / side), j1 = TT_MAX((int)((int64_t)(x + 1) * n / side), j0 + 1);
            double most = 0;
            for (int i = i0; i < i1; i++)
                for (int j = j0; j < j1; j++)
                    if (sums[i] > 0)
                        most = TT_MAX(most, (double)m->counts[(size_t)i * (size_t)n + (size_t)j] / sums[i]);
            uint32_t rgb = shade(sqrt(most));
            memcpy(rows + (size_t)y * (size_t)stride + (size_t)x * 4, &rgb, 4);
        }
    cairo_surface_mark_dirty(s);
}

static TtStatus draw_plain(const TtConfusion *m, const double *sums, TtPlot *out)
{
    TtCanvas c;
    /* One pixel a class, or a whole number of pixels, or many classes a pixel. */
    int pixels = m->classes >= 2 * PLAIN_SIDE ? 2 * PLAIN_SIDE : m->classes * (2 * PLAIN_SIDE / m->classes);
    double side = (double)pixels / TT_CANVAS_SCALE, left = 78,
           top = tt_canvas_heading_height(m->title, m->subtitle) + 16;
    TT_TRY(tt_canvas_open(&c, left + side + 92, top + side + 58));
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixels, pixels);
    if (cairo_surface_status(s) == CAIRO_STATUS_SUCCESS) {
        paint_shares(m, sums, s, pixels);
        cairo_save(c.cr);
        cairo_translate(c.cr, left, top);
        cairo_scale(c.cr, 1.0 / TT_CANVAS_SCALE, 1.0 / TT_CANVAS_SCALE);
        cairo_set_source_surface(c.cr, s, 0, 0);
        cairo_pattern_set_filter(cairo_get_source(c.cr), CAIRO_FILTER_NEAREST);
        cairo_paint(c.cr);
        cairo_restore(c.cr);
    }
    cairo_surface_destroy(s);
    cairo_rectangle(c.cr, left - 0.25, top - 0.25, side + 0.5, side + 0.5);
    tt_canvas_colour(&c, TT_AXIS, 1);
    cairo_set_line_width(c.cr, 0.75);
    cairo_stroke(c.cr);
    tt_canvas_heading(&c, 24, m->title, m->subtitle);
    int step = 1;
    for (int k = 0; m->classes / step > 10; k++) step = k % 3 == 1 ? step / 2 * 5 : step * 2; /* 1, 2, 5, 10, ... */
    for (int i = 0; i < m->classes; i += step) {
        char text[16];
        double at = side * (i + 0.5) / m->classes;
        snprintf(text, sizeof text, "%d", i);
        tt_canvas_line(&c, left - 4, top + at, left, top + at, TT_AXIS, 0.75);
        tt_canvas_text(&c, left - 8, top + at + 4, text,
                       &(TtWords){.size = 11, .align = TT_RIGHT, .colour = TT_INK_SOFT});
        tt_canvas_line(&c, left + at, top + side, left + at, top + side + 4, TT_AXIS, 0.75);
        tt_canvas_text(&c, left + at, top + side + 17, text,
                       &(TtWords){.size = 11, .align = TT_CENTRE, .colour = TT_INK_SOFT});
    }
    tt_canvas_text(&c, 28, top + side / 2, "true class", &(TtWords){.align = TT_CENTRE, .angle = -M_PI / 2});
    tt_canvas_text(&c, left + side / 2, c.h - 14, "predicted class", &(TtWords){.align = TT_CENTRE});
    draw_scale(&c, left + side + 16, top, 200, 0.5, "share of the true class");
    return tt_canvas_finish(&c, out);
}

TtStatus tt_plot_confusion(const TtConfusion *m, TtPlot *out)
{
    double *sums = row_sums(m);
    *out = (TtPlot){0};
    TtStatus s = m->classes <= NAMED_CLASSES ? draw_named(m, sums, out) : draw_plain(m, sums, out);
    free(sums);
    return s;
}

/* ---- bars */

typedef struct Bar {
    double value;
    int i;
} Bar;

static int best_first(const void *a, const void *b)
{
    const Bar *p = a, *q = b;
    return p->value != q->value ? (p->value < q->value ? 1 : -1) : p->i - q->i;
}

enum { BAR_ROW = 22, BAR_WIDTH = 380 };

static void draw_bar(TtCanvas *c, const TtBars *b, const Bar *bar, double x, double y)
{
    char buf[48];
    const double h = BAR_ROW - 5, base = y + h / 2 + 4;
    tt_canvas_text(c, x - 10, base, class_name(b->names, bar->i, buf), &(TtWords){.align = TT_RIGHT, .room = 200});
    tt_canvas_box(c, x, y, BAR_WIDTH, h, TT_PALE);
    tt_canvas_box(c, x, y, BAR_WIDTH * TT_MIN(TT_MAX(bar->value, 0), 1), h, TT_BLUE);
    snprintf(buf, sizeof buf, "%.1f%%", bar->value * 100);
    tt_canvas_text(c, x + BAR_WIDTH + 10, base, buf, &(TtWords){.bold = true});
    if (!b->counts) return;
    snprintf(buf, sizeof buf, "of %lld", (long long)b->counts[bar->i]);
    tt_canvas_text(c, x + BAR_WIDTH + 64, base, buf, &(TtWords){.size = 11, .colour = TT_INK_SOFT});
}

/* Bars from Y down; returns the y below. */
static double draw_bars(TtCanvas *c, const TtBars *b, const Bar *bars, int n, double x, double y)
{
    int shown = TT_MIN(n, BARS);
    for (int k = 0; k < shown; k++, y += BAR_ROW) {
        if (n > BARS && k == BARS / 2) {
            char text[32];
            snprintf(text, sizeof text, "%d more", n - shown);
            tt_canvas_text(c, x, y + 14, text, &(TtWords){.colour = TT_INK_SOFT});
            y += BAR_ROW;
        }
        draw_bar(c, b, &bars[k < BARS / 2 ? k : n - shown + k], x, y);
    }
    return y;
}

TtStatus tt_plot_bars(const TtBars *b, TtPlot *out)
{
    TtCanvas c;
    Bar *bars = tt_realloc(NULL, sizeof *bars * (size_t)TT_MAX(b->n, 1));
    int n = 0;
    double sum = 0, names = 30;
    char buf[32];
    *out = (TtPlot){0};
    for (int i = 0; i < b->n; i++)
        if (isfinite(b->values[i])) bars[n++] = (Bar){b->values[i], i}, sum += b->values[i];
    qsort(bars, (size_t)n, sizeof *bars, best_first);
    for (int k = 0; k < n; k++)
        if (k < BARS / 2 || k >= n - BARS / 2)
            names = TT_MAX(names, tt_canvas_measure(class_name(b->names, bars[k].i, buf), &(TtWords){.room = 200}));
    double x = 24 + names + 10, y = tt_canvas_heading_height(b->title, b->subtitle) + 14, top = y;
    int rows = TT_MAX(TT_MIN(n, BARS) + (n > BARS), 2);
    TtStatus s = tt_canvas_open(&c, x + BAR_WIDTH + 140, top + rows * BAR_ROW + 52);
    if (s != TT_OK) goto out;
    tt_canvas_heading(&c, 24, b->title, b->subtitle);
    y = draw_bars(&c, b, bars, n, x, top);
    if (n > 0) {
        double mean = sum / n, at = x + BAR_WIDTH * TT_MIN(TT_MAX(mean, 0), 1);
        tt_canvas_line(&c, at, top - 4, at, y + 1, TT_INK, 1);
        snprintf(buf, sizeof buf, "mean %.1f%%", mean * 100);
        tt_canvas_text(&c, at, y + 14, buf, &(TtWords){.align = TT_CENTRE});
    } else
        tt_canvas_text(&c, c.w / 2, top + 26, "no data yet",
                       &(TtWords){.size = 15, .align = TT_CENTRE, .colour = TT_INK_SOFT});
    tt_canvas_text(&c, x + BAR_WIDTH / 2.0, c.h - 16, b->x_label,
                   &(TtWords){.align = TT_CENTRE, .colour = TT_INK_SOFT});
    s = tt_canvas_finish(&c, out);
out:
    free(bars);
    return s;
}
