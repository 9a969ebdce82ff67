/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/layer_norm.c - layer_norm, cumulative_norm and their gradients. */
#include "kernels/ops/layer_norm.h"

static TtDType wide_type(TtDType t)
{
    return t == TT_F64 ? TT_F64 : TT_F32;
}

static TtShape last_axes(const TtShape *x, int axes)
{
    TtShape s = {.rank = axes};
    for (int k = 0; k < axes; k++) s.dims[k] = x->dims[x->rank - axes + k];
    return s;
}

/* Outputs: y, and the mean and 1/sqrt(var + eps) of every row. */
static TtStatus layer_norm_infer(TtInfer *i)
{
    const TtLayerNormAttrs *a = i->attrs;
    const TtTensor *x = &i->in[TT_LN_X];
    char xs[TT_SHAPE_TEXT], ws[TT_SHAPE_TEXT];
    if (a->axes < 1 || a->axes > x->shape.rank)
        return TT_INFER_FAIL(i, "layer_norm of the last %d axes of %s", a->axes, tt_shape_text(&x->shape, xs));
    TtShape affine = last_axes(&x->shape, a->axes);
    for (int k = TT_LN_WEIGHT; k <= TT_LN_BIAS; k++)
        if (i->present[k] && (!tt_shape_equal(&i->in[k].shape, &affine) || i->in[k].dtype != wide_type(x->dtype)))
            return TT_INFER_FAIL(i, "layer_norm of %s %s with a weight or bias %s %s", tt_dtype_name(x->dtype),
                                 tt_shape_text(&x->shape, xs), tt_dtype_name(i->in[k].dtype),
                                 tt_shape_text(&i->in[k].shape, ws));
    TtShape rows = {.rank = x->shape.rank - a->axes};
    for (int k = 0; k < rows.rank; k++) rows.dims[k] = x->shape.dims[k];
    i->out[TT_LN_Y].shape = x->shape;
    i->out[TT_LN_SAVE_MEAN].shape = i->out[TT_LN_SAVE_INVSTD].shape = rows;
    i->out[TT_LN_SAVE_MEAN].dtype = i->out[TT_LN_SAVE_INVSTD].dtype = wide_type(x->dtype);
    return TT_OK;
}

static void norm_grad(TtGraph *g, TtGradArgs *a, const TtOpDef *bwd)
{
    TtLayerNormAttrs attrs = *(const TtLayerNormAttrs *)a->attrs;
    attrs.affine = a->need[TT_LN_WEIGHT] || a->need[TT_LN_BIAS];
    TtVal out[3], in[TT_LN_BWD_INPUTS] = {[TT_LN_BWD_DY] = a->dout[0],
                                          [TT_LN_BWD_X] = a->in[TT_LN_X],
                                          [TT_LN_BWD_WEIGHT] = a->in[TT_LN_WEIGHT],
                                          [TT_LN_BWD_MEAN] = a->out[TT_LN_SAVE_MEAN],
                                          [TT_LN_BWD_INVSTD] = a->out[TT_LN_SAVE_INVSTD]};
    tt_emit(g, bwd, &attrs, in, TT_LN_BWD_INPUTS, out);
    for (int k = 0; k < TT_LN_INPUTS; k++)
        if (a->need[k]) a->din[k] = out[k];
}

static void layer_norm_grad(TtGraph *g, TtGradArgs *a)
{
    norm_grad(g, a, &tt_op_layer_norm_bwd);
}

static double layer_norm_flops(const TtKernelArgs *a)
{
    return 8.0 * (double)tt_tensor_count(&a->out[0]);
}

const TtOpDef tt_op_layer_norm = {
    .name = "layer_norm",
    .help = "normalisation over the last axes",
    .id = TT_OP_layer_norm,
    .nin_min = TT_LN_INPUTS,
    .nin_max = TT_LN_INPUTS,
    .nout = 3,
    .attrs_size = sizeof(TtLayerNormAttrs),
    .infer = layer_norm_infer,
    .grad = layer_norm_grad,
    .flops = layer_norm_flops,
};

TtVal tt_layer_norm_op(TtGraph *g, TtVal x, TtVal weight, TtVal bias, int axes, double eps)
{
    TtLayerNormAttrs a = {.axes = axes, .eps = eps};
    TtVal out[3];
    tt_emit(g, &tt_op_layer_norm, &a, (TtVal[]){x, weight, bias}, TT_LN_INPUTS, out);
    return out[TT_LN_Y];
}

