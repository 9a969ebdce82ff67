/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/unary.c - functions of one element and their gradients, and prelu.
 * The loops may run in place (y == x, dx == dy). NaN must come out as NaN, also of relu and the clamps: a run that
 * diverges has to be seen. */
#include "kernels/ops/unary.h"

#include <math.h>

#include "kernels/cpu/block.h"

typedef void (*Forward)(const float *x, float *y, int n, float a, float b);
typedef void (*Backward)(const float *dy, const float *v, float *dx, int n, float a, float b);

static const float selu_scale = 1.05070098735548f, selu_scale_alpha = 1.75809934084737f;
static const float sqrt_half = 0.707106781186548f, inv_sqrt_2pi = 0.398942280401433f;
static const float gelu_k = 0.797884560802865f, gelu_c = 0.044715f, two_over_sqrt_pi = 1.12837916709551f;

static inline float positive_part(float x)
{
    return tt_select(x < 0.0f, 0.0f, x);
}

static inline float softplus(float x)
{
    return positive_part(x) + tt_vlog1p(tt_vexp(-tt_vabs(x)));
}

/* tanh(softplus(x)) = n / (n + 2) with n = e (e + 2), e = exp(x); it is 1 long before x is 20. */
static inline float mish_n(float x)
{
    float e = tt_vexp(tt_select(x > 20.0f, 20.0f, x));
    return e * (e + 2.0f);
}

static inline float gelu_inner(float x)
{
    return gelu_k * tt_mad(gelu_c * x, x * x, x);
}

/* y as an expression of v, a, b. */
#define FORWARD(name, expr)                                             \
    static void name(const float *x, float *y, int n, float a, float b) \
    {                                                                   \
        _Pragma("omp simd") for (int i = 0; i < n; i++)                 \
        {                                                               \
            const float v = x[i];                                       \
            y[i] = (expr);                                              \
        }                                                               \
    }
/* dx as an expression of d = dy, v, a, b. */
#define BACKWARD(name, expr)                                                                     \
    static void name##_bwd(const float *dy, const float *vs, float *dx, int n, float a, float b) \
    {                                                                                            \
        _Pragma("omp simd") for (int i = 0; i < n; i++)                                          \
        {                                                                                        \
            const float v = vs[i], d = dy[i];                                                    \
            dx[i] = (expr);                                                                      \
        }                                                                                        \
    }

FORWARD(do_relu, positive_part(v))
BACKWARD(do_relu, tt_select(v > 0.0f, d, 0.0f))
FORWARD(do_relu6, tt_vclamp(v, 0.0f, 6.0f))
BACKWARD(do_relu6, tt_select((v > 0.0f) & (v < 6.0f), d, 0.0f))
FORWARD(do_leaky_relu, tt_select(v > 0.0f, v, a *v))
BACKWARD(do_leaky_relu, tt_select(v > 0.0f, d, a *d))
FORWARD(do_elu, tt_select(v > 0.0f, v, a *tt_vexpm1(v)))
BACKWARD(do_elu, tt_select(v > 0.0f, d, d *(v + a)))
FORWARD(do_selu, tt_select(v > 0.0f, selu_scale *v, selu_scale_alpha *tt_vexpm1(v)))
BACKWARD(do_selu, d *tt_select(v > 0.0f, selu_scale, v + selu_scale_alpha))
FORWARD(do_gelu, 0.5f * v * (1.0f + tt_verf(v * sqrt_half)))
BACKWARD(do_gelu, d *tt_mad(v *inv_sqrt_2pi, tt_vexp(-0.5f * v * v), 0.5f * (1.0f + tt_verf(v * sqrt_half))))
FORWARD(do_gelu_tanh, 0.5f * v * (1.0f + tt_vtanh(gelu_inner(v))))
FORWARD(do_silu, v *tt_vsigmoid(v))
FORWARD(do_mish, v *tt_select(v > 20.0f, 1.0f, mish_n(v) / (mish_n(v) + 2.0f)))
FORWARD(do_softplus, tt_select(a *v > b, v, softplus(a *v) / a))
BACKWARD(do_softplus, d *tt_select(a *v > b, 1.0f, tt_vsigmoid(a *v)))
FORWARD(do_sigmoid, tt_vsigmoid(v))
BACKWARD(do_sigmoid, d *v *(1.0f - v))
FORWARD(do_tanh, tt_vtanh(v))
BACKWARD(do_tanh, d *(1.0f - v * v))
FORWARD(do_hardswish, v *tt_vclamp(v + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f))
BACKWARD(do_hardswish, tt_select(v <= -3.0f, 0.0f, d *tt_select(v < 3.0f, v *(1.0f / 3.0f) + 0.5f, 1.0f)))
FORWARD(do_hardsigmoid, tt_vclamp(v + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f))
BACKWARD(do_hardsigmoid, tt_select((v > 0.0f) & (v < 1.0f), d *(1.0f / 6.0f), 0.0f))
FORWARD(do_clamp, tt_vclamp(v, a, b))
BACKWARD(do_clamp, tt_select((v > a) & (v < b), d, 0.0f))
FORWARD(do_exp, tt_vexp(v))
BACKWARD(do_exp, d *v)
FORWARD(do_log, tt_vlog(v))
BACKWARD(do_log, d / v)
FORWARD(do_log1p, tt_vlog1p(v))
BACKWARD(do_log1p, d / (1.0f + v))
FORWARD(do_sqrt, sqrtf(v))
BACKWARD(do_sqrt, 0.5f * d / v)
FORWARD(do_rsqrt, 1.0f / sqrtf(v))
BACKWARD(do_rsqrt, -0.5f * d * (v * v * v))
FORWARD(do_square, v *v)
BACKWARD(do_square, 2.0f * d * v)
FORWARD(do_abs, tt_vabs(v))
BACKWARD(do_abs, tt_select(v > 0.0f, d, tt_select(v < 0.0f, -d, 0.0f)))
FORWARD(do_neg, -v)
FORWARD(do_reciprocal, 1.0f / v)
BACKWARD(do_reciprocal, -d *v *v)
FORWARD(do_sin, sinf(v))
BACKWARD(do_sin, d *cosf(v))
FORWARD(do_cos, cosf(v))
BACKWARD(do_cos, -d *sinf(v))
FORWARD(do_erf, tt_verf(v))
BACKWARD(do_erf, d *two_over_sqrt_pi *tt_vexp(-v *v))
FORWARD(do_add_scalar, v + a)
FORWARD(do_mul_scalar, v *a)
FORWARD(do_pow_scalar, powf(v, a))
BACKWARD(do_pow_scalar, a == 0.0f ? 0.0f : d * a * powf(v, a - 1.0f))

