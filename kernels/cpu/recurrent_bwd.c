/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/recurrent_bwd.c - the loop over time backwards: the cells' gradients of every unit of a sample, then
 * dh += dgates w_hh for panels of units. */
#include "kernels/cpu/recurrent.h"

typedef struct Loop {
    TtRec r;
    int64_t panels, gates_row; /* from one sample's gates to the next in scratch */
    const float *y, *save, *h0, *c0, *dy, *dh_last, *dc_last;
    float *dgates, *dgates_h, *dh0, *dc0, *h_prev;
    float *weights;          /* packed */
    float *dh, *dc, *at_now; /* rows: gradients of the state, of the cell, of this step's gates */
} Loop;

enum { COLUMNS = TT_REC_VECTORS * TT_REC_LANES };

static void pack(const Loop *l, const float *w)
{
    int64_t h = l->r.h, k = l->r.gates;
#pragma omp parallel for schedule(static) if (k * h > TT_GRAIN)
    for (int64_t p = 0; p < l->panels; p++)
        for (int64_t i = 0; i < k; i++) {
            float *to = l->weights + (p * k + i) * COLUMNS;
            int64_t m = TT_MIN((int64_t)COLUMNS, h - p * COLUMNS);
            memcpy(to, w + i * h + p * COLUMNS, (size_t)m * sizeof *to);
            memset(to + m, 0, (size_t)(COLUMNS - m) * sizeof *to);
        }
}

/* One sample's 16 units. Gradients of the gates go to NOW, the row that is multiplied, and to DGATES. */
typedef struct Place {
    const float *y, *save, *before, *c_before;
    float *dh, *dc, *now, *dgates, *dgates_h;
    int64_t h, m;
} Place;

static void put(const Place *p, int gate, const float *v)
{
    tt_lanes_save(p->now + gate * p->h, v, p->m);
    tt_lanes_save(p->dgates + gate * p->h, v, p->m);
}

/* DH comes with dy added, and leaves with what does not pass through w_hh. */
static void cell_rnn(const Place *p, float *dh, bool relu)
{
    float y[TT_REC_LANES], d[TT_REC_LANES];
    tt_lanes_load(y, p->y, p->m);
#pragma omp simd
    for (int l = 0; l < TT_REC_LANES; l++) {
        d[l] = relu ? tt_select(y[l] > 0.0f, dh[l], 0.0f) : dh[l] * (1.0f - y[l] * y[l]);
        dh[l] = 0;
    }
    put(p, 0, d);
}

static void cell_gru(const Place *p, float *dh)
{
    enum { W = TT_REC_LANES };
    float s[4][W], before[W], d[4][W];
    for (int k = 0; k < 4; k++) tt_lanes_load(s[k], p->save + k * p->h, p->m);
    tt_lanes_load(before, p->before, p->before ? p->m : 0);
#pragma omp simd
    for (int l = 0; l < W; l++) {
        float r = s[0][l], z = s[1][l], n = s[2][l];
        float dn = dh[l] * (1.0f - z) * (1.0f - n * n);
        d[0][l] = dn * s[3][l] * r * (1.0f - r);
        d[1][l] = dh[l] * (before[l] - n) * z * (1.0f - z);
        d[2][l] = dn;
        d[3][l] = dn * r;
        dh[l] *= z;
    }
    for (int k = 0; k < 3; k++) {
        const float *through = d[k == 2 ? 3 : k];
        tt_lanes_save(p->dgates + k * p->h, d[k], p->m);
        tt_lanes_save(p->dgates_h + k * p->h, through, p->m);
        tt_lanes_save(p->now + k * p->h, through, p->m);
    }
}

