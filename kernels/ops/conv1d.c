/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/conv1d.c - which way a convolution along time is computed.
 *
 * A kernel of one frame is a matrix product on (N*T,I). One channel at a time is bound by memory, not by arithmetic, and
 * has kernels of its own. Everything else is a picture of height 1, and the transposed convolution is the gradient op of
 * such a picture. All of these are views: nothing of x's size is copied, but for strides over so few channels that x is
 * small. */
#include "kernels/ops/conv1d.h"

#include "kernels/ops/binary.h"
#include "kernels/ops/conv.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/pad.h"
#include "kernels/ops/shape.h"

static bool check_attrs(TtGraph *g, const char *what, const TtConv1dAttrs *a)
{
    if (a->stride >= 1 && a->dilation >= 1 && a->groups >= 1 && a->padding >= 0) return true;
    tt_graph_fail(g, TT_ECONFIG,
                  "%s: stride %lld, dilation %lld and groups %lld must be 1 or more, padding %lld 0 or more", what,
                  (long long)a->stride, (long long)a->dilation, (long long)a->groups, (long long)a->padding);
    return false;
}

/* Whether x, weight and bias fit each other. */
static bool check_shapes(TtGraph *g, const char *what, TtVal x, TtVal w, TtVal b, int64_t groups, bool transposed)
{
    TtShape xs = tt_shape(g, x), ws = tt_shape(g, w), bs = tt_shape(g, b);
    char xt[TT_SHAPE_TEXT], wt[TT_SHAPE_TEXT];
    bool ok = xs.rank == 3 && ws.rank == 3 && ws.dims[2] >= 1 && ws.dims[0] % groups == 0;
    if (ok) ok = xs.dims[2] == (transposed ? ws.dims[0] : ws.dims[1] * groups);
    if (!ok) {
        tt_graph_fail(g, TT_ECONFIG, "%s of %s with weight %s in %lld groups", what, tt_shape_text(&xs, xt),
                      tt_shape_text(&ws, wt), (long long)groups);
        return false;
    }
    int64_t outputs = transposed ? ws.dims[1] * groups : ws.dims[0];
    if (b.id && (bs.rank != 1 || bs.dims[0] != outputs)) {
        tt_graph_fail(g, TT_ECONFIG, "%s with a bias %s for %lld outputs", what, tt_shape_text(&bs, xt),
                      (long long)outputs);
        return false;
    }
    return true;
}

/* (N,T,C) to (N,1,T,C), and (O,I,K) to (O,I,1,K). */
static TtVal as_picture(TtGraph *g, TtVal x)
{
    TtShape s = tt_shape(g, x);
    return tt_reshape(g, x, TT_SHAPE(s.dims[0], 1, s.dims[1], s.dims[2]));
}

static TtVal as_area(TtGraph *g, TtVal w)
{
    TtShape s = tt_shape(g, w);
    return tt_reshape(g, w, TT_SHAPE(s.dims[0], s.dims[1], 1, s.dims[2]));
}

static TtConv2dAttrs picture_attrs(const TtConv1dAttrs *a)
{
    return (TtConv2dAttrs){{1, a->stride}, {0, a->padding}, {1, a->dilation}, a->groups};
}

/* oneDNN fills up a vector of input channels, at a cost of 20 where a waveform has one. With a stride over FEW channels
 * the S frames of a stride become channels instead: x, padded, is (N, frames / S, S * I) as it lies, the kernel of K
 * frames is one of K / S, rounded up, and the stride is 1. */
enum { FEW = 4 };

static bool can_fold(const TtConv1dAttrs *a, int64_t channels, int64_t taps)
{
    return channels <= FEW && taps > 1 && a->stride > 1 && a->dilation == 1 && a->groups == 1 && a->padding < taps;
}

static TtVal fold_strides(TtGraph *g, TtVal x, TtVal *w, TtConv1dAttrs *a, int64_t out_frames)
{
    TtShape xs = tt_shape(g, x), ws = tt_shape(g, *w);
    int64_t s = a->stride, taps = (ws.dims[2] + s - 1) / s, rows = out_frames - 1 + taps;
    x = tt_pad_axis(g, x, TT_PAD_CONSTANT, 0, 1, a->padding, rows * s - xs.dims[1] - a->padding);
    x = tt_reshape(g, x, TT_SHAPE(xs.dims[0], rows, s * xs.dims[2]));
    TtVal v = tt_pad_axis(g, *w, TT_PAD_CONSTANT, 0, 2, 0, taps * s - ws.dims[2]);
    v = tt_permute(g, tt_reshape(g, v, TT_SHAPE(ws.dims[0], ws.dims[1], taps, s)), (int[]){0, 3, 1, 2});
    *w = tt_reshape(g, v, TT_SHAPE(ws.dims[0], s * ws.dims[1], taps));
    a->stride = 1, a->padding = 0;
    return x;
}

