/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/reduce.c - reduce, argreduce and cumsum.
 *
 * A reduction is up to three stages (tt_reduce_plan), each over (outer, reduced, inner): along runs of neighbours when
 * inner is 1, in 16 lanes; otherwise down the rows, a tile of columns at a time. Chunks are of fixed size and their
 * results are combined in order, in double. var and logsumexp take two passes: the centre (mean, maximum), then the
 * squared distances or exponentials from it. */
#include "kernels/ops/reduce.h"

#include <math.h>

#include "kernels/cpu/block.h"

enum { LANES = 16, TILE = 1024 };

/* What is accumulated; C is the centre. */
typedef enum Fold { SUM, SQUARES, EXPS, MAX, MIN } Fold;
static const float identity[] = {[SUM] = 0, [SQUARES] = 0, [EXPS] = 0, [MAX] = -INFINITY, [MIN] = INFINITY};

#define FOLD(name, step)                                                                    \
    /* n neighbours into the lanes */                                                       \
    static void name##_run(float *restrict acc, const float *x, float c, int64_t n)         \
    {                                                                                       \
        int64_t i = 0;                                                                      \
        for (; i + LANES <= n; i += LANES) {                                                \
            _Pragma("omp simd") for (int l = 0; l < LANES; l++)                             \
            {                                                                               \
                const float a = acc[l], v = x[i + l];                                       \
                acc[l] = (step);                                                            \
            }                                                                               \
        }                                                                                   \
        for (int l = 0; i + l < n; l++) {                                                   \
            const float a = acc[l], v = x[i + l];                                           \
            acc[l] = (step);                                                                \
        }                                                                                   \
    }                                                                                       \
    /* one row into the columns */                                                          \
    static void name##_row(float *restrict acc, const float *x, const float *cs, int64_t n) \
    {                                                                                       \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++)                                 \
        {                                                                                   \
            const float a = acc[i], v = x[i], c = cs[i];                                    \
            (void)c;                                                                        \
            acc[i] = (step);                                                                \
        }                                                                                   \
    }
FOLD(sum, a + v)
FOLD(squares, a + (v - c) * (v - c))
FOLD(exps, a + tt_vexp(v - c))
FOLD(max, tt_select((v > a) | (v != v), v, a)) /* NaN, once in, stays: nothing compares with it */
FOLD(min, tt_select((v < a) | (v != v), v, a))

static void (*const run_fold[])(float *restrict, const float *, float, int64_t) = {sum_run, squares_run, exps_run,
                                                                                   max_run, min_run};
static void (*const row_fold[])(float *restrict, const float *, const float *, int64_t) = {sum_row, squares_row,
                                                                                           exps_row, max_row, min_row};

/* N floats of a tensor from element AT: in place, or converted into BUF. */
static const float *floats(const TtTensor *x, int64_t at, int64_t n, float *buf)
{
    if (x->dtype == TT_F32) return (const float *)x->data + at;
    tt_load_floats(x, at, 1, n, buf);
    return buf;
}

static double merge(Fold f, double a, double b)
{
    if (f == MAX) return b > a || b != b ? b : a;
    if (f == MIN) return b < a || b != b ? b : a;
    return a + b;
}

static float chunk_of_run(const TtTensor *x, Fold f, int64_t at, int64_t n, float centre)
{
    float lane[LANES], buf[TILE];
    for (int l = 0; l < LANES; l++) lane[l] = identity[f];
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t part = TT_MIN(n - i, (int64_t)TILE);
        run_fold[f](lane, floats(x, at + i, part, buf), centre, part);
    }
    double total = lane[0];
    for (int l = 1; l < LANES; l++) total = merge(f, total, lane[l]);
    return (float)total;
}

