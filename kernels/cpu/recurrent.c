/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/recurrent.c - the loop over time: h w_hh^T for a tile of samples and a panel of units, then the cell for
 * these, while the tile is in the first cache. */
#include "kernels/cpu/recurrent.h"

/* One call's memory. */
typedef struct Loop {
    TtRec r;
    int64_t units, panels, columns; /* of a panel; panels; columns of a panel */
    const float *gates;
    float *y, *h_last, *c_last, *save;
    float *weights, *bias; /* packed */
    float *state[2], *c;   /* rows of h before and after the step, of c */
    const float *h0, *c0;
} Loop;

/* The row of w_hh that column COL of panel P is made of, or -1 for one that only fills up. */
static int64_t source_row(const Loop *l, int64_t p, int64_t col)
{
    int64_t gates = tt_cell_gates(l->r.cell), vector = col / TT_REC_LANES;
    int64_t unit = p * l->units + vector / gates * TT_REC_LANES + col % TT_REC_LANES;
    return unit < l->r.h ? vector % gates * l->r.h + unit : -1;
}

static void pack(const Loop *l, const float *w, const float *b)
{
#pragma omp parallel for schedule(static) if (l->r.gates * l->r.h > TT_GRAIN)
    for (int64_t p = 0; p < l->panels; p++) {
        float *to = l->weights + p * l->r.h * l->columns;
        for (int64_t col = 0; col < l->columns; col++) {
            int64_t row = source_row(l, p, col);
            l->bias[p * l->columns + col] = b && row >= 0 ? b[row] : 0;
        }
        /* A cache line of each row of w_hh at a time. */
        for (int64_t k0 = 0; k0 < l->r.h; k0 += TT_REC_LANES)
            for (int64_t col = 0; col < l->columns; col++) {
                int64_t row = source_row(l, p, col);
                for (int64_t k = k0; k < TT_MIN(k0 + TT_REC_LANES, l->r.h); k++)
                    to[k * l->columns + col] = row >= 0 ? w[row * l->r.h + k] : 0;
            }
    }
}

/* One sample's 16 units from U on, at its time T: the gates of the input at X and of the state in B (16 floats each),
 * the states before and after. */
typedef struct Place {
    const float *x, *b, *before;
    float *after, *c, *y, *save;
    int64_t h, m; /* M: units that there are */
} Place;

static void cell_rnn(const Place *p, bool relu)
{
    float x[TT_REC_LANES], h[TT_REC_LANES];
    tt_lanes_load(x, p->x, p->m);
    if (relu) {
#pragma omp simd
        for (int l = 0; l < TT_REC_LANES; l++) {
            float v = x[l] + p->b[l];
            h[l] = tt_select(v < 0.0f, 0.0f, v);
        }
    } else {
#pragma omp simd
        for (int l = 0; l < TT_REC_LANES; l++) h[l] = tt_vtanh(x[l] + p->b[l]);
    }
    memcpy(p->after, h, sizeof h);
    tt_lanes_save(p->y, h, p->m);
}

static void cell_gru(const Place *p)
{
    enum { W = TT_REC_LANES };
    float xr[W], xz[W], xn[W], h[W], out[4][W];
    tt_lanes_load(xr, p->x, p->m);
    tt_lanes_load(xz, p->x + p->h, p->m);
    tt_lanes_load(xn, p->x + 2 * p->h, p->m);
    const float *b = p->b, *before = p->before;
#pragma omp simd
    for (int l = 0; l < W; l++) {
        float r = tt_vsigmoid(xr[l] + b[l]), z = tt_vsigmoid(xz[l] + b[W + l]);
        float n = tt_vtanh(tt_mad(r, b[2 * W + l], xn[l]));
        h[l] = tt_mad(z, before[l] - n, n);
        out[0][l] = r, out[1][l] = z, out[2][l] = n, out[3][l] = b[2 * W + l];
    }
    memcpy(p->after, h, sizeof h);
    tt_lanes_save(p->y, h, p->m);
    for (int k = 0; k < 4; k++) tt_lanes_save(p->save + k * p->h, out[k], p->m);
}

static void cell_lstm(const Place *p)
{
    enum { W = TT_REC_LANES };
    float x[4][W], h[W], out[5][W];
    for (int k = 0; k < 4; k++) tt_lanes_load(x[k], p->x + k * p->h, p->m);
    const float *b = p->b;
    float *c = p->c;
#pragma omp simd
    for (int l = 0; l < W; l++) {
        float i = tt_vsigmoid(x[0][l] + b[l]), f = tt_vsigmoid(x[1][l] + b[W + l]);
        float g = tt_vtanh(x[2][l] + b[2 * W + l]), o = tt_vsigmoid(x[3][l] + b[3 * W + l]);
        float v = tt_mad(f, c[l], i * g);
        c[l] = v;
        h[l] = o * tt_vtanh(v);
        out[0][l] = i, out[1][l] = f, out[2][l] = g, out[3][l] = o, out[4][l] = v;
    }
    memcpy(p->after, h, sizeof h);
    tt_lanes_save(p->y, h, p->m);
    for (int k = 0; k < 5; k++) tt_lanes_save(p->save + k * p->h, out[k], p->m);
}

