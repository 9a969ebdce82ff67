/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/wavernn_loop.c - WaveRNN's samples, one after the other.
 *
 * Threads divide the voices when the weights fit their own caches, else the units of every layer; then they meet after
 * each layer at a barrier that spins, since a layer takes microseconds. Every sum has one order: neither the number of
 * threads nor the voices beside it change a voice's samples. */
#include "kernels/ops/wavernn_loop.h"

#include <sched.h>
#include <string.h>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/panel.h"
#include "tensor/vmath.h"

enum { LANES = 16, GATES = 3 };

/* Voices V0..V1-1 and the I-th of ALL parts of each layer's panels. */
typedef struct Share {
    int v0, v1, i, all;
} Share;

static void meet(TtWaveRnnLoop *l, const Share *s)
{
    if (s->all == 1) return;
    unsigned round = atomic_load_explicit(&l->round, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&l->arrived, 1, memory_order_acq_rel) == s->all - 1) {
        atomic_store_explicit(&l->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&l->round, round + 1, memory_order_release);
        return;
    }
    for (int spins = 0; atomic_load_explicit(&l->round, memory_order_acquire) == round; spins++) {
#ifdef TT_X86
        __builtin_ia32_pause();
#endif
        if (spins > 4000) sched_yield(); /* a core that is not ours alone */
    }
}

/* ---- rows of the stretched projection */

/* out = a w[0] + b w[1] + c w[2] */
static void combine(const float *restrict a, const float *restrict b, const float *restrict c, const float *w,
                    int64_t n, float *restrict out)
{
    const float w0 = w[0], w1 = w[1], w2 = w[2];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = tt_mad(c[i], w2, tt_mad(b[i], w1, a[i] * w0));
}

/* Row I of the signal behind LEVEL stretches; zeros beyond its ends. Every row is needed three times at most, one
 * shortly after the other, so the last few are kept. */
static const float *row_at(const TtWaveRnnLoop *l, TtWaveRnnVoice *v, int level, int64_t i)
{
    int64_t channels = 4 * l->rnn, length = v->frames;
    for (int k = 0; k < level; k++) length *= l->level[k].scale;
    if (i < 0 || i >= length) return l->zeros;
    if (level == 0) return v->spec + i * channels;
    int slot = (int)(i % TT_WAVERNN_RING);
    float *row = v->rows + ((level - 1) * TT_WAVERNN_RING + slot) * channels;
    int64_t *have = &v->have[level - 1][slot];
    if (*have == i) return row;
    const TtWaveRnnLevel *s = &l->level[level - 1];
    int64_t from = i / s->scale;
    const float *a = row_at(l, v, level - 1, from - 1), *b = row_at(l, v, level - 1, from);
    const float *c = row_at(l, v, level - 1, from + 1);
    combine(a, b, c, s->w + i % s->scale * 3, channels, row);
    *have = i;
    return row;
}

/* ---- layers */

/* h' = (1 - z) n + z h for 16 units: A, B the gates of input and state, 16 floats of each gate. */
static inline void gru(const float a[GATES][LANES], const float *b, const float *before, float *restrict after)
{
#pragma omp simd
    for (int i = 0; i < LANES; i++) {
        float r = tt_vsigmoid(a[0][i] + b[i]), z = tt_vsigmoid(a[1][i] + b[LANES + i]);
        float n = tt_vtanh(tt_mad(r, b[2 * LANES + i], a[2][i]));
        after[i] = tt_mad(z, before[i] - n, n);
    }
}

/* Products of panels P.. of matrix WHICH with rows A of voices N..; columns of consecutive panels lie behind each other. */
static void product(const TtWaveRnnLoop *l, int which, int64_t p, int64_t panels, const float *a, int64_t lda, int rows,
                    float *c)
{
    const TtWaveRnnMatrix *m = &l->m[which];
    TtPanelArgs q = {.a = a,
                     .lda = lda,
                     .init = m->bias + p * m->columns,
                     .p = (const char *)m->panels + p * m->k * m->columns * (l->bf16 ? 2 : 4),
                     .k = m->k,
                     .columns = m->columns,
                     .c = c,
                     .ldc = panels * m->columns};
    if (l->bf16)
        tt_panel_product(&q, true, rows, panels);
    else
        tt_panel_product(&q, false, rows, panels);
}

