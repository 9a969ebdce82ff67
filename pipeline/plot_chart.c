/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/plot_chart.c - line charts: ranges, ticks, grid, lines, legend.
 *
 * A million points are drawn as fast as a thousand: what falls on one column of the picture is drawn as its first,
 * smallest, largest and last value, which looks the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/canvas.h"
#include "tensor/arena.h"

enum { WIDTH = 800, HEIGHT = 480, MAX_TICKS = 64, DOTS = 80 };

typedef struct Axis {
    bool log, percent;
    double lo, hi;     /* in the axis' own space: of log10 when log */
    double from, to;   /* on the page */
    double step;       /* between ticks, linear */
    double least_step; /* whole steps of training have no fractions */
    int n;
    double at[MAX_TICKS];  /* values */
    bool named[MAX_TICKS]; /* lines without a label stand between decades */
    char label[MAX_TICKS][32];
} Axis;

/* What is beyond 1e290 is a gap, as infinity is: differences of such values overflow. */
static double own(const Axis *a, double v)
{
    if (!(fabs(v) <= 1e290)) return NAN;
    return a->log ? (v > 0 ? log10(v) : NAN) : v;
}

static double place(const Axis *a, double v)
{
    return a->from + (own(a, v) - a->lo) / (a->hi - a->lo) * (a->to - a->from);
}

/* 1, 2 or 5 times a power of ten, at least X. */
static double round_up(double x)
{
    double p = pow(10, floor(log10(x)));
    double m = x / p;
    return p * (m <= 1 + 1e-9 ? 1 : m <= 2 + 1e-9 ? 2 : m <= 5 + 1e-9 ? 5 : 10);
}

static int decimals(double step)
{
    return step >= 1 ? 0 : TT_MIN(8, (int)ceil(-log10(step) - 1e-9));
}

/* 2.5e-5 and 2e-5, not 2.5e-05 and 2.0e-05. */
static void name_power(double v, int digits, char out[32])
{
    char text[32];
    snprintf(text, sizeof text, "%.*e", digits, v);
    char *e = strchr(text, 'e');
    if (v == 0 || !e)
        snprintf(out, 32, "0");
    else {
        char *end = e;
        while (digits > 0 && end[-1] == '0') end--, digits--;
        if (end[-1] == '.') end--;
        snprintf(out, 32, "%.*se%d", (int)(end - text), text, atoi(e + 1));
    }
}

static void name_tick(const Axis *a, double v, double step, char out[32])
{
    double big = TT_MAX(fabs(a->lo), fabs(a->hi));
    if (fabs(v) < step * 1e-6) v = 0;
    if (a->percent)
        snprintf(out, 32, "%.*f%%", decimals(step * 100), v * 100);
    else if (big >= 1e15 || (big < 1e-3 && big > 0))
        name_power(v, decimals(step / pow(10, floor(log10(big)))), out);
    else if (v != 0 && big >= 1e4) {
        int u = big >= 1e12 ? 3 : big >= 1e9 ? 2 : big >= 1e6 ? 1 : 0;
        double unit = pow(1000, u + 1);
        snprintf(out, 32, "%.*f%c", decimals(step / unit), v / unit, "kMGT"[u]);
    } else
        snprintf(out, 32, "%.*f", decimals(step), v);
}

/* List the ticks, about WANTED of them. An end that nearly reaches the next tick goes there. */
static void linear_ticks(Axis *a, int wanted, bool widen)
{
    a->step = TT_MAX(round_up((a->hi - a->lo) / wanted), a->least_step);
    if (widen) {
        double lo = floor(a->lo / a->step + 1e-6) * a->step, hi = ceil(a->hi / a->step - 1e-6) * a->step;
        if (a->lo - lo < 0.4 * a->step) a->lo = lo;
        if (hi - a->hi < 0.4 * a->step) a->hi = hi;
    }
    for (double k = ceil(a->lo / a->step - 1e-6); k * a->step <= a->hi + a->step * 1e-6 && a->n < MAX_TICKS; k++) {
        a->at[a->n] = k * a->step;
        a->named[a->n] = true;
        name_tick(a, k * a->step, a->step, a->label[a->n++]);
    }
}