static void cell_lstm(const Place *p, float *dh)
{
    enum { W = TT_REC_LANES };
    float s[5][W], before[W], d[4][W];
    for (int k = 0; k < 5; k++) tt_lanes_load(s[k], p->save + k * p->h, p->m);
    tt_lanes_load(before, p->c_before, p->c_before ? p->m : 0);
    float *dc = p->dc;
#pragma omp simd
    for (int l = 0; l < W; l++) {
        float i = s[0][l], f = s[1][l], g = s[2][l], o = s[3][l], t = tt_vtanh(s[4][l]);
        float v = tt_mad(dh[l] * o, 1.0f - t * t, dc[l]);
        d[0][l] = v * g * i * (1.0f - i);
        d[1][l] = v * before[l] * f * (1.0f - f);
        d[2][l] = v * i * (1.0f - g * g);
        d[3][l] = dh[l] * t * o * (1.0f - o);
        dc[l] = v * f;
        dh[l] = 0;
    }
    for (int k = 0; k < 4; k++) put(p, k, d[k]);
}

/* Step S of sample N for units U0..U1-1. */
static void cells(const Loop *l, int64_t n, int64_t s, int64_t u0, int64_t u1)
{
    const TtRec *r = &l->r;
    int64_t at = n * r->t + tt_rec_time(r, n, s), before = at + (r->reverse ? 1 : -1), saved = tt_cell_saved(r->cell);
    const float *h_before = s ? l->y + before * r->h : l->h0 ? l->h0 + n * r->h : NULL;
    const float *c_before = l->c0 ? l->c0 + n * r->h : NULL;
    if (s && r->cell == TT_CELL_LSTM) c_before = l->save + (before * saved + 4) * r->h;
    for (int64_t u = u0; u < u1; u += TT_REC_LANES) {
        Place p = {.y = l->y + at * r->h + u,
                   .save = saved ? l->save + at * saved * r->h + u : NULL,
                   .before = h_before ? h_before + u : NULL,
                   .c_before = c_before ? c_before + u : NULL,
                   .dh = l->dh + n * r->row + u,
                   .dc = l->dc + n * r->row + u,
                   .now = l->at_now + n * l->gates_row + u,
                   .dgates = l->dgates + at * r->gates + u,
                   .dgates_h = r->cell == TT_CELL_GRU ? l->dgates_h + at * r->gates + u : NULL,
                   .h = r->h,
                   .m = u1 - u};
        float dh[TT_REC_LANES] = {0}, carried[TT_REC_LANES];
        if (l->dy) tt_lanes_load(dh, l->dy + at * r->h + u, p.m);
        memcpy(carried, p.dh, sizeof carried);
#pragma omp simd
        for (int k = 0; k < TT_REC_LANES; k++) dh[k] += carried[k];
        switch (r->cell) {
        case TT_CELL_GRU: cell_gru(&p, dh); break;
        case TT_CELL_LSTM: cell_lstm(&p, dh); break;
        default: cell_rnn(&p, dh, r->cell == TT_CELL_RELU); break;
        }
        memcpy(p.dh, dh, sizeof dh);
        float *to = l->h_prev + at * r->h + u;
        size_t bytes = (size_t)TT_MIN(p.m, (int64_t)TT_REC_LANES) * sizeof *to;
        if (p.before)
            memcpy(to, p.before, bytes);
        else
            memset(to, 0, bytes);
    }
}

/* The gradients that come from the final state; zeros behind a sample's last step. */
static void start(const Loop *l, int64_t n)
{
    const TtRec *r = &l->r;
    size_t bytes = (size_t)r->h * sizeof(float);
    int64_t end = n * r->t + tt_rec_length(r, n), left = r->t - tt_rec_length(r, n);
    memset(l->dh + n * r->row, 0, (size_t)r->row * sizeof(float));
    memset(l->dc + n * r->row, 0, (size_t)r->row * sizeof(float));
    memset(l->at_now + n * l->gates_row, 0, (size_t)l->gates_row * sizeof(float));
    if (l->dh_last) memcpy(l->dh + n * r->row, l->dh_last + n * r->h, bytes);
    if (l->dc_last) memcpy(l->dc + n * r->row, l->dc_last + n * r->h, bytes);
    if (left == 0) return;
    memset(l->dgates + end * r->gates, 0, (size_t)(left * r->gates) * sizeof(float));
    if (r->cell == TT_CELL_GRU) memset(l->dgates_h + end * r->gates, 0, (size_t)(left * r->gates) * sizeof(float));
    memset(l->h_prev + end * r->h, 0, (size_t)left * bytes);
}

