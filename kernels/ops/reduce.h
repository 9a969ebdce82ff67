/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/reduce.h - sums and other reductions over axes; names and gradients are PyTorch's.
 *
 * Axes are given as TT_AXES(1, -1) or TT_ALL_AXES; negative ones count from the end. With keepdim reduced axes stay
 * with length 1. Accumulation is in float32 over chunks of fixed size and in double over the chunks: the result does
 * not depend on the number of threads. bfloat16 in gives bfloat16 out, accumulated in float32. */
#ifndef TT_KERNELS_OPS_REDUCE_H
#define TT_KERNELS_OPS_REDUCE_H

#include "tensor/op.h"

#define TT_AXES(...) ((const int[]){__VA_ARGS__}), TT_COUNT(((const int[]){__VA_ARGS__}))
#define TT_ALL_AXES NULL, 0

typedef enum TtReduceKind {
    TT_REDUCE_SUM,
    TT_REDUCE_MEAN,
    TT_REDUCE_MAX,
    TT_REDUCE_MIN,
    TT_REDUCE_VAR,
    TT_REDUCE_LOGSUMEXP,
    TT_REDUCE_COUNT
} TtReduceKind;

typedef struct TtReduceAttrs {
    TtReduceKind kind;
    unsigned axes; /* bit k: axis k is reduced */
    bool keepdim;
    double correction; /* of var: the divisor is n - correction */
} TtReduceAttrs;

typedef struct TtArgReduceAttrs {
    int axis;
    bool keepdim, smallest;
} TtArgReduceAttrs;

typedef struct TtCumsumAttrs {
    int axis;
    bool reverse;
} TtCumsumAttrs;

TtVal tt_sum(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim);
TtVal tt_mean(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim);
/* torch.amax and torch.amin: equal values share the gradient. NaN wins. */
TtVal tt_amax(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim);
TtVal tt_amin(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim);
TtVal tt_var(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim, double correction); /* torch's is 1 */
TtVal tt_logsumexp(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim);
/* The sum that undoes a broadcast: of x over the axes where SHAPE (aligned at the last axis) is missing or 1. */
TtVal tt_sum_to(TtGraph *g, TtVal x, TtShape shape);

/* Index (int64) of the first largest or smallest element along an axis; NaN counts as both. */
TtVal tt_argmax(TtGraph *g, TtVal x, int axis, bool keepdim);
TtVal tt_argmin(TtGraph *g, TtVal x, int axis, bool keepdim);

TtVal tt_cumsum(TtGraph *g, TtVal x, int axis);

/* AXIS counted from 0; a graph error names OP when it is out of range. */
int tt_axis(TtGraph *g, const char *op, TtVal x, int axis);

/* How the CPU kernel goes about it: one stage for each group of neighbouring reduced axes, the last group first.
 * A stage reduces (outer, reduced, inner) to (outer, inner), in chunks of rows whose partial results are combined in
 * order. */
enum { TT_REDUCE_ROWS = 256, TT_REDUCE_RUN = 4096, TT_REDUCE_STAGES = 3 };
typedef struct TtReduceStage {
    int64_t outer, reduced, inner, chunk, chunks;
} TtReduceStage;
typedef struct TtReducePlan {
    int n, groups;
    TtReduceStage stage[TT_REDUCE_STAGES];
    int64_t dims[TT_MAX_RANK]; /* of groups of axes that are all kept or all reduced */
    bool reduced[TT_MAX_RANK];
    int64_t outputs, count;     /* of reduced elements per output */
    size_t partials, temporary; /* floats of scratch */
} TtReducePlan;
TtReducePlan tt_reduce_plan(const TtShape *shape, unsigned axes);

#endif
