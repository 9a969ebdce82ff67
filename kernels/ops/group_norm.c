/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/group_norm.c - group_norm and its gradient; instance norm is a way to call it. */
#include "kernels/ops/group_norm.h"

static TtDType wide_type(TtDType t)
{
    return t == TT_F64 ? TT_F64 : TT_F32;
}

/* Outputs: y, and the mean and 1/sqrt(var + eps) of every group. */
static TtStatus group_norm_infer(TtInfer *i)
{
    const TtGroupNormAttrs *a = i->attrs;
    const TtTensor *x = &i->in[TT_GN_X];
    char xs[TT_SHAPE_TEXT];
    if (x->shape.rank < 2)
        return TT_INFER_FAIL(i, "group_norm of %s needs a batch axis and a channel axis", tt_shape_text(&x->shape, xs));
    TtGroupNormDims d = tt_group_norm_dims(&x->shape);
    if (a->groups < 1 || d.c % a->groups)
        return TT_INFER_FAIL(i, "group_norm cannot put %lld channels into %lld groups", (long long)d.c,
                             (long long)a->groups);
    for (int k = TT_GN_WEIGHT; k <= TT_GN_BIAS; k++)
        if (i->present[k] &&
            (i->in[k].shape.rank != 1 || i->in[k].shape.dims[0] != d.c || i->in[k].dtype != wide_type(x->dtype)))
            return TT_INFER_FAIL(i, "group_norm of %lld channels with a %s weight or bias %s", (long long)d.c,
                                 tt_dtype_name(i->in[k].dtype), tt_shape_text(&i->in[k].shape, xs));
    if (d.n * d.rows * (d.c / a->groups) == 1) /* as torch, which counts over the batch too */
        return TT_INFER_FAIL(i, "group_norm needs more than one value per group: %s in %lld groups",
                             tt_shape_text(&x->shape, xs), (long long)a->groups);
    i->out[TT_GN_Y].shape = x->shape;
    i->out[TT_GN_SAVE_MEAN].shape = i->out[TT_GN_SAVE_INVSTD].shape = TT_SHAPE(d.n, a->groups);
    i->out[TT_GN_SAVE_MEAN].dtype = i->out[TT_GN_SAVE_INVSTD].dtype = wide_type(x->dtype);
    return TT_OK;
}

static void group_norm_grad(TtGraph *g, TtGradArgs *a)
{
    TtGroupNormAttrs attrs = *(const TtGroupNormAttrs *)a->attrs;
    attrs.affine = a->need[TT_GN_WEIGHT] || a->need[TT_GN_BIAS];
    TtVal out[3], in[TT_GN_BWD_INPUTS] = {[TT_GN_BWD_DY] = a->dout[0],
                                          [TT_GN_BWD_X] = a->in[TT_GN_X],
                                          [TT_GN_BWD_WEIGHT] = a->in[TT_GN_WEIGHT],
                                          [TT_GN_BWD_MEAN] = a->out[TT_GN_SAVE_MEAN],
                                          [TT_GN_BWD_INVSTD] = a->out[TT_GN_SAVE_INVSTD]};
    tt_emit(g, &tt_op_group_norm_bwd, &attrs, in, TT_GN_BWD_INPUTS, out);
    for (int k = 0; k < TT_GN_INPUTS; k++)
        if (a->need[k]) a->din[k] = out[k];
}

/* Two partial sums of every chunk of a sample, for each channel. */
static size_t group_norm_scratch(const TtKernelArgs *a)
{
    TtGroupNormDims d = tt_group_norm_dims(&a->out[0].shape);
    return (size_t)(d.n * 2 * d.chunks * d.c) * sizeof(float);
}

static double group_norm_flops(const TtKernelArgs *a)
{
    return 8.0 * (double)tt_tensor_count(&a->out[0]);
}

const TtOpDef tt_op_group_norm = {
    .name = "group_norm",
    .help = "normalisation of groups of channels, sample by sample",
    .id = TT_OP_group_norm,
    .nin_min = TT_GN_INPUTS,
    .nin_max = TT_GN_INPUTS,
    .nout = 3,
    .attrs_size = sizeof(TtGroupNormAttrs),
    .infer = group_norm_infer,
    .grad = group_norm_grad,
    .cpu_scratch = group_norm_scratch,
    .flops = group_norm_flops,
};

TtVal tt_group_norm_op(TtGraph *g, TtVal x, TtVal weight, TtVal bias, int64_t groups, double eps)
{
    TtGroupNormAttrs a = {.groups = groups, .eps = eps};
    TtVal out[3];
    tt_emit(g, &tt_op_group_norm, &a, (TtVal[]){x, weight, bias}, TT_GN_INPUTS, out);
    return out[TT_GN_Y];
}

TtVal tt_instance_norm_op(TtGraph *g, TtVal x, TtVal weight, TtVal bias, double eps)
{
    TtShape s = tt_shape(g, x);
    char text[TT_SHAPE_TEXT];
    if (!tt_graph_ok(g)) return TT_NONE;
    if (s.rank < 3 || tt_group_norm_dims(&s).rows == 1) {
        tt_graph_fail(g, TT_ECONFIG, "instance_norm needs more than one value per channel of a sample: %s",
                      tt_shape_text(&s, text));
        return TT_NONE;
    }
    if (s.dims[s.rank - 1] == 0) return x;
    return tt_group_norm_op(g, x, weight, bias, s.dims[s.rank - 1], eps);
}

/* Outputs: dx, dweight and dbias (empty unless attrs.affine). */
static TtStatus group_norm_bwd_infer(TtInfer *i)
{
    const TtGroupNormAttrs *a = i->attrs;
    const TtTensor *x = &i->in[TT_GN_BWD_X];
    i->out[0].shape = x->shape, i->out[0].dtype = x->dtype;
    i->out[1].shape = i->out[2].shape = TT_SHAPE(a->affine ? x->shape.dims[x->shape.rank - 1] : 0);
    i->out[1].dtype = i->out[2].dtype = wide_type(x->dtype);
    return TT_OK;
}

/* A sample has one row of channels more. */
static size_t group_norm_bwd_scratch(const TtKernelArgs *a)
{
    TtGroupNormDims d = tt_group_norm_dims(&a->out[0].shape);
    return (size_t)(d.n * (2 * d.chunks + 1) * d.c) * sizeof(float);
}

const TtOpDef tt_op_group_norm_bwd = {
    .name = "group_norm_bwd",
    .help = "gradient of group_norm",
    .id = TT_OP_group_norm_bwd,
    .nin_min = TT_GN_BWD_INPUTS,
    .nin_max = TT_GN_BWD_INPUTS,
    .nout = 3,
    .attrs_size = sizeof(TtGroupNormAttrs),
    .infer = group_norm_bwd_infer,
    .cpu_scratch = group_norm_bwd_scratch,
    .flops = group_norm_flops,
};