static void log_ticks(Axis *a)
{
    double decades = a->hi - a->lo;
    int every = (int)ceil(decades / 8); /* of the decades, named */
    double pad = TT_MAX(decades * 0.04, 0.01);
    a->lo -= pad, a->hi += pad;
    for (int d = (int)floor(a->lo); d <= (int)ceil(a->hi); d++)
        for (int m = 1; m < 10; m++) {
            double v = m * pow(10, d);
            if (log10(v) < a->lo || log10(v) > a->hi || a->n == MAX_TICKS || (m > 1 && decades > 6)) continue;
            bool named = m == 1 ? d % TT_MAX(every, 1) == 0 : decades < 0.7 || (decades < 2 && (m == 2 || m == 5));
            a->at[a->n] = v, a->named[a->n] = named;
            if (a->percent)
                snprintf(a->label[a->n++], 32, "%g%%", v * 100);
            else if (v >= 1e-3 && v < 1e5)
                snprintf(a->label[a->n++], 32, "%g", v);
            else
                name_power(v, 0, a->label[a->n++]);
        }
}

/* The range of X or Y over all lines' drawable points; false when there is none. */
static bool find_range(const TtChart *c, bool of_x, Axis *a)
{
    a->lo = INFINITY, a->hi = -INFINITY;
    const Axis *a_x = &(Axis){0}, *a_y = &(Axis){.log = c->log_y};
    for (int i = 0; i < c->n; i++)
        for (int64_t k = 0; k < c->lines[i].n; k++) {
            const TtLine *l = &c->lines[i];
            double vx = own(a_x, l->x[k]), vy = own(a_y, l->y[k]);
            if (isnan(vx) || isnan(vy)) continue;
            double v = of_x ? vx : vy;
            a->lo = TT_MIN(a->lo, v), a->hi = TT_MAX(a->hi, v);
        }
    return a->lo <= a->hi;
}

/* Room around a range that is one value, or too narrow to be told apart. */
static void open_range(Axis *a, double around)
{
    double least = TT_MAX(fabs(a->lo), fabs(a->hi)) * 1e-9;
    if (a->hi - a->lo > least) return;
    double pad = around > 0 ? around : a->lo != 0 ? fabs(a->lo) * 0.1 : 1;
    a->lo -= pad, a->hi += pad;
}

/* The index of the point to point out, -1 when there is none. */
static int64_t find_best(const TtLine *l, bool log_y)
{
    const Axis *a_x = &(Axis){0}, *a_y = &(Axis){.log = log_y};
    int64_t best = -1;
    for (int64_t i = 0; l->best != TT_BEST_NONE && i < l->n; i++)
        if (!isnan(own(a_x, l->x[i])) && !isnan(own(a_y, l->y[i])) &&
            (best < 0 || (l->best == TT_BEST_MAX ? l->y[i] > l->y[best] : l->y[i] < l->y[best])))
            best = i;
    return best;
}

/* Room for the words at the best value, behind the last tick; not below zero where the axis begins there. */
static void make_room(const TtChart *c, Axis *y)
{
    for (int i = 0; i < c->n; i++) {
        int64_t best = find_best(&c->lines[i], false);
        if (best < 0) continue;
        double v = c->lines[i].y[best], room = (y->hi - y->lo) * 0.085;
        if (c->lines[i].best == TT_BEST_MAX)
            y->hi = TT_MAX(y->hi, v + room);
        else if (y->lo != 0)
            y->lo = TT_MIN(y->lo, v - room);
    }
}

static void set_up_axes(const TtChart *c, Axis *x, Axis *y)
{
    *x = (Axis){.least_step = 1};
    *y = (Axis){.log = c->log_y, .percent = c->percent};
    bool some = find_range(c, true, x) && find_range(c, false, y);
    if (!some) x->lo = 0, x->hi = 1, y->lo = 0, y->hi = 1, y->log = false;
    open_range(x, 0.5);
    open_range(y, y->log ? 0.3 : 0);
    /* What begins near zero begins at zero: steps, and curves that come down to it. */
    if (x->lo > 0 && x->lo < 0.1 * x->hi) x->lo = 0;
    linear_ticks(x, 8, false);
    if (y->log) {
        log_ticks(y);
        return;
    }
    double pad = (y->hi - y->lo) * 0.03;
    if (y->lo >= 0 && y->lo < 0.35 * y->hi)
        y->lo = 0;
    else
        y->lo -= pad;
    y->hi = c->percent && y->hi <= 1 ? TT_MIN(y->hi + pad, 1) : y->hi + pad;
    linear_ticks(y, 6, true);
    make_room(c, y);
}

/* ---- lines */

/* What falls on one column of pixels. */
typedef struct Column {
    double x, first, last, least, most;
    bool least_first;
    int n;
} Column;

static void flush_column(TtCanvas *c, Column *k)
{
    if (k->n == 0) return;
    cairo_line_to(c->cr, k->x, k->first);
    if (k->n > 2) {
        cairo_line_to(c->cr, k->x, k->least_first ? k->least : k->most);
        cairo_line_to(c->cr, k->x, k->least_first ? k->most : k->least);
    }
    if (k->n > 1) cairo_line_to(c->cr, k->x, k->last);
    k->n = 0;
}