TtVal tt_conv1d_op(TtGraph *g, TtVal x, TtVal w, TtVal b, const TtConv1dAttrs *a)
{
    if (!tt_graph_ok(g) || !check_attrs(g, "conv1d", a) || !check_shapes(g, "conv1d", x, w, b, a->groups, false))
        return TT_NONE;
    TtShape xs = tt_shape(g, x), ws = tt_shape(g, w);
    int64_t room = xs.dims[1] + 2 * a->padding - a->dilation * (ws.dims[2] - 1) - 1;
    if (room < 0) {
        tt_graph_fail(g, TT_ECONFIG,
                      "conv1d: %lld frames are too few for a kernel of %lld (dilation %lld, padding %lld)",
                      (long long)xs.dims[1], (long long)ws.dims[2], (long long)a->dilation, (long long)a->padding);
        return TT_NONE;
    }
    if (a->groups > 1 && a->groups == xs.dims[2] && a->groups == ws.dims[0])
        return tt_emit1(g, &tt_op_depthwise_conv1d, a, (TtVal[]){x, w, b}, b.id ? 3 : 2);
    if (ws.dims[2] == 1 && a->stride == 1 && a->padding == 0 && a->groups == 1)
        return tt_linear_op(g, x, tt_reshape(g, w, TT_SHAPE(ws.dims[0], ws.dims[1])), b);
    TtConv1dAttrs how = *a;
    int64_t frames = room / a->stride + 1;
    if (can_fold(a, xs.dims[2], ws.dims[2])) x = fold_strides(g, x, &w, &how, frames);
    TtConv2dAttrs p = picture_attrs(&how);
    TtVal y = tt_conv2d_op(g, as_picture(g, x), as_area(g, w), b, &p);
    return tt_reshape(g, y, TT_SHAPE(xs.dims[0], frames, ws.dims[0]));
}

TtVal tt_conv_transpose1d_op(TtGraph *g, TtVal x, TtVal w, TtVal b, const TtConvTranspose1dAttrs *a)
{
    const TtConv1dAttrs *c = &a->conv;
    if (!tt_graph_ok(g) || !check_attrs(g, "conv_transpose1d", c) ||
        !check_shapes(g, "conv_transpose1d", x, w, b, c->groups, true))
        return TT_NONE;
    if (a->output_padding < 0 || a->output_padding >= c->stride) {
        tt_graph_fail(g, TT_ECONFIG, "conv_transpose1d: output_padding %lld must be less than the stride %lld",
                      (long long)a->output_padding, (long long)c->stride);
        return TT_NONE;
    }
    TtShape xs = tt_shape(g, x), ws = tt_shape(g, w);
    int64_t out = ws.dims[1] * c->groups;
    int64_t frames =
        (xs.dims[1] - 1) * c->stride - 2 * c->padding + c->dilation * (ws.dims[2] - 1) + a->output_padding + 1;
    if (frames < 1 || xs.dims[1] < 1) {
        tt_graph_fail(g, TT_ECONFIG, "conv_transpose1d: %lld frames are too few for padding %lld",
                      (long long)xs.dims[1], (long long)c->padding);
        return TT_NONE;
    }
    TtConv2dGradAttrs p = {.conv = picture_attrs(c), .shape = TT_SHAPE(xs.dims[0], 1, frames, out)};
    TtVal y = tt_emit1(g, &tt_op_conv2d_dx, &p, (TtVal[]){as_picture(g, x), as_area(g, w)}, 2);
    y = tt_reshape(g, y, TT_SHAPE(xs.dims[0], frames, out));
    return b.id ? tt_add(g, y, b) : y;
}

/* ---- one channel at a time */

