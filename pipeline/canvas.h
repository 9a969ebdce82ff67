/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/canvas.h - what the plots draw with: cairo's surface, text that fits, colours, a PNG in memory.
 *
 * Lengths are in points of a page of w x h; the picture has TT_CANVAS_SCALE pixels to the point. Any text may come in:
 * it is made valid UTF-8 first (cairo refuses to draw anything more after a bad byte) and cut to its room. Without a
 * single font on the machine the plots come out without words, but they come out. */
#ifndef TT_PIPELINE_CANVAS_H
#define TT_PIPELINE_CANVAS_H

#include <cairo.h>

#include "pipeline/plot.h"

enum { TT_CANVAS_SCALE = 2 };

/* 0xRRGGBB. Lines are Okabe and Ito's colours, which stay apart for every kind of colour vision
 * (jfly.uni-koeln.de/color, 2008). */
enum {
    TT_INK = 0x1f2933,
    TT_INK_SOFT = 0x616e7c,
    TT_AXIS = 0x9aa5b1,
    TT_GRID = 0xe4e7eb,
    TT_PALE = 0xf5f7fa,
    TT_WHITE = 0xffffff,
    TT_BLUE = 0x0072b2,
    TT_VERMILION = 0xd55e00,
    TT_GREEN = 0x009e73
};
uint32_t tt_canvas_line_colour(int i);

typedef struct TtCanvas {
    cairo_surface_t *surface;
    cairo_t *cr;
    double w, h;
    bool words; /* there is a font */
} TtCanvas;

/* A white page. */
TtStatus tt_canvas_open(TtCanvas *c, double w, double h) TT_NODISCARD;
/* The page as PNG; closes the canvas, whatever happens. */
TtStatus tt_canvas_finish(TtCanvas *c, TtPlot *out) TT_NODISCARD;

void tt_canvas_colour(TtCanvas *c, uint32_t rgb, double alpha);
void tt_canvas_line(TtCanvas *c, double x0, double y0, double x1, double y1, uint32_t rgb, double width);
void tt_canvas_box(TtCanvas *c, double x, double y, double w, double h, uint32_t rgb);
void tt_canvas_dot(TtCanvas *c, double x, double y, double radius, uint32_t rgb);

typedef enum TtAlign { TT_LEFT, TT_CENTRE, TT_RIGHT } TtAlign;
typedef struct TtWords {
    double size; /* 0: 12 points */
    TtAlign align;
    uint32_t colour; /* 0: TT_INK */
    bool bold;
    double room;  /* the text is cut to this width, with an ellipsis; 0: no limit */
    double angle; /* clockwise, in radians */
    bool halo;    /* a white rim, to stand on lines */
} TtWords;
/* X is the left, middle or right end, Y the baseline. */
void tt_canvas_text(TtCanvas *c, double x, double y, const char *text, const TtWords *how);
double tt_canvas_text_width(TtCanvas *c, const char *text, const TtWords *how);

/* The same without a page, to find out how large one must be. */
double tt_canvas_measure(const char *text, const TtWords *how);

/* Title and subtitle (either may be NULL) at the top left, and the room that they take. */
void tt_canvas_heading(TtCanvas *c, double x, const char *title, const char *subtitle);
double tt_canvas_heading_height(const char *title, const char *subtitle);

#endif
