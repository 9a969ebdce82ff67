/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/plot.h - pictures of a run as PNG: curves, confusion matrix, bars, grids of pictures.
 *
 * A plot is drawn in memory, so that the same bytes go to plots/NAME.png and to TensorBoard. Names and texts may be any
 * bytes; numbers may be NaN (a gap). Nothing to show is a plot that says so, not an error; failures are TT_EINTERNAL
 * (no memory, disk). Any thread may draw. */
#ifndef TT_PIPELINE_PLOT_H
#define TT_PIPELINE_PLOT_H

#include "tensor/status.h"

typedef struct TtPlot {
    uint8_t *png; /* a PNG file, 8-bit RGB */
    size_t size;
    int w, h; /* pixels */
} TtPlot;
void tt_plot_free(TtPlot *p);
TtStatus tt_plot_save(const TtPlot *p, const char *path) TT_NODISCARD; /* whole or not at all */

/* ---- curves */

typedef enum TtBest { TT_BEST_NONE, TT_BEST_MIN, TT_BEST_MAX } TtBest;

typedef struct TtLine {
    const char *name;
    const double *x, *y; /* x ascending */
    int64_t n;
    int64_t smooth; /* 0: as it is; else a mean over about this many points on either side is drawn over it */
    TtBest best;    /* point out the smallest or the largest value */
} TtLine;

typedef struct TtChart {
    const char *title, *subtitle; /* may be NULL */
    const char *x_label, *y_label;
    const TtLine *lines;
    int n;
    bool log_y;   /* values that are not positive are gaps */
    bool percent; /* y are fractions, shown as percent */
} TtChart;
TtStatus tt_plot_chart(const TtChart *c, TtPlot *out) TT_NODISCARD;

/* ---- classes */

/* COUNTS (classes,classes): [true][predicted]. Up to 30 classes with names (may be NULL) and counts; more as a heat map.
 * Colour is the share of the true class, so that rare classes show too. */
typedef struct TtConfusion {
    const char *title, *subtitle;
    const int64_t *counts;
    int classes;
    const char *const *names;
} TtConfusion;
TtStatus tt_plot_confusion(const TtConfusion *c, TtPlot *out) TT_NODISCARD;

/* One bar a class, best first; of many classes the best and the worst. */
typedef struct TtBars {
    const char *title, *subtitle, *x_label;
    const char *const *names; /* NULL: numbers */
    const double *values;     /* fractions; NaN is left out */
    const int64_t *counts;    /* samples behind each value, shown beside it; may be NULL */
    int n;
} TtBars;
TtStatus tt_plot_bars(const TtBars *b, TtPlot *out) TT_NODISCARD;

/* ---- pictures */

typedef struct TtTile {
    const uint8_t *rgb; /* (h,w,3) */
    int h, w;
    const char *caption[2]; /* may be NULL */
    bool wrong;             /* the second caption in red: a wrong prediction */
} TtTile;

typedef struct TtGridPlot {
    const char *title, *subtitle;
    const TtTile *tiles;
    int n;             /* of which the first 64 are shown */
    int columns;       /* 0: chosen */
    const char *empty; /* said when there are none; may be NULL */
} TtGridPlot;
TtStatus tt_plot_grid(const TtGridPlot *g, TtPlot *out) TT_NODISCARD;

/* Undo Normalize: OUT (h,w,3) = clip(x * std + mean, 0, 1) as 8 bits, from X (h,w,3). Not finite: black. */
void tt_plot_pixels(const float *x, int h, int w, const float mean[3], const float std[3], uint8_t *out);

#endif