static void draw_path(TtCanvas *c, const Axis *x, const Axis *y, const TtLine *l, const double *values)
{
    const double column = 0.25;
    Column k = {0};
    cairo_new_path(c->cr);
    for (int64_t i = 0; i < l->n; i++) {
        double px = place(x, l->x[i]), py = place(y, values[i]);
        if (!isfinite(px) || !isfinite(py)) { /* a gap */
            flush_column(c, &k);
            cairo_new_sub_path(c->cr);
            continue;
        }
        if (k.n > 0 && fabs(px - k.x) > column) flush_column(c, &k);
        if (k.n++ == 0)
            k.x = px, k.first = k.least = k.most = py;
        else if (py < k.least)
            k.least = py, k.least_first = false;
        else if (py > k.most)
            k.most = py, k.least_first = true;
        k.last = py;
    }
    flush_column(c, &k);
    cairo_stroke(c->cr);
}

/* Each value becomes the mean of those within HALF places of it, and as many on either side: it does not lag behind a
 * curve that falls, and the ends stay where they are. Gaps stay gaps. */
static void smooth_once(const double *in, double *out, int64_t n, int64_t half)
{
    double *sum = tt_realloc(NULL, sizeof *sum * (size_t)(n + 1));
    int64_t *count = tt_realloc(NULL, sizeof *count * (size_t)(n + 1));
    sum[0] = 0, count[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        bool gap = !isfinite(in[i]);
        sum[i + 1] = sum[i] + (gap ? 0 : in[i]);
        count[i + 1] = count[i] + !gap;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t h = TT_MIN(half, TT_MIN(i, n - 1 - i)), lo = i - h, hi = i + h + 1;
        out[i] = isfinite(in[i]) ? (sum[hi] - sum[lo]) / (double)(count[hi] - count[lo]) : NAN;
    }
    free(sum);
    free(count);
}

/* Twice, so that the line has no steps. Caller frees. */
static double *smoothed(const TtLine *l)
{
    size_t n = (size_t)TT_MAX(l->n, 1);
    double *once = tt_realloc(NULL, sizeof *once * n), *twice = tt_realloc(NULL, sizeof *twice * n);
    smooth_once(l->y, once, l->n, l->smooth);
    smooth_once(once, twice, l->n, l->smooth);
    free(once);
    return twice;
}

static void draw_line(TtCanvas *c, const Axis *x, const Axis *y, const TtLine *l, uint32_t colour)
{
    cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(c->cr, CAIRO_LINE_CAP_ROUND);
    bool smooth = l->smooth > 0;
    tt_canvas_colour(c, colour, smooth ? 0.25 : 1);
    cairo_set_line_width(c->cr, smooth ? 1 : 1.8);
    draw_path(c, x, y, l, l->y);
    if (smooth) {
        double *mean = smoothed(l);
        tt_canvas_colour(c, colour, 1);
        cairo_set_line_width(c->cr, 2);
        draw_path(c, x, y, l, mean);
        free(mean);
    } else if (l->n <= DOTS)
        for (int64_t i = 0; i < l->n; i++)
            if (isfinite(place(x, l->x[i])) && isfinite(place(y, l->y[i])))
                tt_canvas_dot(c, place(x, l->x[i]), place(y, l->y[i]), l->n <= 30 ? 2.8 : 2, colour);
}

static void name_value(const TtChart *c, double v, char out[32])
{
    if (c->percent)
        snprintf(out, 32, "%.2f%%", v * 100);
    else
        snprintf(out, 32, "%.4g", v);
}

/* A ring around the best value, with its number where the line is not: above a maximum, below a minimum. */
static void draw_best(TtCanvas *c, const TtChart *chart, const Axis *x, const Axis *y, const TtLine *l, uint32_t colour)
{
    int64_t best = find_best(l, y->log);
    if (best < 0) return;
    double px = place(x, l->x[best]), py = place(y, l->y[best]);
    tt_canvas_dot(c, px, py, 6, colour);
    tt_canvas_dot(c, px, py, 3.5, TT_WHITE);
    char text[64], value[32];
    name_value(chart, l->y[best], value);
    snprintf(text, sizeof text, "best %s", value);
    TtWords how = {.size = 12, .bold = true, .colour = colour, .align = TT_CENTRE, .halo = true};
    double half = tt_canvas_text_width(c, text, &how) / 2, ty = l->best == TT_BEST_MAX ? py - 13 : py + 22;
    if (ty < y->to + 4) ty = py + 22;
    if (ty > y->from - 6) ty = py - 13;
    tt_canvas_text(c, TT_MIN(TT_MAX(px, x->from + half + 4), x->to - half - 4), ty, text, &how);
}

