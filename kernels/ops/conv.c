/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/conv.c - conv2d and its two gradients. */
#include "kernels/ops/conv.h"

#include "kernels/cpu/dnnl_conv.h"

static TtStatus conv2d_infer(TtInfer *i)
{
    const TtConv2dAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape, *w = &i->in[1].shape;
    char xs[TT_SHAPE_TEXT], ws[TT_SHAPE_TEXT];
    if (x->rank != 4 || w->rank != 4 || a->groups < 1 || x->dims[3] != w->dims[1] * a->groups || w->dims[0] % a->groups)
        return TT_INFER_FAIL(i, "conv2d of %s with weight %s in %lld groups", tt_shape_text(x, xs),
                             tt_shape_text(w, ws), (long long)a->groups);
    if (i->present[2] && (i->in[2].shape.rank != 1 || i->in[2].shape.dims[0] != w->dims[0]))
        return TT_INFER_FAIL(i, "conv2d with a bias %s for %lld outputs", tt_shape_text(&i->in[2].shape, xs),
                             (long long)w->dims[0]);
    TtShape y = {.rank = 4, .dims = {x->dims[0], 0, 0, w->dims[0]}};
    for (int k = 0; k < 2; k++) {
        int64_t room = x->dims[1 + k] + 2 * a->padding[k] - a->dilation[k] * (w->dims[2 + k] - 1) - 1;
        if (room < 0)
            return TT_INFER_FAIL(i, "a picture of %lldx%lld is too small for a %lldx%lld convolution",
                                 (long long)x->dims[1], (long long)x->dims[2], (long long)w->dims[2],
                                 (long long)w->dims[3]);
        y.dims[1 + k] = room / a->stride[k] + 1;
    }
    i->out[0].shape = y;
    return TT_OK;
}

static void conv2d_grad(TtGraph *g, TtGradArgs *a)
{
    TtConv2dGradAttrs ga = {.conv = *(const TtConv2dAttrs *)a->attrs};
    if (a->need[0]) {
        ga.shape = tt_shape(g, a->in[0]);
        a->din[0] = tt_emit1(g, &tt_op_conv2d_dx, &ga, (TtVal[]){a->dout[0], a->in[1]}, 2);
    }
    ga.bias = a->nin > 2 && a->in[2].id && a->need[2];
    if (!a->need[1] && !ga.bias) return;
    TtVal out[2];
    ga.shape = tt_shape(g, a->in[1]);
    tt_emit(g, &tt_op_conv2d_dw, &ga, (TtVal[]){a->in[0], a->dout[0]}, 2, out);
    if (a->need[1]) a->din[1] = out[0];
    if (ga.bias) a->din[2] = out[1];
}

static double products(const TtShape *y, const TtShape *w)
{
    return 2.0 * (double)tt_shape_count(y) * (double)(w->dims[1] * w->dims[2] * w->dims[3]);
}

static double conv2d_flops(const TtKernelArgs *a)
{
    return products(&a->out[0].shape, &a->in[1].shape);
}

static double conv2d_dx_flops(const TtKernelArgs *a)
{
    return products(&a->in[0].shape, &a->in[1].shape);
}

static double conv2d_dw_flops(const TtKernelArgs *a)
{
    return products(&a->in[1].shape, &a->out[0].shape);
}

const TtOpDef tt_op_conv2d = {
    .name = "conv2d",
    .help = "two-dimensional convolution",
    .id = TT_OP_conv2d,
    .nin_min = 2,
    .nin_max = 3,
    .nout = 1,
    .attrs_size = sizeof(TtConv2dAttrs),
    .infer = conv2d_infer,
    .grad = conv2d_grad,
    .flops = conv2d_flops,
    .cpu_prepare = tt_dnnl_conv2d_prepare,
    .cpu_release = tt_dnnl_state_release,
    .cpu_scratch = tt_dnnl_state_scratch,
};

TtVal tt_conv2d_op(TtGraph *g, TtVal x, TtVal w, TtVal b, const TtConv2dAttrs *a)
{
    return tt_emit1(g, &tt_op_conv2d, a, (TtVal[]){x, w, b}, b.id ? 3 : 2);
}

static TtStatus conv2d_dx_infer(TtInfer *i)
{
    i->out[0].shape = ((const TtConv2dGradAttrs *)i->attrs)->shape;
    return TT_OK;
}

/* Of the transposed convolution: it is linear in both. */
static void conv2d_dx_grad(TtGraph *g, TtGradArgs *a)
{
    TtConv2dGradAttrs ga = *(const TtConv2dGradAttrs *)a->attrs;
    if (a->need[0]) a->din[0] = tt_conv2d_op(g, a->dout[0], a->in[1], TT_NONE, &ga.conv);
    if (!a->need[1]) return;
    TtVal out[2];
    ga.shape = tt_shape(g, a->in[1]);
    tt_emit(g, &tt_op_conv2d_dw, &ga, (TtVal[]){a->dout[0], a->in[0]}, 2, out);
    a->din[1] = out[0];
}

const TtOpDef tt_op_conv2d_dx = {
    .name = "conv2d_dx",
    .help = "gradient of conv2d by its input",
    .id = TT_OP_conv2d_dx,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtConv2dGradAttrs),
    .infer = conv2d_dx_infer,
    .grad = conv2d_dx_grad,
    .flops = conv2d_dx_flops,
    .cpu_prepare = tt_dnnl_conv2d_dx_prepare,
    .cpu_release = tt_dnnl_state_release,
    .cpu_scratch = tt_dnnl_state_scratch,
};

/* Outputs: dw, and db (empty unless attrs.bias); float32 also for bfloat16 products. */
static TtStatus conv2d_dw_infer(TtInfer *i)
{
    const TtConv2dGradAttrs *a = i->attrs;
    i->out[0].shape = a->shape;
    i->out[1].shape = TT_SHAPE(a->bias ? a->shape.dims[0] : 0);
    i->out[0].dtype = i->out[1].dtype = i->in[0].dtype == TT_BF16 ? TT_F32 : i->in[0].dtype;
    return TT_OK;
}

const TtOpDef tt_op_conv2d_dw = {
    .name = "conv2d_dw",
    .help = "gradient of conv2d by its weight and bias",
    .id = TT_OP_conv2d_dw,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 2,
    .attrs_size = sizeof(TtConv2dGradAttrs),
    .infer = conv2d_dw_infer,
    .flops = conv2d_dw_flops,
    .cpu_prepare = tt_dnnl_conv2d_dw_prepare,
    .cpu_release = tt_dnnl_conv2d_dw_release,
    .cpu_scratch = tt_dnnl_conv2d_dw_scratch,
};