static inline float silu_slope(float v)
{
    float s = tt_vsigmoid(v);
    return s * tt_mad(v, 1.0f - s, 1.0f);
}
BACKWARD(do_silu, d *silu_slope(v))

static inline float mish_slope(float v)
{
    float n = mish_n(v), q = 1.0f / (n + 2.0f);
    return tt_mad(v * tt_vsigmoid(v), 4.0f * (n + 1.0f) * q * q, n * q); /* 1 - t^2 = 4 (n + 1) / (n + 2)^2 */
}
BACKWARD(do_mish, d *mish_slope(v))

static inline float gelu_tanh_slope(float v)
{
    float t = tt_vtanh(gelu_inner(v)), inner = gelu_k * tt_mad(3.0f * gelu_c * v, v, 1.0f);
    return 0.5f * tt_mad(v * (1.0f - t * t), inner, 1.0f + t);
}
BACKWARD(do_gelu_tanh, d *gelu_tanh_slope(v))

/* The gradients of these are other ops (kernels/ops/unary.c). */
#define do_neg_bwd NULL
#define do_add_scalar_bwd NULL
#define do_mul_scalar_bwd NULL
static const Forward forward[TT_UNARY_COUNT] = {
#define UNARY(name, saves, help) [TT_UNARY_##name] = do_##name,
#include "kernels/unary.def"
#undef UNARY
};
static const Backward backward[TT_UNARY_COUNT] = {
#define UNARY(name, saves, help) [TT_UNARY_##name] = do_##name##_bwd,
#include "kernels/unary.def"
#undef UNARY
};

static void forward_block(const float *const *in, float *out, int64_t start, int n, const void *attrs)
{
    const TtUnaryAttrs *u = attrs;
    forward[u->kind](in[0], out, n, (float)u->a, (float)u->b);
}

static void backward_block(const float *const *in, float *out, int64_t start, int n, const void *attrs)
{
    const TtUnaryAttrs *u = attrs;
    backward[u->kind](in[0], in[1], out, n, (float)u->a, (float)u->b);
}

TtStatus TT_CPU(unary)(TtKernelArgs *k)
{
    const TtUnaryAttrs *u = k->attrs;
    TT_TRY(tt_need_floats(k));
    TtBlocks b;
    tt_blocks_plan(&b, &k->out[0].shape, (const TtTensor *[]){&k->in[0]}, 1);
    tt_blocks_run(&b, 1, &k->out[0], forward_block, u);
    return TT_OK;
}

TtStatus TT_CPU(unary_bwd)(TtKernelArgs *k)
{
    const TtUnaryAttrs *u = k->attrs;
    TT_TRY(tt_need_floats(k));
    TT_ASSERT(backward[u->kind]);
    TtBlocks b;
    tt_blocks_plan(&b, &k->out[0].shape, (const TtTensor *[]){&k->in[0], &k->in[1]}, 2);
    tt_blocks_run(&b, 2, &k->out[0], backward_block, u);
    return TT_OK;
}