/* A tile: sample number T of ROWS voices from N on, panels P to P + PANELS - 1. */
typedef struct Tile {
    int64_t t, p, panels;
    int n, rows;
} Tile;
typedef void (*Layer)(const TtWaveRnnLoop *l, const Tile *t);

static void layer_gru1(const TtWaveRnnLoop *l, const Tile *t)
{
    float b[TT_PANEL_ROWS * TT_PANEL_MAX], g[4][LANES], row[LANES], w[LANES];
    const float *before = l->h1[t->t & 1] + t->n * l->rnn_row;
    float *after = l->h1[~t->t & 1] + t->n * l->rnn_row, *x1 = l->x1 + t->n * l->rnn_row;
    product(l, TT_WR_HH1, t->p, t->panels, before, l->rnn_row, t->rows, b);
    for (int i = 0; i < t->rows; i++) {
        TtWaveRnnVoice *v = &l->voice[t->n + i];
        const float *up = row_at(l, v, l->levels, v->first + t->t), *aux = v->aux1 + t->t / l->hop * 4 * l->rnn;
        const float x = v->x;
        for (int64_t k = 0, u = t->p * LANES; k < t->panels; k++, u += LANES) {
            int64_t m = l->rnn - u, at = i * l->rnn_row + u;
            for (int q = 0; q < 4; q++) {
                tt_lanes_load(g[q], up + q * l->rnn + u, m);
                tt_lanes_load(row, aux + q * l->rnn + u, m);
                tt_lanes_load(w, l->wx + q * l->rnn + u, m);
#pragma omp simd
                for (int j = 0; j < LANES; j++) g[q][j] = tt_mad(x, w[j], g[q][j] + row[j]);
            }
            gru(g, b + (i * t->panels + k) * GATES * LANES, before + at, after + at);
#pragma omp simd
            for (int j = 0; j < LANES; j++) x1[at + j] = after[at + j] + g[3][j];
        }
    }
}

static void layer_gru2(const TtWaveRnnLoop *l, const Tile *t)
{
    float a[TT_PANEL_ROWS * TT_PANEL_MAX], b[TT_PANEL_ROWS * TT_PANEL_MAX], g[GATES][LANES];
    const float *before = l->h2[t->t & 1] + t->n * l->rnn_row, *x1 = l->x1 + t->n * l->rnn_row;
    float *after = l->h2[~t->t & 1] + t->n * l->rnn_row, *x2 = l->x2 + t->n * l->rnn_row;
    product(l, TT_WR_IH2, t->p, t->panels, x1, l->rnn_row, t->rows, a);
    product(l, TT_WR_HH2, t->p, t->panels, before, l->rnn_row, t->rows, b);
    for (int i = 0; i < t->rows; i++) {
        const float *aux = l->voice[t->n + i].aux2 + t->t / l->hop * GATES * l->rnn;
        for (int64_t k = 0, u = t->p * LANES; k < t->panels; k++, u += LANES) {
            int64_t at = i * l->rnn_row + u, from = (i * t->panels + k) * GATES * LANES;
            for (int q = 0; q < GATES; q++) {
                tt_lanes_load(g[q], aux + q * l->rnn + u, l->rnn - u);
#pragma omp simd
                for (int j = 0; j < LANES; j++) g[q][j] += a[from + q * LANES + j];
            }
            gru(g, b + from, before + at, after + at);
#pragma omp simd
            for (int j = 0; j < LANES; j++) x2[at + j] = after[at + j] + x1[at + j];
        }
    }
}

/* relu(w x + aux) */
static void linear_relu(const TtWaveRnnLoop *l, const Tile *t, int which, const float *x, int64_t x_row, bool third,
                        float *y)
{
    float c[TT_PANEL_ROWS * TT_PANEL_MAX], aux[LANES];
    product(l, which, t->p, t->panels, x + t->n * x_row, x_row, t->rows, c);
    int64_t columns = t->panels * TT_PANEL_MAX, first = t->p * TT_PANEL_MAX;
    for (int i = 0; i < t->rows; i++) {
        const TtWaveRnnVoice *v = &l->voice[t->n + i];
        const float *from = (third ? v->aux3 : v->aux4) + t->t / l->hop * l->fc;
        float *to = y + (t->n + i) * l->fc_row + first;
        for (int64_t u = 0; u < columns && first + u < l->fc; u += LANES) {
            tt_lanes_load(aux, from + first + u, l->fc - first - u);
#pragma omp simd
            for (int j = 0; j < LANES; j++) {
                float s = c[i * columns + u + j] + aux[j];
                to[u + j] = tt_select(s < 0.0f, 0.0f, s);
            }
        }
    }
}

