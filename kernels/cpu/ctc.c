/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/ctc.c - the forward-backward algorithm of ctc_loss, sample by sample on threads, states in vector lanes.
 *
 * Logarithms of probabilities, as float32; after each frame the largest is taken off, in double, so that what matters
 * stays near 0 where float32 is exact enough, however many frames there are. The shares of the states in a frame are
 * divided by their own sum and so need no total. A state's row has two states at each end that hold -inf: the
 * neighbours of the first and the last. */
#include "kernels/ops/ctc.h"

#include <math.h>

#include "kernels/cpu/lanes.h"

enum { EDGE = TT_CTC_EDGE };
#define NEVER (-__builtin_inff())

/* One sample. Rows begin with their edge: state s is at s + EDGE. */
typedef struct Sample {
    const float *x; /* (T,C) */
    int64_t frames, classes, states, row, blank;
    float *alpha;               /* (frames, row) */
    float *skip;                /* 0 where a path may come from two states before, else -inf */
    float *emit, *ahead, *beta; /* the frame's x by state; work of the way back */
    int32_t *label;
} Sample;

static void open(Sample *p, const TtKernelArgs *a, int64_t n)
{
    TtCtcDims d = tt_ctc_dims(a);
    const int64_t *labels = (const int64_t *)a->in[TT_CTC_TARGETS].data + n * d.s;
    float *rows = (float *)a->scratch + n * (d.t + TT_CTC_ROWS) * tt_ctc_row(d.s);
    *p = (Sample){.x = (const float *)a->in[TT_CTC_LOG_PROBS].data + n * d.t * d.c, .classes = d.c};
    p->frames = ((const int64_t *)a->in[TT_CTC_INPUT_LENGTHS].data)[n];
    p->states = 2 * ((const int64_t *)a->in[TT_CTC_TARGET_LENGTHS].data)[n] + 1;
    p->row = tt_ctc_row(d.s);
    p->blank = ((const TtCtcAttrs *)a->attrs)->blank;
    float **const of[] = {&p->skip, &p->emit, &p->ahead, &p->beta};
    for (int i = 0; i < TT_COUNT(of); i++, rows += p->row) *of[i] = rows;
    p->label = (int32_t *)(void *)rows;
    p->alpha = rows + p->row;
    for (int64_t i = 0; i < p->row; i++) p->skip[i] = NEVER;
    for (int64_t s = 0; s < p->states; s++) {
        p->label[s] = (int32_t)(s % 2 ? labels[s / 2] : p->blank);
        if (s % 2 && s > 1 && labels[s / 2] != labels[s / 2 - 1]) p->skip[s + EDGE] = 0;
    }
}

/* log(exp a + exp b + exp c) */
static inline float log_sum(float a, float b, float c)
{
    float top = tt_select(b > a, b, a);
    top = tt_select(c > top, c, top);
    top = tt_select(top == NEVER, 0.0f, top);
    return top + tt_vlog(tt_vexp(a - top) + tt_vexp(b - top) + tt_vexp(c - top));
}

static void load_frame(const Sample *p, int64_t t)
{
    const float *x = p->x + t * p->classes;
    for (int64_t s = 0; s < p->states; s++) p->emit[s + EDGE] = x[p->label[s]];
}

static void clear_edges(const Sample *p, float *row)
{
    row[0] = row[1] = row[p->states + EDGE] = row[p->states + EDGE + 1] = NEVER;
}

/* Take the largest off and return it; -inf when no path is left, NaN when there is one. */
static double take_top(const Sample *p, float *row)
{
    float top = tt_lanes_max(row + EDGE, p->states);
    if (isfinite(top))
        for (int64_t s = EDGE; s < p->states + EDGE; s++) row[s] -= top;
    return (double)top;
}

/* All alphas; returns log p(target). */
static double forward(const Sample *p)
{
    double total = 0;
    if (p->frames == 0) return p->states == 1 ? 0 : (double)NEVER;
    for (int64_t t = 0; t < p->frames; t++) {
        float *to = p->alpha + t * p->row;
        const float *from = to - p->row, *skip = p->skip, *emit = p->emit;
        load_frame(p, t);
        clear_edges(p, to);
        if (t == 0) {
            for (int64_t s = 0; s < p->states; s++) to[s + EDGE] = s < 2 ? emit[s + EDGE] : NEVER;
        } else {
#pragma omp simd
            for (int64_t s = EDGE; s < p->states + EDGE; s++)
                to[s] = log_sum(from[s], from[s - 1], from[s - 2] + skip[s]) + emit[s];
        }
        double top = take_top(p, to);
        if (!isfinite(top)) return top;
        total += top;
    }
    const float *last = p->alpha + (p->frames - 1) * p->row + p->states + EDGE - 2;
    double a = (double)last[0], b = (double)last[1], top = fmax(a, b); /* the last label, the last blank */
    if (isnan(a) || isnan(b) || top == (double)NEVER) return a + b;
    return total + top + log(exp(a - top) + exp(b - top));
}

