/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/plot_grid.c - pictures side by side: what the model sees, what it gets wrong. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/canvas.h"

enum { TILES = 64, CELL = 116, GAP = 14, LINE = 14 };

/* (h,w,3) bytes as a cairo picture; NULL without memory. */
static cairo_surface_t *make_surface(const TtTile *t)
{
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, t->w, t->h);
    if (cairo_surface_status(s) != CAIRO_STATUS_SUCCESS) {
        cairo_surface_destroy(s);
        return NULL;
    }
    uint8_t *rows = cairo_image_surface_get_data(s);
    size_t stride = (size_t)cairo_image_surface_get_stride(s);
    for (int y = 0; y < t->h; y++)
        for (int x = 0; x < t->w; x++) {
            const uint8_t *p = t->rgb + ((size_t)y * (size_t)t->w + (size_t)x) * 3;
            uint32_t rgb = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
            memcpy(rows + (size_t)y * stride + (size_t)x * 4, &rgb, 4);
        }
    cairo_surface_mark_dirty(s);
    return s;
}

/* The picture in the middle of a square, whole, its shape kept; the pixels of small ones stay square. */
static void draw_picture(TtCanvas *c, const TtTile *t, double x, double y)
{
    tt_canvas_box(c, x, y, CELL, CELL, TT_PALE);
    if (!t->rgb || t->w < 1 || t->h < 1 || t->w > 32767 || t->h > 32767) return;
    cairo_surface_t *s = make_surface(t);
    if (!s) return;
    double scale = TT_MIN((double)CELL / t->w, (double)CELL / t->h);
    cairo_save(c->cr);
    cairo_translate(c->cr, x + (CELL - t->w * scale) / 2, y + (CELL - t->h * scale) / 2);
    cairo_rectangle(c->cr, 0, 0, t->w * scale, t->h * scale);
    cairo_clip(c->cr);
    cairo_scale(c->cr, scale, scale);
    cairo_set_source_surface(c->cr, s, 0, 0);
    cairo_pattern_t *p = cairo_get_source(c->cr);
    cairo_pattern_set_extend(p, CAIRO_EXTEND_PAD);
    cairo_pattern_set_filter(p, scale * TT_CANVAS_SCALE >= 2 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_paint(c->cr);
    cairo_restore(c->cr);
    cairo_surface_destroy(s);
}

TtStatus tt_plot_grid(const TtGridPlot *g, TtPlot *out)
{
    TtCanvas c;
    int n = TT_MIN(TT_MAX(g->n, 0), TILES), lines = 0;
    int columns = g->columns > 0 ? g->columns : n <= 4 ? TT_MAX(n, 1) : n <= 9 ? (n + 1) / 2 : n <= 32 ? 6 : 8;
    columns = TT_MIN(columns, TT_MAX(n, 1));
    for (int i = 0; i < n; i++) lines = TT_MAX(lines, g->tiles[i].caption[1] ? 2 : g->tiles[i].caption[0] ? 1 : 0);
    double row = CELL + GAP + lines * LINE + (lines ? 4 : 0);
    int rows = (n + columns - 1) / columns;
    *out = (TtPlot){0};
    double top = tt_canvas_heading_height(g->title, g->subtitle) + 10;
    double w = TT_MAX(48 + columns * (CELL + GAP) - GAP, 420);
    TT_TRY(tt_canvas_open(&c, w, top + TT_MAX(rows * row, 60) + 8));
    tt_canvas_heading(&c, 24, g->title, g->subtitle);
    for (int i = 0; i < n; i++) {
        const TtTile *t = &g->tiles[i];
        double x = 24 + i % columns * (CELL + GAP), y = top + i / columns * row;
        draw_picture(&c, t, x, y);
        for (int k = 0; k < 2; k++)
            tt_canvas_text(&c, x, y + CELL + 14 + k * LINE, t->caption[k],
                           &(TtWords){.size = 11, .room = CELL, .colour = k == 1 && t->wrong ? TT_VERMILION : 0});
    }
    if (n == 0)
        tt_canvas_text(&c, w / 2, top + 30, g->empty ? g->empty : "no pictures",
                       &(TtWords){.size = 15, .align = TT_CENTRE, .colour = TT_INK_SOFT});
    return tt_canvas_finish(&c, out);
}

void tt_plot_pixels(const float *x, int h, int w, const float mean[3], const float std[3], uint8_t *out)
{
    size_t n = (size_t)h * (size_t)w * 3;
    for (size_t i = 0; i < n; i++) {
        float v = x[i] * std[i % 3] + mean[i % 3];
        out[i] = isfinite(v) ? (uint8_t)lrintf(TT_MIN(TT_MAX(v, 0), 1) * 255) : 0;
    }
}
