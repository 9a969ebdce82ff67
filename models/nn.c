/* SPDX-License-Identifier: Apache-2.0 */
/* models/nn.c - layers with their parameters.
 *
 * With autocast, products (convolution, linear) take bfloat16 copies of their input and weights and give bfloat16,
 * as torch.autocast does on the CPU; normalisation keeps its input's type with float32 statistics. */
#include "models/nn.h"

#include <math.h>

static TtVal product_input(TtGraph *g, TtVal v)
{
    return v.id && tt_graph_autocast(g) ? tt_cast(g, v, TT_BF16) : v;
}

static TtInit uniform_bound(double bound)
{
    return (TtInit){TT_INIT_UNIFORM, -bound, bound};
}

static bool groups_fit(TtGraph *g, const char *name, int64_t in, int out, int groups)
{
    if (in % groups == 0 && out % groups == 0) return true;
    tt_graph_fail(g, TT_ECONFIG, "%s: %lld input and %d output channels are not multiples of %d groups", name,
                  (long long)in, out, groups);
    return false;
}

TtVal tt_nn_conv2d(TtGraph *g, TtVal x, const char *name, TtConv2dOptions o)
{
    int kh = o.kernel_h ? o.kernel_h : o.kernel, kw = o.kernel_w ? o.kernel_w : o.kernel;
    int groups = o.groups ? o.groups : 1, stride = o.stride ? o.stride : 1, dilation = o.dilation ? o.dilation : 1;
    int ph = o.kernel_h ? o.pad_h : o.pad, pw = o.kernel_w ? o.pad_w : o.pad;
    int64_t in = tt_channels(g, x);
    if (!groups_fit(g, name, in, o.out, groups)) return TT_NONE;
    double fan_in = (double)(in / groups) * kh * kw, fan_out = (double)o.out * kh * kw;
    TtInit init = o.init == TT_WEIGHT_KAIMING_FAN_OUT ? (TtInit){TT_INIT_NORMAL, 0, sqrt(2.0 / fan_out)}
                                                      : uniform_bound(1 / sqrt(fan_in));
    tt_graph_push(g, "%s", name);
    TtVal w = tt_param(g, "weight", TT_SHAPE(o.out, in / groups, kh, kw), init), b = TT_NONE;
    if (!o.no_bias) b = tt_param(g, "bias", TT_SHAPE(o.out), uniform_bound(1 / sqrt(fan_in)));
    TtConv2dAttrs a = {
        .stride = {stride, stride}, .padding = {ph, pw}, .dilation = {dilation, dilation}, .groups = groups};
    TtVal y = tt_conv2d_op(g, product_input(g, x), product_input(g, w), product_input(g, b), &a);
    tt_graph_pop(g);
    return y;
}

static int or_one(int v)
{
    return v ? v : 1;
}

/* The parameters of a convolution along time; their bound is 1 / sqrt(fan_in), for which torch takes the weight's second
 * axis whichever way the convolution goes. */
static void conv1d_params(TtGraph *g, TtShape weight, int out, bool no_bias, TtWeightInit how, TtVal *w, TtVal *b)
{
    double fan_in = (double)weight.dims[1] * (double)weight.dims[2];
    TtInit init = uniform_bound(1 / sqrt(fan_in)), bias = init;
    if (how == TT_WEIGHT_KAIMING_FAN_IN)
        init = (TtInit){TT_INIT_NORMAL, 0, sqrt(2 / fan_in)}, bias = (TtInit){TT_INIT_CONST, 0, 0};
    *w = product_input(g, tt_param(g, "weight", weight, init));
    *b = no_bias ? TT_NONE : product_input(g, tt_param(g, "bias", TT_SHAPE(out), bias));
}

TtVal tt_nn_conv1d(TtGraph *g, TtVal x, const char *name, TtConv1dOptions o)
{
    TtConv1dAttrs a = {or_one(o.stride), o.pad, or_one(o.dilation), or_one(o.groups)};
    int64_t in = tt_channels(g, x);
    if (!groups_fit(g, name, in, o.out, (int)a.groups)) return TT_NONE;
    tt_graph_push(g, "%s", name);
    TtVal w, b;
    conv1d_params(g, TT_SHAPE(o.out, in / a.groups, o.kernel), o.out, o.no_bias, o.init, &w, &b);
    TtVal y = tt_conv1d_op(g, product_input(g, x), w, b, &a);
    tt_graph_pop(g);
    return y;
}