static TtStatus depthwise_infer(TtInfer *i)
{
    const TtConv1dAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape;
    int64_t room = x->dims[1] + 2 * a->padding - a->dilation * (i->in[1].shape.dims[2] - 1) - 1;
    if (i->in[0].dtype != i->in[1].dtype || (i->present[2] && i->in[2].dtype != i->in[0].dtype))
        return TT_INFER_FAIL(i, "conv1d of %s with %s weights", tt_dtype_name(i->in[0].dtype),
                             tt_dtype_name(i->in[1].dtype));
    i->out[0].shape = TT_SHAPE(x->dims[0], room / a->stride + 1, x->dims[2]);
    return TT_OK;
}

static void depthwise_grad(TtGraph *g, TtGradArgs *a)
{
    TtConv1dGradAttrs ga = {.conv = *(const TtConv1dAttrs *)a->attrs};
    if (a->need[0]) {
        ga.shape = tt_shape(g, a->in[0]);
        a->din[0] = tt_emit1(g, &tt_op_depthwise_conv1d_dx, &ga, (TtVal[]){a->dout[0], a->in[1]}, 2);
    }
    ga.bias = a->nin > 2 && a->in[2].id && a->need[2];
    if (!a->need[1] && !ga.bias) return;
    TtVal out[2];
    ga.shape = tt_shape(g, a->in[1]);
    tt_emit(g, &tt_op_depthwise_conv1d_dw, &ga, (TtVal[]){a->in[0], a->dout[0]}, 2, out);
    if (a->need[1]) a->din[1] = out[0];
    if (ga.bias) a->din[2] = out[1];
}

/* The weight as (K,C), so that channels are neighbours. */
static size_t weight_scratch(const TtKernelArgs *a)
{
    return sizeof(float) * (size_t)tt_tensor_count(&a->in[1]);
}

static double depthwise_flops(const TtKernelArgs *a)
{
    return 2.0 * (double)tt_tensor_count(&a->out[0]) * (double)a->in[1].shape.dims[2];
}

const TtOpDef tt_op_depthwise_conv1d = {
    .name = "depthwise_conv1d",
    .help = "convolution along time of every channel by itself",
    .id = TT_OP_depthwise_conv1d,
    .nin_min = 2,
    .nin_max = 3,
    .nout = 1,
    .attrs_size = sizeof(TtConv1dAttrs),
    .infer = depthwise_infer,
    .grad = depthwise_grad,
    .flops = depthwise_flops,
    .cpu_scratch = weight_scratch,
};

static TtStatus depthwise_dx_infer(TtInfer *i)
{
    i->out[0].shape = ((const TtConv1dGradAttrs *)i->attrs)->shape;
    return TT_OK;
}

const TtOpDef tt_op_depthwise_conv1d_dx = {
    .name = "depthwise_conv1d_dx",
    .help = "gradient of depthwise_conv1d by its input",
    .id = TT_OP_depthwise_conv1d_dx,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtConv1dGradAttrs),
    .infer = depthwise_dx_infer,
    .flops = depthwise_flops,
    .cpu_scratch = weight_scratch,
};

/* Outputs: dw, and db (empty unless attrs.bias); float32 also for bfloat16 products. */
static TtStatus depthwise_dw_infer(TtInfer *i)
{
    const TtConv1dGradAttrs *a = i->attrs;
    i->out[0].shape = a->shape;
    i->out[1].shape = TT_SHAPE(a->bias ? a->shape.dims[0] : 0);
    i->out[0].dtype = i->out[1].dtype = i->in[0].dtype == TT_BF16 ? TT_F32 : i->in[0].dtype;
    return TT_OK;
}

static size_t depthwise_dw_scratch(const TtKernelArgs *a)
{
    const TtShape *dy = &a->in[1].shape;
    int64_t rows = tt_depthwise_sums(a->out[0].shape.dims[2]);
    return sizeof(float) * (size_t)(dy->dims[0] * tt_depthwise_chunks(dy->dims[1]) * rows * dy->dims[2]);
}

static double depthwise_dw_flops(const TtKernelArgs *a)
{
    return 2.0 * (double)tt_tensor_count(&a->in[1]) * (double)a->out[0].shape.dims[2];
}

const TtOpDef tt_op_depthwise_conv1d_dw = {
    .name = "depthwise_conv1d_dw",
    .help = "gradient of depthwise_conv1d by its weight and bias",
    .id = TT_OP_depthwise_conv1d_dw,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 2,
    .attrs_size = sizeof(TtConv1dGradAttrs),
    .infer = depthwise_dw_infer,
    .flops = depthwise_dw_flops,
    .cpu_scratch = depthwise_dw_scratch,
};