/* ---- around them */

/* Names with their last values, from the left, in as many rows as they need; returns the y below. */
static double draw_legend(TtCanvas *c, const TtChart *chart, double left, double top)
{
    if (chart->n == 0) return top;
    double x = left, y = top + 12;
    const TtWords name = {.size = 12, .room = 260}, value = {.size = 12, .colour = TT_INK_SOFT};
    for (int i = 0; i < chart->n; i++) {
        const TtLine *l = &chart->lines[i];
        char last[32] = "";
        for (int64_t k = l->n - 1; k >= 0 && !*last; k--)
            if (isfinite(l->y[k])) name_value(chart, l->y[k], last);
        const char *text = l->name ? l->name : "";
        double wn = tt_canvas_text_width(c, text, &name), w = 24 + wn + 7 + tt_canvas_text_width(c, last, &value);
        if (x > left && x + w > c->w - left) x = left, y += 19;
        cairo_set_line_cap(c->cr, CAIRO_LINE_CAP_ROUND);
        tt_canvas_line(c, x + 1.5, y - 4, x + 16, y - 4, tt_canvas_line_colour(i), 3);
        tt_canvas_text(c, x + 24, y, text, &name);
        tt_canvas_text(c, x + 24 + wn + 7, y, last, &value);
        x += w + 24;
    }
    return y + 8;
}

static void draw_frame(TtCanvas *c, const TtChart *chart, const Axis *x, const Axis *y)
{
    cairo_set_line_cap(c->cr, CAIRO_LINE_CAP_BUTT);
    for (int i = 0; i < y->n; i++) {
        double p = place(y, y->at[i]);
        tt_canvas_line(c, x->from, p, x->to, p, y->named[i] ? TT_GRID : 0xf1f3f5, 1);
        if (y->named[i])
            tt_canvas_text(c, x->from - 11, p + 4, y->label[i],
                           &(TtWords){.size = 11.5, .align = TT_RIGHT, .colour = TT_INK_SOFT});
    }
    for (int i = 0; i < x->n; i++) {
        double p = place(x, x->at[i]);
        tt_canvas_line(c, p, y->from, p, y->from + 4, TT_AXIS, 1);
        tt_canvas_text(c, p, y->from + 18, x->label[i],
                       &(TtWords){.size = 11.5, .align = TT_CENTRE, .colour = TT_INK_SOFT});
    }
    tt_canvas_line(c, x->from, y->from, x->to, y->from, TT_AXIS, 1);
    tt_canvas_text(c, (x->from + x->to) / 2, c->h - 12, chart->x_label,
                   &(TtWords){.align = TT_CENTRE, .room = x->to - x->from});
    tt_canvas_text(c, 22, (y->from + y->to) / 2, chart->y_label,
                   &(TtWords){.align = TT_CENTRE, .angle = -M_PI / 2, .room = y->from - y->to});
}

TtStatus tt_plot_chart(const TtChart *chart, TtPlot *out)
{
    TtCanvas c;
    Axis x, y;
    TT_TRY(tt_canvas_open(&c, WIDTH, HEIGHT));
    set_up_axes(chart, &x, &y);
    double labels = 0;
    for (int i = 0; i < y.n; i++)
        labels = TT_MAX(labels, tt_canvas_text_width(&c, y.label[i], &(TtWords){.size = 11.5}));
    x.from = 34 + labels + 11, x.to = WIDTH - 28;
    tt_canvas_heading(&c, 24, chart->title, chart->subtitle);
    y.to = draw_legend(&c, chart, 24, tt_canvas_heading_height(chart->title, chart->subtitle)) + 10,
    y.from = HEIGHT - 54;
    draw_frame(&c, chart, &x, &y);
    bool some = false;
    for (int i = 0; i < chart->n; i++) {
        const TtLine *l = &chart->lines[i];
        draw_line(&c, &x, &y, l, tt_canvas_line_colour(i));
        for (int64_t k = 0; k < l->n && !some; k++) some = !isnan(place(&x, l->x[k])) && !isnan(place(&y, l->y[k]));
    }
    for (int i = 0; i < chart->n; i++) draw_best(&c, chart, &x, &y, &chart->lines[i], tt_canvas_line_colour(i));
    if (!some)
        tt_canvas_text(&c, (x.from + x.to) / 2, (y.from + y.to) / 2, "no data yet",
                       &(TtWords){.size = 15, .align = TT_CENTRE, .colour = TT_INK_SOFT});
    return tt_canvas_finish(&c, out);
}
