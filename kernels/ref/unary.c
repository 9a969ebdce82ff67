/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/unary.c - oracle of unary, unary_bwd, prelu and prelu_bwd. */
#include "kernels/ops/unary.h"

#include <math.h>

#include "kernels/ref/ref.h"

static const double selu_alpha = 1.6732632423543772848170429916717, selu_scale = 1.0507009873554804934193349852946;
static const double sqrt_2_over_pi = 0.79788456080286535587989211986876;

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double between(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static double value(TtUnaryKind kind, double x, double a, double b)
{
    switch (kind) {
    case TT_UNARY_relu: return x < 0 ? 0 : x;
    case TT_UNARY_relu6: return between(x, 0, 6);
    case TT_UNARY_leaky_relu: return x > 0 ? x : a * x;
    case TT_UNARY_elu: return x > 0 ? x : a * expm1(x);
    case TT_UNARY_selu: return selu_scale * (x > 0 ? x : selu_alpha * expm1(x));
    case TT_UNARY_gelu: return x * 0.5 * erfc(-x / sqrt(2));
    case TT_UNARY_gelu_tanh: return 0.5 * x * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
    case TT_UNARY_silu: return x * sigmoid(x);
    case TT_UNARY_mish: return x * tanh(softplus(x));
    case TT_UNARY_softplus: return a * x > b ? x : softplus(a * x) / a;
    case TT_UNARY_sigmoid: return sigmoid(x);
    case TT_UNARY_tanh: return tanh(x);
    case TT_UNARY_hardswish: return x * between(x + 3, 0, 6) / 6;
    case TT_UNARY_hardsigmoid: return between(x + 3, 0, 6) / 6;
    case TT_UNARY_clamp: return between(x, a, b);
    case TT_UNARY_exp: return exp(x);
    case TT_UNARY_log: return log(x);
    case TT_UNARY_log1p: return log1p(x);
    case TT_UNARY_sqrt: return sqrt(x);
    case TT_UNARY_rsqrt: return 1 / sqrt(x);
    case TT_UNARY_square: return x * x;
    case TT_UNARY_abs: return fabs(x);
    case TT_UNARY_neg: return -x;
    case TT_UNARY_reciprocal: return 1 / x;
    case TT_UNARY_sin: return sin(x);
    case TT_UNARY_cos: return cos(x);
    case TT_UNARY_erf: return erf(x);
    case TT_UNARY_add_scalar: return x + a;
    case TT_UNARY_mul_scalar: return x * a;
    case TT_UNARY_pow_scalar: return pow(x, a);
    case TT_UNARY_COUNT: break;
    }
    return NAN;
}

/* dy/dx, of x or of y as unary.def says. */
static double slope(TtUnaryKind kind, double v, double a, double b)
{
    switch (kind) {
    case TT_UNARY_relu: return v > 0;
    case TT_UNARY_relu6: return v > 0 && v < 6;
    case TT_UNARY_leaky_relu: return v > 0 ? 1 : a;
    case TT_UNARY_elu: return v > 0 ? 1 : v + a;
    case TT_UNARY_selu: return v > 0 ? selu_scale : v + selu_scale * selu_alpha;
    case TT_UNARY_gelu: return 0.5 * erfc(-v / sqrt(2)) + v * exp(-v * v / 2) * sqrt_2_over_pi / 2;
    case TT_UNARY_gelu_tanh: {
        double t = tanh(sqrt_2_over_pi * (v + 0.044715 * v * v * v));
        return 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * sqrt_2_over_pi * (1 + 3 * 0.044715 * v * v);
    }
    case TT_UNARY_silu: return sigmoid(v) * (1 + v * sigmoid(-v));
    case TT_UNARY_mish: {
        double t = tanh(softplus(v));
        return t + v * sigmoid(v) * (1 - t * t);
    }
    case TT_UNARY_softplus: return a * v > b ? 1 : sigmoid(a * v);
    case TT_UNARY_sigmoid: return v * (1 - v);
    case TT_UNARY_tanh: return 1 - v * v;
    case TT_UNARY_hardswish: return v <= -3 ? 0 : v < 3 ? v / 3 + 0.5 : 1;
    case TT_UNARY_hardsigmoid: return v > 0 && v < 1 ? 1.0 / 6 : 0;
    case TT_UNARY_clamp: return v > a && v < b;
    case TT_UNARY_exp: return v;
    case TT_UNARY_log: return 1 / v;
    case TT_UNARY_log1p: return 1 / (1 + v);
    case TT_UNARY_sqrt: return 0.5 / v;
    case TT_UNARY_rsqrt: return -0.5 * v * v * v;
    case TT_UNARY_square: return 2 * v;
    case TT_UNARY_abs: return (v > 0) - (v < 0);
    case TT_UNARY_neg: return -1;
    case TT_UNARY_reciprocal: return -v * v;
    case TT_UNARY_sin: return cos(v);
    case TT_UNARY_cos: return -sin(v);
    case TT_UNARY_erf: return 2 / sqrt(acos(-1)) * exp(-v * v);
    case TT_UNARY_add_scalar: return 1;
    case TT_UNARY_mul_scalar: return a;
    case TT_UNARY_pow_scalar: return a == 0 ? 0 : a * pow(v, a - 1);
    case TT_UNARY_COUNT: break;
    }
    return NAN;
}

TtStatus tt_ref_unary(TtKernelArgs *k)
{
    const TtUnaryAttrs *u = k->attrs;
    for (int64_t i = 0, n = tt_tensor_count(&k->out[0]); i < n; i++) {
        double x = tt_ref_at(&k->in[0], tt_ref_linear(&k->in[0], i));
        tt_ref_put(&k->out[0], tt_ref_linear(&k->out[0], i), value(u->kind, x, u->a, u->b));
    }
    return TT_OK;
}

TtStatus tt_ref_unary_bwd(TtKernelArgs *k)
{
    const TtUnaryAttrs *u = k->attrs;
    for (int64_t i = 0, n = tt_tensor_count(&k->out[0]); i < n; i++) {
        double dy = tt_ref_at(&k->in[0], tt_ref_linear(&k->in[0], i));
        double v = tt_ref_at(&k->in[1], tt_ref_linear(&k->in[1], i));
        tt_ref_put(&k->out[0], tt_ref_linear(&k->out[0], i), dy * slope(u->kind, v, u->a, u->b));
    }
    return TT_OK;
}

TtStatus tt_ref_prelu(TtKernelArgs *k)
{
    int64_t channels = tt_tensor_count(&k->in[1]);
    for (int64_t i = 0, n = tt_tensor_count(&k->out[0]); i < n; i++) {
        double x = tt_ref_at(&k->in[0], tt_ref_linear(&k->in[0], i));
        double w = tt_ref_at(&k->in[1], tt_ref_linear(&k->in[1], i % channels));
        tt_ref_put(&k->out[0], i, x > 0 ? x : w * x);
    }
    return TT_OK;
}

/* dy, x, weight to dx, dweight. */
TtStatus tt_ref_prelu_bwd(TtKernelArgs *k)
{
    int64_t channels = tt_tensor_count(&k->in[2]), n = tt_tensor_count(&k->out[0]);
    for (int64_t c = 0; c < channels; c++) {
        double w = tt_ref_at(&k->in[2], tt_ref_linear(&k->in[2], c)), dw = 0;
        for (int64_t i = c; i < n; i += channels) {
            double dy = tt_ref_at(&k->in[0], tt_ref_linear(&k->in[0], i));
            double x = tt_ref_at(&k->in[1], tt_ref_linear(&k->in[1], i));
            tt_ref_put(&k->out[0], i, x > 0 ? dy : w * dy);
            if (!(x > 0)) dw += dy * x;
        }
        tt_ref_put(&k->out[1], c, dw);
    }
    return TT_OK;
}
