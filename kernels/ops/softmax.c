/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/softmax.c - softmax, log_softmax and their gradient, which needs the output only. */
#include "kernels/ops/softmax.h"

#include "kernels/ops/reduce.h"
#include "kernels/ops/shape.h"

static TtStatus infer(TtInfer *i)
{
    i->out[0].shape = i->in[0].shape;
    return TT_OK;
}

static void grad(TtGraph *g, TtGradArgs *a)
{
    a->din[0] = tt_emit1(g, &tt_op_softmax_bwd, a->attrs, (TtVal[]){a->dout[0], a->out[0]}, 2);
}

const TtOpDef tt_op_softmax = {
    .name = "softmax",
    .help = "softmax or its logarithm along an axis",
    .id = TT_OP_softmax,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtSoftmaxAttrs),
    .flags = TT_OP_INPLACE,
    .infer = infer,
    .grad = grad,
};

const TtOpDef tt_op_softmax_bwd = {
    .name = "softmax_bwd",
    .help = "gradient of softmax from dy and y",
    .id = TT_OP_softmax_bwd,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtSoftmaxAttrs),
    .flags = TT_OP_INPLACE,
    .infer = infer,
};

static TtVal emit(TtGraph *g, TtVal x, int axis, bool log)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    TtSoftmaxAttrs a = {.axis = tt_axis(g, log ? "log_softmax" : "softmax", x, axis), .log = log};
    if (tt_dtype(g, x) != tt_graph_ftype(g)) x = tt_cast(g, x, tt_graph_ftype(g)); /* as torch.autocast does */
    return tt_emit1(g, &tt_op_softmax, &a, &x, 1);
}

TtVal tt_softmax(TtGraph *g, TtVal x, int axis)
{
    return emit(g, x, axis, false);
}

TtVal tt_log_softmax(TtGraph *g, TtVal x, int axis)
{
    return emit(g, x, axis, true);
}