static void layer_fc1(const TtWaveRnnLoop *l, const Tile *t)
{
    linear_relu(l, t, TT_WR_FC1, l->x2, l->rnn_row, true, l->f1);
}

static void layer_fc2(const TtWaveRnnLoop *l, const Tile *t)
{
    linear_relu(l, t, TT_WR_FC2, l->f1, l->fc_row, false, l->f2);
}

static void layer_fc3(const TtWaveRnnLoop *l, const Tile *t)
{
    float c[TT_PANEL_ROWS * TT_PANEL_MAX];
    product(l, TT_WR_FC3, t->p, t->panels, l->f2 + t->n * l->fc_row, l->fc_row, t->rows, c);
    size_t columns = (size_t)t->panels * TT_PANEL_MAX;
    for (int i = 0; i < t->rows; i++)
        memcpy(l->logits + (t->n + i) * l->class_row + t->p * TT_PANEL_MAX, c + (size_t)i * columns,
               columns * sizeof *c);
}

/* A share of a layer for voices V0..V1-1. */
static inline void run_layer(const TtWaveRnnLoop *l, const Share *s, int v1, int which, Layer layer, int64_t t)
{
    int64_t n = l->m[which].n_panels, p0 = n * s->i / s->all, p1 = n * (s->i + 1) / s->all;
    int64_t split = tt_panel_split(v1 - s->v0), together = tt_panels_together(split);
    for (int64_t p = p0; p < p1; p += together)
        for (int64_t v = s->v0; v < v1; v += split)
            layer(l, &(Tile){t, p, TT_MIN(together, p1 - p), (int)v, (int)TT_MIN(split, v1 - v)});
}

/* ---- the draw */

/* The first class whose share of the probability, added up, exceeds a uniform number. NaN draws the last class. */
static void draw(const TtWaveRnnLoop *l, int voice, int64_t t)
{
    TtWaveRnnVoice *v = &l->voice[voice];
    float *e = l->logits + voice * l->class_row; /* whole lanes; replaced by exponentials */
    double total = tt_lanes_sum_exp(e, tt_lanes_max(e, l->classes), e, l->classes);
    double rest = tt_rng_double(&v->rng) * total;
    int64_t c = 0;
    for (; c + LANES < l->classes; c += LANES) {
        double sum = tt_lanes_sum(e + c, LANES);
        if (rest < sum) break;
        rest -= sum;
    }
    for (; c + 1 < l->classes && !(rest < (double)e[c]); c++) rest -= (double)e[c];
    v->classes[t] = (int32_t)c;
    v->x = (float)(2.0 * (double)c / (double)(l->classes - 1) - 1.0);
}

void TT_CPU(wavernn_loop)(TtWaveRnnLoop *l, int thread);

void TT_CPU(wavernn_loop)(TtWaveRnnLoop *l, int thread)
{
    Share s = {0, l->voices, thread, l->threads};
    if (l->by_voices) s = (Share){l->voices * thread / l->threads, l->voices * (thread + 1) / l->threads, 0, 1};
    if (s.v0 == s.v1) return;
    int v1 = s.v1;
    for (int v = s.v0; v < v1; v++)
        if (v % s.all == s.i) row_at(l, &l->voice[v], l->levels, l->voice[v].first);
    for (int64_t t = 0; t < l->voice[s.v0].samples; t++) {
        while (l->voice[v1 - 1].samples <= t) v1--;
        meet(l, &s);
        run_layer(l, &s, v1, TT_WR_HH1, layer_gru1, t);
        meet(l, &s);
        run_layer(l, &s, v1, TT_WR_HH2, layer_gru2, t);
        meet(l, &s);
        run_layer(l, &s, v1, TT_WR_FC1, layer_fc1, t);
        meet(l, &s);
        run_layer(l, &s, v1, TT_WR_FC2, layer_fc2, t);
        meet(l, &s);
        run_layer(l, &s, v1, TT_WR_FC3, layer_fc3, t);
        meet(l, &s);
        for (int v = s.v0; v < v1; v++) {
            if (v % s.all == s.i) draw(l, v, t);
            if ((v + 1) % s.all == s.i) row_at(l, &l->voice[v], l->levels, l->voice[v].first + t + 1);
        }
    }
}