/* dh += dgates w_hh of ROWS samples from N on, in panels P to P + PANELS - 1. */
static void step_tile(const Loop *l, int64_t s, int64_t n, int rows, int64_t p, int64_t panels)
{
    const TtRec *r = &l->r;
    float tile[TT_PANEL_ROWS * COLUMNS], *dh = l->dh + n * r->row + p * COLUMNS;
    TtPanelArgs q = {.a = l->at_now + n * l->gates_row,
                     .lda = l->gates_row,
                     .init = dh,
                     .ldi = r->row,
                     .p = l->weights + p * r->gates * COLUMNS,
                     .k = r->gates,
                     .columns = COLUMNS,
                     .c = tile,
                     .ldc = panels * COLUMNS};
    tt_panel_product(&q, false, rows, panels);
    for (int i = 0; i < rows; i++)
        if (s < tt_rec_length(r, n + i)) memcpy(dh + i * r->row, tile + i * q.ldc, (size_t)q.ldc * sizeof *dh);
}

/* A share's units are whole panels, so that all but dgates w_hh is its own. */
static void run(const Loop *l, TtRecShare share)
{
    const TtRec *r = &l->r;
    int64_t u0 = share.p0 * COLUMNS, u1 = TT_MIN(share.p1 * COLUMNS, r->h), split = tt_panel_split(share.n1 - share.n0);
    int64_t together = tt_panels_together(split);
    for (int64_t s = tt_rec_longest(r, share.n0, share.n1) - 1; s >= 0; s--) {
        for (int64_t n = share.n0; n < share.n1; n++)
            if (s < tt_rec_length(r, n)) cells(l, n, s, u0, u1);
        if (share.wait) {
#pragma omp barrier
        }
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

TtStatus TT_CPU(recurrent_bwd)(TtKernelArgs *a)
{
    Loop l = {.r = tt_rec(a, &a->in[TT_REC_BWD_Y], &a->in[TT_REC_BWD_LENGTHS]),
              .y = a->in[TT_REC_BWD_Y].data,
              .save = a->in[TT_REC_BWD_SAVE].data,
              .h0 = a->in[TT_REC_BWD_H0].data,
              .c0 = a->in[TT_REC_BWD_C0].data,
              .dy = a->in[TT_REC_BWD_DY].data,
              .dh_last = a->in[TT_REC_BWD_DH].data,
              .dc_last = a->in[TT_REC_BWD_DC].data,
              .dgates = a->out[TT_REC_BWD_DGATES].data,
              .dgates_h = a->out[TT_REC_BWD_DGATES_H].data,
              .dh0 = a->out[TT_REC_BWD_DH0].data,
              .dc0 = a->out[TT_REC_BWD_DC0].data,
              .h_prev = a->out[TT_REC_BWD_H_PREV].data};
    TtRec *r = &l.r;
    TT_TRY(tt_rec_check(a, r));
    l.panels = tt_rec_panels(r->h, COLUMNS), l.gates_row = tt_rec_row(r->gates);
    l.weights = a->scratch, l.dh = l.weights + l.panels * COLUMNS * r->gates;
    l.dc = l.dh + r->n * r->row, l.at_now = l.dc + r->n * r->row;
    if (r->n == 0) return TT_OK;
    pack(&l, a->in[TT_REC_BWD_W_HH].data);
    bool by_units = tt_rec_by_units(r);
#pragma omp parallel if (r->n * r->t * r->gates > TT_GRAIN)
    {
#pragma omp for schedule(static)
        for (int64_t n = 0; n < r->n; n++) start(&l, n);
        run(&l, tt_rec_share(r, by_units, l.panels));
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t n = 0; n < r->n; n++) {
            memcpy(l.dh0 + n * r->h, l.dh + n * r->row, (size_t)r->h * sizeof(float));
            if (r->cell == TT_CELL_LSTM) memcpy(l.dc0 + n * r->h, l.dc + n * r->row, (size_t)r->h * sizeof(float));
        }
    }
    return TT_OK;
}