/* The cells of one panel of a sample. */
static void cells(const Loop *l, int64_t n, int64_t s, int64_t panel, const float *b)
{
    const TtRec *r = &l->r;
    int64_t at = n * r->t + tt_rec_time(r, n, s), first = panel * l->units;
    int64_t gates = tt_cell_gates(r->cell), saved = tt_cell_saved(r->cell);
    bool last = s + 1 == tt_rec_length(r, n);
    for (int64_t u = first; u < TT_MIN(first + l->units, r->h); u += TT_REC_LANES) {
        Place p = {.x = l->gates + at * r->gates + u,
                   .b = b + (u - first) * gates,
                   .before = l->state[s & 1] + n * r->row + u,
                   .after = l->state[~s & 1] + n * r->row + u,
                   .c = l->c + n * r->row + u,
                   .y = l->y + at * r->h + u,
                   .save = saved ? l->save + at * saved * r->h + u : NULL,
                   .h = r->h,
                   .m = r->h - u};
        switch (r->cell) {
        case TT_CELL_GRU: cell_gru(&p); break;
        case TT_CELL_LSTM: cell_lstm(&p); break;
        default: cell_rnn(&p, r->cell == TT_CELL_RELU); break;
        }
        if (!last) continue;
        tt_lanes_save(l->h_last + n * r->h + u, p.after, p.m);
        if (r->cell == TT_CELL_LSTM) tt_lanes_save(l->c_last + n * r->h + u, p.c, p.m);
    }
}

/* A sample's state before its first step; what it keeps when it has none; zeros behind its last. */
static void start(const Loop *l, int64_t n)
{
    const TtRec *r = &l->r;
    size_t bytes = (size_t)r->h * sizeof(float);
    int64_t length = tt_rec_length(r, n);
    float *rows[] = {l->state[0], l->state[1], l->c};
    for (int k = 0; k < 3; k++) memset(rows[k] + n * r->row, 0, (size_t)r->row * sizeof(float));
    if (l->h0) memcpy(l->state[0] + n * r->row, l->h0 + n * r->h, bytes);
    if (l->c0) memcpy(l->c + n * r->row, l->c0 + n * r->h, bytes);
    if (length == 0) memcpy(l->h_last + n * r->h, l->state[0] + n * r->row, bytes);
    if (length == 0 && r->cell == TT_CELL_LSTM) memcpy(l->c_last + n * r->h, l->c + n * r->row, bytes);
    if (length < r->t) memset(l->y + (n * r->t + length) * r->h, 0, (size_t)(r->t - length) * bytes);
}

/* Step S of ROWS samples from N on, in panels P to P + PANELS - 1. */
static void step_tile(const Loop *l, int64_t s, int64_t n, int rows, int64_t p, int64_t panels)
{
    const TtRec *r = &l->r;
    float tile[TT_PANEL_ROWS * TT_PANEL_MAX];
    TtPanelArgs q = {.a = l->state[s & 1] + n * r->row,
                     .lda = r->row,
                     .init = l->bias + p * l->columns,
                     .p = l->weights + p * r->h * l->columns,
                     .k = r->h,
                     .columns = (int)l->columns,
                     .c = tile,
                     .ldc = panels * l->columns};
    tt_panel_product(&q, false, rows, panels);
    for (int i = 0; i < rows; i++)
        for (int64_t k = 0; k < panels && s < tt_rec_length(r, n + i); k++)
            cells(l, n + i, s, p + k, tile + i * q.ldc + k * l->columns);
}

static void run(const Loop *l, TtRecShare share)
{
    const TtRec *r = &l->r;
    int64_t steps = tt_rec_longest(r, share.n0, share.n1), split = tt_panel_split(share.n1 - share.n0);
    int64_t together = tt_panels_together(split);
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t p = share.p0; p < share.p1; p += together)
            for (int64_t n = share.n0; n < share.n1; n += split) {
                int rows = (int)TT_MIN(split, share.n1 - n);
                if (s < tt_rec_longest(r, n, n + rows)) step_tile(l, s, n, rows, p, TT_MIN(together, share.p1 - p));
            }
        if (share.wait) {
#pragma omp barrier
        }
    }
}

TtStatus TT_CPU(recurrent)(TtKernelArgs *a)
{
    Loop l = {.r = tt_rec(a, &a->out[TT_REC_Y], &a->in[TT_REC_LENGTHS]),
              .gates = a->in[TT_REC_GATES].data,
              .y = a->out[TT_REC_Y].data,
              .h_last = a->out[TT_REC_H].data,
              .c_last = a->out[TT_REC_C].data,
              .save = a->out[TT_REC_SAVE].data,
              .h0 = a->in[TT_REC_H0].data,
              .c0 = a->in[TT_REC_C0].data};
    TtRec *r = &l.r;
    TT_TRY(tt_rec_check(a, r));
    l.units = tt_rec_units(r->cell), l.columns = tt_rec_vectors(r->cell) * TT_REC_LANES;
    l.panels = tt_rec_panels(r->h, l.units);
    l.weights = a->scratch, l.bias = l.weights + l.panels * l.columns * r->h;
    l.state[0] = l.bias + l.panels * l.columns;
    l.state[1] = l.state[0] + r->n * r->row, l.c = l.state[1] + r->n * r->row;
    if (r->n == 0) return TT_OK;
    pack(&l, a->in[TT_REC_W_HH].data, a->in[TT_REC_B_HH].data);
    bool by_units = tt_rec_by_units(r);
#pragma omp parallel if (r->n * r->t * r->gates > TT_GRAIN)
    {
#pragma omp for schedule(static)
        for (int64_t n = 0; n < r->n; n++) start(&l, n);
        run(&l, tt_rec_share(r, by_units, l.panels));
    }
    return TT_OK;
}
