/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/prelu.c - prelu (He et al. 2015) and prelu_bwd. The weight's gradient is summed over chunks of a fixed
 * number of rows, so that it does not depend on the number of threads. */
#include "kernels/ops/prelu.h"

#include "kernels/ops/shape.h"
#include "kernels/ops/unary.h"

static TtStatus prelu_infer(TtInfer *i)
{
    const TtShape *w = &i->in[1].shape, *x = &i->in[0].shape;
    char text[TT_SHAPE_TEXT];
    if (i->in[0].dtype != i->in[1].dtype && i->in[1].dtype != TT_F32)
        return TT_INFER_FAIL(i, "prelu: the weight is %s", tt_dtype_name(i->in[1].dtype));
    if (w->rank != 1 || (w->dims[0] != 1 && (x->rank == 0 || w->dims[0] != x->dims[x->rank - 1])))
        return TT_INFER_FAIL(i, "prelu: weight %s does not fit the channels; give 1 or as many as there are channels",
                             tt_shape_text(w, text));
    i->out[0].shape = *x;
    return TT_OK;
}

static void prelu_grad(TtGraph *g, TtGradArgs *a)
{
    TtDType t = tt_dtype(g, a->in[1]); /* the weight's, float32, also where x is bfloat16 */
    TtVal ins[3] = {tt_cast(g, a->dout[0], t), tt_cast(g, a->in[0], t), a->in[1]}, outs[2];
    tt_emit(g, &tt_op_prelu_bwd, NULL, ins, 3, outs);
    a->din[0] = tt_cast(g, outs[0], tt_dtype(g, a->in[0])), a->din[1] = outs[1];
}

const TtOpDef tt_op_prelu = {
    .name = "prelu",
    .help = "x > 0 ? x : w x with a learned w per channel",
    .id = TT_OP_prelu,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .flags = TT_OP_STRIDED | TT_OP_INPLACE,
    .infer = prelu_infer,
    .grad = prelu_grad,
};

static TtStatus prelu_bwd_infer(TtInfer *i)
{
    i->out[0].shape = i->in[1].shape;
    i->out[1].shape = i->in[2].shape;
    i->out[1].dtype = i->in[2].dtype;
    return TT_OK;
}

int64_t tt_prelu_chunk(int64_t channels)
{
    return TT_MAX(1, 16384 / TT_MAX(channels, 1));
}

static size_t prelu_bwd_scratch(const TtKernelArgs *a)
{
    int64_t channels = tt_tensor_count(&a->in[2]), rows = tt_tensor_count(&a->in[1]) / TT_MAX(channels, 1);
    int64_t chunk = tt_prelu_chunk(channels);
    return (size_t)((rows + chunk - 1) / chunk * channels) * sizeof(float);
}

const TtOpDef tt_op_prelu_bwd = {
    .name = "prelu_bwd",
    .help = "gradients of prelu by x and w",
    .id = TT_OP_prelu_bwd,
    .nin_min = 3,
    .nin_max = 3,
    .nout = 2,
    .infer = prelu_bwd_infer,
    .cpu_scratch = prelu_bwd_scratch,
};

TtVal tt_prelu_op(TtGraph *g, TtVal x, TtVal weight)
{
    return tt_emit1(g, &tt_op_prelu, NULL, (TtVal[]){x, weight}, 2);
}
