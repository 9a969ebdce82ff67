/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/batch_norm.c - batch_norm and its gradient. */
#include "kernels/ops/batch_norm.h"

static TtShape channels_of(const TtShape *x)
{
    return TT_SHAPE(x->dims[x->rank - 1]);
}

static TtDType wide_type(TtDType t)
{
    return t == TT_F64 ? TT_F64 : TT_F32;
}

/* Outputs: y, and the mean and 1/sqrt(var + eps) that were used. */
static TtStatus batch_norm_infer(TtInfer *i)
{
    const TtBatchNormAttrs *a = i->attrs;
    const TtShape *x = &i->in[TT_BN_X].shape;
    if (x->rank < 2) return TT_INFER_FAIL(i, "batch_norm needs a batch axis and a channel axis");
    TtShape c = channels_of(x);
    if (!tt_shape_equal(&c, &i->in[TT_BN_WEIGHT].shape))
        return TT_INFER_FAIL(i, "batch_norm of %lld channels with %lld weights", (long long)c.dims[0],
                             (long long)i->in[TT_BN_WEIGHT].shape.dims[0]);
    if (a->training && tt_shape_count(x) == c.dims[0])
        return TT_INFER_FAIL(i, "batch_norm needs more than one value per channel in training: use a larger batch, or "
                                "set data.drop_last");
    i->out[TT_BN_Y].shape = *x;
    i->out[TT_BN_SAVE_MEAN].shape = i->out[TT_BN_SAVE_INVSTD].shape = c;
    i->out[TT_BN_SAVE_MEAN].dtype = i->out[TT_BN_SAVE_INVSTD].dtype = wide_type(i->in[TT_BN_X].dtype);
    return TT_OK;
}

static void batch_norm_grad(TtGraph *g, TtGradArgs *a)
{
    const TtBatchNormAttrs *attrs = a->attrs;
    TtVal y = attrs->relu ? a->out[TT_BN_Y] : TT_NONE, out[4];
    TtVal in[] = {a->dout[0], a->in[TT_BN_X], a->in[TT_BN_WEIGHT], a->out[TT_BN_SAVE_MEAN], a->out[TT_BN_SAVE_INVSTD],
                  y};
    tt_emit(g, &tt_op_batch_norm_bwd, attrs, in, attrs->relu ? 6 : 5, out);
    for (int k = 0; k < 3; k++)
        if (a->need[k]) a->din[k] = out[k];
    if (a->nin > TT_BN_RESIDUAL && a->need[TT_BN_RESIDUAL]) a->din[TT_BN_RESIDUAL] = attrs->relu ? out[3] : a->dout[0];
}

/* Partial sums of every chunk of rows: two for each channel. */
static size_t batch_norm_scratch(const TtKernelArgs *a)
{
    int64_t c = a->out[0].shape.dims[a->out[0].shape.rank - 1], rows = c ? tt_tensor_count(&a->out[0]) / c : 0;
    int64_t chunks = (rows + TT_BATCH_NORM_ROWS - 1) / TT_BATCH_NORM_ROWS;
    return (size_t)((chunks + 1) * 2 * c) * sizeof(float);
}

static double batch_norm_flops(const TtKernelArgs *a)
{
    return 8.0 * (double)tt_tensor_count(&a->out[0]);
}

const TtOpDef tt_op_batch_norm = {
    .name = "batch_norm",
    .help = "batch normalisation, optionally with addition and relu",
    .id = TT_OP_batch_norm,
    .nin_min = 6,
    .nin_max = TT_BN_INPUTS,
    .nout = 3,
    .attrs_size = sizeof(TtBatchNormAttrs),
    .flags = TT_OP_EFFECT,
    .infer = batch_norm_infer,
    .grad = batch_norm_grad,
    .cpu_scratch = batch_norm_scratch,
    .flops = batch_norm_flops,
};

TtVal tt_batch_norm_op(TtGraph *g, const TtBatchNormIn *in, const TtBatchNormAttrs *a)
{
    TtVal out[3], list[TT_BN_INPUTS] = {in->x, in->weight, in->bias, in->mean, in->var, in->tracked, in->residual};
    tt_emit(g, &tt_op_batch_norm, a, list, in->residual.id ? TT_BN_INPUTS : TT_BN_RESIDUAL, out);
    return out[0];
}

/* Inputs: dy, x, weight, mean, invstd, y (only with relu). Outputs: dx, dweight, dbias, and, with relu, the gradient
 * behind the activation (the residual's; empty without relu). */
static TtStatus batch_norm_bwd_infer(TtInfer *i)
{
    const TtBatchNormAttrs *a = i->attrs;
    i->out[0].shape = i->in[1].shape, i->out[0].dtype = i->in[1].dtype;
    i->out[1].shape = i->out[2].shape = i->in[2].shape;
    i->out[1].dtype = i->out[2].dtype = i->in[2].dtype;
    i->out[3].shape = a->relu ? i->in[0].shape : TT_SHAPE(0);
    return TT_OK;
}

const TtOpDef tt_op_batch_norm_bwd = {
    .name = "batch_norm_bwd",
    .help = "gradient of batch_norm",
    .id = TT_OP_batch_norm_bwd,
    .nin_min = 5,
    .nin_max = 6,
    .nout = 4,
    .attrs_size = sizeof(TtBatchNormAttrs),
    .infer = batch_norm_bwd_infer,
    .cpu_scratch = batch_norm_scratch,
    .flops = batch_norm_flops,
};