/* Outputs: dx, dweight and dbias (empty unless attrs.affine). */
static TtStatus layer_norm_bwd_infer(TtInfer *i)
{
    const TtLayerNormAttrs *a = i->attrs;
    const TtTensor *x = &i->in[TT_LN_BWD_X];
    i->out[0].shape = x->shape, i->out[0].dtype = x->dtype;
    i->out[1].shape = i->out[2].shape = a->affine ? last_axes(&x->shape, a->axes) : TT_SHAPE(0);
    i->out[1].dtype = i->out[2].dtype = wide_type(x->dtype);
    return TT_OK;
}

/* Two partial sums of every chunk for each column. */
static size_t layer_norm_bwd_scratch(const TtKernelArgs *a)
{
    int64_t rows = tt_tensor_count(&a->in[TT_LN_BWD_MEAN]), n = tt_tensor_count(&a->out[1]);
    int64_t chunk = tt_layer_norm_rows(n);
    return (size_t)((rows + chunk - 1) / chunk * 2 * n) * sizeof(float);
}

const TtOpDef tt_op_layer_norm_bwd = {
    .name = "layer_norm_bwd",
    .help = "gradient of layer_norm",
    .id = TT_OP_layer_norm_bwd,
    .nin_min = TT_LN_BWD_INPUTS,
    .nin_max = TT_LN_BWD_INPUTS,
    .nout = 3,
    .attrs_size = sizeof(TtLayerNormAttrs),
    .infer = layer_norm_bwd_infer,
    .cpu_scratch = layer_norm_bwd_scratch,
    .flops = layer_norm_flops,
};

/* ---- cumulative_norm: layer_norm of the last axis with other statistics */

static TtStatus cumulative_norm_infer(TtInfer *i)
{
    char text[TT_SHAPE_TEXT];
    if (i->in[TT_LN_X].shape.rank != 3)
        return TT_INFER_FAIL(i, "cumulative_norm: %s is not (samples, frames, channels)",
                             tt_shape_text(&i->in[TT_LN_X].shape, text));
    return layer_norm_infer(i);
}

static void cumulative_norm_grad(TtGraph *g, TtGradArgs *a)
{
    norm_grad(g, a, &tt_op_cumulative_norm_bwd);
}

/* Two doubles for each frame. */
static size_t cumulative_norm_scratch(const TtKernelArgs *a)
{
    return (size_t)(2 * tt_tensor_count(&a->out[TT_LN_SAVE_MEAN])) * sizeof(double);
}

const TtOpDef tt_op_cumulative_norm = {
    .name = "cumulative_norm",
    .help = "normalisation of each frame by all frames so far",
    .id = TT_OP_cumulative_norm,
    .nin_min = TT_LN_INPUTS,
    .nin_max = TT_LN_INPUTS,
    .nout = 3,
    .attrs_size = sizeof(TtLayerNormAttrs),
    .infer = cumulative_norm_infer,
    .grad = cumulative_norm_grad,
    .cpu_scratch = cumulative_norm_scratch,
    .flops = layer_norm_flops,
};

TtVal tt_cumulative_norm_op(TtGraph *g, TtVal x, TtVal weight, TtVal bias, double eps)
{
    TtLayerNormAttrs a = {.axes = 1, .eps = eps};
    TtVal out[3];
    tt_emit(g, &tt_op_cumulative_norm, &a, (TtVal[]){x, weight, bias}, TT_LN_INPUTS, out);
    return out[TT_LN_Y];
}

/* The frames' doubles, then layer_norm's sums. */
static size_t cumulative_norm_bwd_scratch(const TtKernelArgs *a)
{
    return (size_t)(2 * tt_tensor_count(&a->in[TT_LN_BWD_MEAN])) * sizeof(double) + layer_norm_bwd_scratch(a);
}

const TtOpDef tt_op_cumulative_norm_bwd = {
    .name = "cumulative_norm_bwd",
    .help = "gradient of cumulative_norm",
    .id = TT_OP_cumulative_norm_bwd,
    .nin_min = TT_LN_BWD_INPUTS,
    .nin_max = TT_LN_BWD_INPUTS,
    .nout = 3,
    .attrs_size = sizeof(TtLayerNormAttrs),
    .infer = layer_norm_bwd_infer,
    .cpu_scratch = cumulative_norm_bwd_scratch,
    .flops = layer_norm_flops,
};