/* Where the centres of the outputs under row OUTER of a first stage begin: the kept part of its index. */
static int64_t centre_at(const TtReducePlan *p, int64_t inner, int64_t outer)
{
    int last = p->groups - 1;
    while (last >= 0 && !p->reduced[last]) last--;
    if (last < 0) return outer; /* nothing is reduced */
    int64_t at = 0, step = inner;
    for (int k = last - 1; k >= 0; k--) {
        if (!p->reduced[k]) {
            at += outer % p->dims[k] * step;
            step *= p->dims[k];
        }
        outer /= p->dims[k];
    }
    return at;
}

/* Partial results of all chunks into OUT (outer, chunks, inner). */
static void fold_chunks(const TtReduceStage *s, const TtTensor *x, Fold f, const TtReducePlan *p, const float *centres,
                        float *out)
{
    int64_t tile = TT_MIN(s->inner, (int64_t)TILE), tiles = s->inner == 0 ? 0 : (s->inner + tile - 1) / tile;
    int64_t tasks = s->outer * s->chunks * tiles;
#pragma omp parallel for schedule(static) if (s->outer * s->reduced * s->inner > TT_GRAIN)
    for (int64_t task = 0; task < tasks; task++) {
        int64_t o = task / tiles / s->chunks, first = task / tiles % s->chunks * s->chunk, col = task % tiles * tile;
        int64_t rows = TT_MIN(s->chunk, s->reduced - first), width = TT_MIN(tile, s->inner - col);
        int64_t from = (o * s->reduced + first) * s->inner + col, to = task / tiles * s->inner + col;
        const float *centre = centres ? centres + centre_at(p, s->inner, o) + col : NULL;
        if (s->inner == 1) {
            out[to] = chunk_of_run(x, f, from, rows, centre ? *centre : 0);
            continue;
        }
        float buf[TILE];
        for (int64_t i = 0; i < width; i++) out[to + i] = identity[f];
        for (int64_t r = 0; r < rows; r++) {
            const float *v = floats(x, from + r * s->inner, width, buf);
            row_fold[f](out + to, v, centre ? centre : v, width);
        }
    }
}

static void merge_chunks(const TtReduceStage *s, Fold f, const float *part, float *out)
{
#pragma omp parallel for schedule(static) if (s->outer * s->inner * s->chunks > TT_GRAIN)
    for (int64_t i = 0; i < s->outer * s->inner; i++) {
        const float *v = part + i / s->inner * s->chunks * s->inner + i % s->inner;
        double total = v[0];
        for (int64_t c = 1; c < s->chunks; c++) total = merge(f, total, v[c * s->inner]);
        out[i] = (float)total;
    }
}

/* One pass over x: OUT gets a float for each output. */
static void pass(const TtReducePlan *p, const TtTensor *x, Fold f, const float *centres, float *scratch, float *out)
{
    float *partial = scratch, *temporary = scratch + p->partials;
    TtTensor from = *x;
    for (int k = 0; k < p->n; k++) {
        const TtReduceStage *s = &p->stage[k];
        float *to = k == p->n - 1 ? out : temporary;
        fold_chunks(s, &from, f, p, centres, s->chunks > 1 ? partial : to);
        if (s->chunks > 1) merge_chunks(s, f, partial, to);
        temporary += s->outer * s->inner;
        from.data = to, from.dtype = TT_F32;
        if (f == SQUARES || f == EXPS) f = SUM; /* later stages add up */
        centres = NULL;
    }
}

static void finish(const TtReduceAttrs *a, const TtReducePlan *p, const float *centres, float *y)
{
    double n = (double)p->count, divisor = n - a->correction > 0 ? n - a->correction : 0;
    if (a->kind == TT_REDUCE_SUM || a->kind == TT_REDUCE_MAX || a->kind == TT_REDUCE_MIN) return;
#pragma omp parallel for schedule(static) if (p->outputs > TT_GRAIN)
    for (int64_t i = 0; i < p->outputs; i++) {
        if (a->kind == TT_REDUCE_MEAN) y[i] = (float)(y[i] / n);
        if (a->kind == TT_REDUCE_VAR) y[i] = (float)(y[i] / divisor);
        if (a->kind == TT_REDUCE_LOGSUMEXP) y[i] = tt_vlog(y[i]) + centres[i];
    }
}