/* beta of frame T, which does not count the frame's own x, from the next frame's. */
static void step_back(const Sample *p, int64_t t)
{
    float *beta = p->beta, *ahead = p->ahead;
    const float *skip = p->skip, *emit = p->emit;
    if (t == p->frames - 1) {
        for (int64_t s = 0; s < p->states; s++) beta[s + EDGE] = s >= p->states - 2 ? 0 : NEVER;
        return;
    }
    load_frame(p, t + 1);
    clear_edges(p, ahead);
#pragma omp simd
    for (int64_t s = EDGE; s < p->states + EDGE; s++) ahead[s] = beta[s] + emit[s];
#pragma omp simd
    for (int64_t s = EDGE; s < p->states + EDGE; s++)
        beta[s] = log_sum(ahead[s], ahead[s + 1], ahead[s + 2] + skip[s + 2]);
    take_top(p, beta);
}

/* dx = factor * (exp x - share of each class in the frame). */
static void gradient(const Sample *p, float factor, float *dx)
{
    for (int64_t t = p->frames - 1; t >= 0; t--) {
        const float *alpha = p->alpha + t * p->row + EDGE, *x = p->x + t * p->classes;
        float *to = dx + t * p->classes, *share = p->ahead + EDGE;
        step_back(p, t);
#pragma omp simd
        for (int64_t s = 0; s < p->states; s++) share[s] = alpha[s] + p->beta[s + EDGE];
        double sum = tt_lanes_sum_exp(share, tt_lanes_max(share, p->states), share, p->states), blank = 0;
        float part = (float)((double)factor / sum);
#pragma omp simd
        for (int64_t c = 0; c < p->classes; c++) to[c] = factor * tt_vexp(x[c]);
        for (int64_t s = 0; s < p->states; s += 2) blank += (double)share[s];
        to[p->blank] -= (float)((double)factor * (blank / sum));
        for (int64_t s = 1; s < p->states; s += 2) to[p->label[s]] -= part * share[s];
    }
}

static void sample(TtKernelArgs *a, int64_t n)
{
    Sample p;
    TtCtcDims d = tt_ctc_dims(a);
    float *dx = (float *)a->out[TT_CTC_GRADIENT].data + n * d.t * d.c, *loss = (float *)a->out[TT_CTC_SAMPLES].data + n;
    open(&p, a, n);
    double labels = (double)TT_MAX(p.states / 2, (int64_t)1), l = -forward(&p) / labels;
    bool hopeless = isinf(l) && l > 0, zero = hopeless && ((const TtCtcAttrs *)a->attrs)->zero_infinity;
    *loss = zero ? 0.0f : (float)l;
    memset(dx, 0, sizeof *dx * (size_t)(d.t * d.c));
    if (zero) return;
    if (isfinite(l)) {
        gradient(&p, (float)(1 / labels), dx);
    } else {
        for (int64_t i = 0; i < p.frames * p.classes; i++) dx[i] = NAN;
    }
}

TtStatus TT_CPU(ctc_loss)(TtKernelArgs *a)
{
    if (a->in[TT_CTC_LOG_PROBS].dtype != TT_F32)
        return TT_FAIL(TT_EINTERNAL, "ctc_loss has no CPU kernel for %s", tt_dtype_name(a->in[TT_CTC_LOG_PROBS].dtype));
    TT_TRY(tt_ctc_check(a));
    int64_t count = a->in[TT_CTC_LOG_PROBS].shape.dims[0];
#pragma omp parallel for schedule(dynamic, 1) if (count > 1)
    for (int64_t n = 0; n < count; n++) sample(a, n);
    double total = 0;
    for (int64_t n = 0; n < count; n++) total += (double)((const float *)a->out[TT_CTC_SAMPLES].data)[n];
    *(float *)a->out[TT_CTC_LOSS].data = (float)(total * (double)*(const float *)a->in[TT_CTC_SCALE].data);
    return TT_OK;
}