TtVal tt_nn_conv_transpose1d(TtGraph *g, TtVal x, const char *name, TtConvTranspose1dOptions o)
{
    TtConvTranspose1dAttrs a = {{or_one(o.stride), o.pad, or_one(o.dilation), or_one(o.groups)}, o.output_pad};
    int64_t in = tt_channels(g, x);
    if (!groups_fit(g, name, in, o.out, (int)a.conv.groups)) return TT_NONE;
    tt_graph_push(g, "%s", name);
    TtVal w, b;
    conv1d_params(g, TT_SHAPE(in, o.out / a.conv.groups, o.kernel), o.out, o.no_bias, TT_WEIGHT_DEFAULT, &w, &b);
    TtVal y = tt_conv_transpose1d_op(g, product_input(g, x), w, b, &a);
    tt_graph_pop(g);
    return y;
}

/* Weight 1 and bias 0 for every channel. */
static void norm_params(TtGraph *g, TtVal x, bool none, TtVal *weight, TtVal *bias)
{
    TtShape c = TT_SHAPE(tt_channels(g, x));
    *weight = none ? TT_NONE : tt_param(g, "weight", c, (TtInit){TT_INIT_CONST, 1, 0});
    *bias = none ? TT_NONE : tt_param(g, "bias", c, (TtInit){TT_INIT_ZEROS, 0, 0});
}

TtVal tt_nn_group_norm(TtGraph *g, TtVal x, const char *name, TtGroupNormOptions o)
{
    TtVal weight, bias;
    tt_graph_push(g, "%s", name);
    norm_params(g, x, o.no_affine, &weight, &bias);
    TtVal y = tt_group_norm_op(g, x, weight, bias, or_one(o.groups), o.eps > 0 ? o.eps : 1e-5);
    tt_graph_pop(g);
    return y;
}

TtVal tt_nn_layer_norm(TtGraph *g, TtVal x, const char *name, TtLayerNormOptions o)
{
    TtVal weight, bias;
    tt_graph_push(g, "%s", name);
    norm_params(g, x, o.no_affine, &weight, &bias);
    TtVal y = tt_layer_norm_op(g, x, weight, bias, 1, o.eps > 0 ? o.eps : 1e-5);
    tt_graph_pop(g);
    return y;
}

TtVal tt_nn_prelu(TtGraph *g, TtVal x, const char *name, TtPreluOptions o)
{
    TtShape s = TT_SHAPE(o.per_channel ? tt_channels(g, x) : 1);
    tt_graph_push(g, "%s", name);
    TtVal y = tt_prelu_op(g, x, tt_param(g, "weight", s, (TtInit){TT_INIT_CONST, o.init != 0 ? o.init : 0.25, 0}));
    tt_graph_pop(g);
    return y;
}

TtVal tt_nn_batch_norm(TtGraph *g, TtVal x, const char *name, TtBatchNormOptions o)
{
    TtInit zero = {TT_INIT_ZEROS, 0, 0}, one = {TT_INIT_CONST, 1, 0};
    TtShape c = TT_SHAPE(tt_channels(g, x));
    tt_graph_push(g, "%s", name);
    TtVal weight = tt_param(g, "weight", c, o.zero_weight ? zero : one), bias = tt_param(g, "bias", c, zero);
    TtVal mean = tt_buffer(g, "running_mean", TT_F32, c, zero), var = tt_buffer(g, "running_var", TT_F32, c, one);
    TtVal tracked = tt_buffer(g, "num_batches_tracked", TT_I64, (TtShape){0}, zero);
    TtBatchNormAttrs a = {.eps = o.eps > 0 ? o.eps : 1e-5,
                          .momentum = o.momentum > 0 ? o.momentum : 0.1,
                          .training = tt_graph_training(g)};
    TtBatchNormIn in = {.x = x, .weight = weight, .bias = bias, .mean = mean, .var = var, .tracked = tracked};
    TtVal y = tt_batch_norm_op(g, &in, &a);
    tt_graph_pop(g);
    return y;
}

TtVal tt_nn_linear(TtGraph *g, TtVal x, const char *name, TtLinearOptions o)
{
    int64_t in = tt_channels(g, x);
    double bound = 1 / sqrt((double)in);
    tt_graph_push(g, "%s", name);
    TtVal w = tt_param(g, "weight", TT_SHAPE(o.out, in), uniform_bound(bound)), b = TT_NONE;
    if (!o.no_bias) b = tt_param(g, "bias", TT_SHAPE(o.out), uniform_bound(bound));
    TtVal y = tt_linear_op(g, product_input(g, x), product_input(g, w), product_input(g, b));
    tt_graph_pop(g);
    return y;
}

TtVal tt_global_avg_pool(TtGraph *g, TtVal x)
{
    return tt_flatten(g, tt_adaptive_avg_pool2d(g, x, 1, 1), 1, -1);
}