TtStatus TT_CPU(reduce)(TtKernelArgs *k)
{
    static const Fold folds[TT_REDUCE_COUNT] = {SUM, SUM, MAX, MIN, SQUARES, EXPS};
    const TtReduceAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0], *out = &k->out[0];
    TT_TRY(tt_need_floats(k));
    TtReducePlan p = tt_reduce_plan(&x->shape, a->axes);
    float *centres = (float *)k->scratch + p.partials + p.temporary;
    float *y = out->dtype == TT_F32 ? out->data : centres + p.outputs;
    if (a->kind == TT_REDUCE_VAR) {
        pass(&p, x, SUM, NULL, k->scratch, centres);
        for (int64_t i = 0; i < p.outputs; i++) centres[i] = (float)(centres[i] / (double)p.count);
    } else if (a->kind == TT_REDUCE_LOGSUMEXP) {
        pass(&p, x, MAX, NULL, k->scratch, centres);
        for (int64_t i = 0; i < p.outputs; i++)
            if (isinf(centres[i])) centres[i] = 0; /* inf - inf would be NaN */
    } else {
        centres = NULL;
    }
    pass(&p, x, folds[a->kind], centres, k->scratch, y);
    finish(a, &p, centres, y);
    if (out->dtype != TT_F32) tt_store_floats(out, 0, p.outputs, y);
    return TT_OK;
}

/* ---- along one axis: x is (outer, n, inner) */

static void split(const TtShape *s, int axis, int64_t *outer, int64_t *n, int64_t *inner)
{
    *outer = *inner = 1;
    *n = s->dims[axis];
    for (int k = 0; k < s->rank; k++)
        if (k != axis) *(k < axis ? outer : inner) *= s->dims[k];
}

TtStatus TT_CPU(argreduce)(TtKernelArgs *k)
{
    const TtArgReduceAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0];
    int64_t outer, n, inner, *out = k->out[0].data;
    TT_TRY(tt_need_floats(k));
    split(&x->shape, a->axis, &outer, &n, &inner);
#pragma omp parallel for schedule(static) if (outer * n * inner > TT_GRAIN)
    for (int64_t o = 0; o < outer * inner; o++) {
        int64_t first = o / TT_MAX(inner, 1) * n * inner + o % TT_MAX(inner, 1), best = 0;
        float top = 0;
        for (int64_t i = 0; i < n; i++) {
            float buf, v = *floats(x, first + i * inner, 1, &buf);
            if (i == 0 || (top == top && (v != v || (a->smallest ? v < top : v > top)))) top = v, best = i;
        }
        out[o] = best;
    }
    return TT_OK;
}

TtStatus TT_CPU(cumsum)(TtKernelArgs *k)
{
    enum { COLUMNS = 64 };
    const TtCumsumAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0];
    int64_t outer, n, inner;
    if (x->dtype != TT_F32) return TT_FAIL(TT_EINTERNAL, "cumsum has no CPU kernel for %s", tt_dtype_name(x->dtype));
    split(&x->shape, a->axis, &outer, &n, &inner);
    int64_t tiles = (inner + COLUMNS - 1) / COLUMNS;
#pragma omp parallel for schedule(static) if (outer * n * inner > TT_GRAIN)
    for (int64_t task = 0; task < outer * tiles; task++) {
        int64_t col = task % tiles * COLUMNS, width = TT_MIN(inner - col, (int64_t)COLUMNS);
        double sum[COLUMNS] = {0};
        for (int64_t i = 0; i < n; i++) {
            int64_t at = (task / tiles * n + (a->reverse ? n - 1 - i : i)) * inner + col;
            for (int64_t c = 0; c < width; c++) {
                sum[c] += ((const float *)x->data)[at + c];
                ((float *)k->out[0].data)[at + c] = (float)sum[c];
            }
        }
    }
    return TT_OK;
}
