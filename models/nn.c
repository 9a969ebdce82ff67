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

TtVal tt_nn_conv2d(TtGraph *g, TtVal x, const char *name, TtConv2dOptions o)
{
    int kh = o.kernel_h ? o.kernel_h : o.kernel, kw = o.kernel_w ? o.kernel_w : o.kernel;
    int groups = o.groups ? o.groups : 1, stride = o.stride ? o.stride : 1, dilation = o.dilation ? o.dilation : 1;
    int ph = o.kernel_h ? o.pad_h : o.pad, pw = o.kernel_w ? o.pad_w : o.pad;
    int64_t in = tt_channels(g, x);
    if (in % groups || o.out % groups) {
        tt_graph_fail(g, TT_ECONFIG, "%s: %lld input and %d output channels are not multiples of %d groups", name,
                      (long long)in, o.out, groups);
        return TT_NONE;
    }
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
