/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/sum_to.c - sum over broadcast axes. */
#include "kernels/ops/sum_to.h"

#include "kernels/ops/shape.h"

static TtStatus sum_to_infer(TtInfer *i)
{
    const TtShape *to = &((const TtSumToAttrs *)i->attrs)->shape, *from = &i->in[0].shape;
    int lead = from->rank - to->rank;
    for (int k = 0; k < to->rank; k++) {
        char f[TT_SHAPE_TEXT], t[TT_SHAPE_TEXT];
        if (lead < 0 || (to->dims[k] != 1 && to->dims[k] != from->dims[k + lead]))
            return TT_INFER_FAIL(i, "cannot sum %s to %s", tt_shape_text(from, f), tt_shape_text(to, t));
    }
    i->out[0].shape = *to;
    return TT_OK;
}

static void sum_to_grad(TtGraph *g, TtGradArgs *a)
{
    a->din[0] = tt_expand(g, a->dout[0], tt_shape(g, a->in[0]));
}

bool tt_sum_to_split(const TtShape *x, const TtShape *y, int64_t *outer, int64_t *reduced, int64_t *inner)
{
    *outer = *reduced = *inner = 1;
    int lead = x->rank - y->rank, part = 0; /* 0: before, 1: within, 2: behind the summed axes */
    for (int k = 0; k < x->rank; k++) {
        int64_t d = x->dims[k];
        if (d == 1) continue;
        bool summed = k < lead || y->dims[k - lead] == 1;
        if (summed && part == 0) part = 1;
        if (!summed && part == 1) part = 2;
        if (summed && part == 2) return false;
        *(part == 0 ? outer : part == 1 ? reduced : inner) *= d;
    }
    return true;
}

static size_t sum_to_scratch(const TtKernelArgs *a)
{
    int64_t outer, reduced, inner;
    if (!tt_sum_to_split(&a->in[0].shape, &a->out[0].shape, &outer, &reduced, &inner)) return 0;
    int64_t chunks = (reduced + TT_SUM_CHUNK - 1) / TT_SUM_CHUNK;
    return (size_t)(outer * chunks * inner) * sizeof(float);
}

const TtOpDef tt_op_sum_to = {
    .name = "sum_to",
    .help = "sum over broadcast axes",
    .id = TT_OP_sum_to,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtSumToAttrs),
    .infer = sum_to_infer,
    .grad = sum_to_grad,
    .cpu_scratch = sum_to_scratch,
};

TtVal tt_sum_to(TtGraph *g, TtVal x, TtShape shape)
{
    TtShape from = tt_shape(g, x);
    if (tt_shape_equal(&from, &shape)) return x;
    return tt_emit1(g, &tt_op_sum_to, &(TtSumToAttrs){shape}, &x, 1);
}
