/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/reduce.c - oracle of reduce, argreduce and cumsum: for each output, walk over all its inputs. */
#include "kernels/ops/reduce.h"

#include <math.h>

#include "kernels/ref/ref.h"

/* The walk over the reduced axes under output element I (row-major among kept axes). */
typedef struct Walk {
    const TtTensor *x;
    unsigned axes;
    TtShape reduced; /* lengths of the reduced axes only */
    int axis[TT_MAX_RANK];
    int64_t base, index[TT_MAX_RANK];
} Walk;

static Walk walk_at(const TtTensor *x, unsigned axes, int64_t i)
{
    Walk w = {.x = x, .axes = axes};
    for (int k = 0; k < x->shape.rank; k++)
        if (axes >> k & 1) w.axis[w.reduced.rank] = k, w.reduced.dims[w.reduced.rank++] = x->shape.dims[k];
    for (int k = x->shape.rank - 1; k >= 0; k--) {
        if (axes >> k & 1) continue;
        w.base += i % x->shape.dims[k] * x->strides[k];
        i /= x->shape.dims[k];
    }
    return w;
}

static double here(const Walk *w)
{
    int64_t at = w->base;
    for (int k = 0; k < w->reduced.rank; k++) at += w->index[k] * w->x->strides[w->axis[k]];
    return tt_ref_at(w->x, at);
}

static double fold(const TtReduceAttrs *a, Walk w)
{
    int64_t n = tt_shape_count(&w.reduced);
    double sum = 0, top = a->kind == TT_REDUCE_MIN ? INFINITY : -INFINITY, squares = 0, exps = 0;
    bool nan = false;
    Walk start = w;
    for (int64_t i = 0; i < n; i++, tt_ref_next(&w.reduced, w.index)) {
        double v = here(&w);
        sum += v, nan |= isnan(v);
        top = a->kind == TT_REDUCE_MIN ? fmin(top, v) : fmax(top, v);
    }
    double mean = sum / (double)n, centre = isinf(top) ? 0 : top;
    w = start;
    for (int64_t i = 0; i < n; i++, tt_ref_next(&w.reduced, w.index)) {
        squares += (here(&w) - mean) * (here(&w) - mean);
        exps += exp(here(&w) - centre);
    }
    switch (a->kind) {
    case TT_REDUCE_SUM: return sum;
    case TT_REDUCE_MEAN: return mean;
    case TT_REDUCE_MAX:
    case TT_REDUCE_MIN: return nan ? NAN : top;
    case TT_REDUCE_VAR: return squares / fmax(0, (double)n - a->correction);
    case TT_REDUCE_LOGSUMEXP: return log(exps) + centre;
    case TT_REDUCE_COUNT: break;
    }
    return NAN;
}

TtStatus tt_ref_reduce(TtKernelArgs *k)
{
    const TtReduceAttrs *a = k->attrs;
    for (int64_t i = 0, n = tt_tensor_count(&k->out[0]); i < n; i++)
        tt_ref_put(&k->out[0], i, fold(a, walk_at(&k->in[0], a->axes, i)));
    return TT_OK;
}

TtStatus tt_ref_argreduce(TtKernelArgs *k)
{
    const TtArgReduceAttrs *a = k->attrs;
    for (int64_t i = 0, n = tt_tensor_count(&k->out[0]); i < n; i++) {
        Walk w = walk_at(&k->in[0], 1u << a->axis, i);
        int64_t best = 0;
        double top = here(&w);
        for (w.index[0] = 1; w.index[0] < w.reduced.dims[0] && !isnan(top); w.index[0]++) {
            double v = here(&w);
            if (isnan(v) || (a->smallest ? v < top : v > top)) top = v, best = w.index[0];
        }
        tt_ref_int_put(&k->out[0], i, best);
    }
    return TT_OK;
}

TtStatus tt_ref_cumsum(TtKernelArgs *k)
{
    const TtCumsumAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0], *y = &k->out[0];
    int64_t n = x->shape.dims[a->axis], lines = n ? tt_tensor_count(x) / n : 0;
    for (int64_t i = 0; i < lines; i++) {
        int64_t from = walk_at(x, 1u << a->axis, i).base, to = walk_at(y, 1u << a->axis, i).base;
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            int64_t at = a->reverse ? n - 1 - j : j;
            sum += tt_ref_at(x, from + at * x->strides[a->axis]);
            tt_ref_put(y, to + at * y->strides[a->axis], sum);
        }
    }
    return TT_OK;
}
