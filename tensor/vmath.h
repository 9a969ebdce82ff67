/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/vmath.h - elementary functions that GCC vectorises.
 *
 * Each is written for one float without a branch: choices are made on bit patterns, since the compiler may not
 * turn a branch around floating-point work into a mask while exceptions count as observable. Called from a
 * `#pragma omp simd` loop they run as many lanes as the instruction set has; called singly they give the same
 * bits. Polynomials are minimax fits (Remez) of our own. Error bounds are against the exact value, in units of
 * the last place, measured over every float of the stated range at the three instruction sets (tests/test_vmath.c
 * samples them). NaN comes out as NaN. */
#ifndef TT_TENSOR_VMATH_H
#define TT_TENSOR_VMATH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t tt_bits(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static inline float tt_from_bits(uint32_t u)
{
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* c ? a : b without a branch. */
static inline float tt_select(bool c, float a, float b)
{
    uint32_t m = -(uint32_t)c;
    return tt_from_bits((tt_bits(a) & m) | (tt_bits(b) & ~m));
}

/* a*b + c, with one rounding where the instruction set has it. With TT_VMATH_UNFUSED defined there are always two: the
 * same bits at every instruction set, for up to 1 ulp more. */
static inline float tt_mad(float a, float b, float c)
{
#if defined(__FMA__) && !defined(TT_VMATH_UNFUSED)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

static inline float tt_vabs(float x)
{
    return tt_from_bits(tt_bits(x) & 0x7fffffffu);
}

static inline float tt_vsign(float magnitude, float sign)
{
    return tt_from_bits((tt_bits(magnitude) & 0x7fffffffu) | (tt_bits(sign) & 0x80000000u));
}

/* Limit to [lo, hi]; NaN stays. */
static inline float tt_vclamp(float x, float lo, float hi)
{
    float t = tt_select(x < lo, lo, x);
    return tt_select(t > hi, hi, t);
}

/* The nearest integer of |x| < 2^22, as a float. */
static inline float tt_vround(float x)
{
    return x + 0x1.8p23f - 0x1.8p23f;
}

/* 2^n for -126 <= n <= 127. */
static inline float tt_vpow2(int32_t n)
{
    return tt_from_bits((uint32_t)(n + 127) << 23);
}

/* x = n ln 2 + r with |r| <= ln 2 / 2; gives exp(r) - 1. ln 2 is split so that n times its head is exact. */
static inline float tt_vexp_reduced(float x, float *n)
{
    *n = tt_vround(x * 0x1.715476p0f);
    float r = tt_mad(*n, -0x1.62e4p-1f, x);
    r = tt_mad(*n, -0x1.7f7d1cp-20f, r);
    float p = 0x1.6db454p-10f;
    p = tt_mad(p, r, 0x1.123b9p-7f);
    p = tt_mad(p, r, 0x1.55545ep-5f);
    p = tt_mad(p, r, 0x1.55548ep-3f);
    p = tt_mad(p, r, 0.5f);
    return tt_mad(p, r * r, r);
}

/* exp: 1.1 ulp; gradual underflow to 0 below -103.97, infinity above 88.72. */
static inline float tt_vexp(float x)
{
    float n, q = tt_vexp_reduced(tt_vclamp(x, -105.0f, 89.0f), &n);
    int32_t k = (int32_t)tt_select(n == n, n, 0.0f), half = k >> 1; /* two factors: 2^k may be out of range */
    return (q + 1.0f) * tt_vpow2(half) * tt_vpow2(k - half);
}

/* exp(x) - 1 for x <= 80 (larger counts as 80): 2 ulp. */
static inline float tt_vexpm1(float x)
{
    float n, q = tt_vexp_reduced(tt_vclamp(x, -80.0f, 80.0f), &n);
    float s = tt_vpow2((int32_t)tt_select(n == n, n, 0.0f));
    return tt_mad(s, q, s - 1.0f);
}

/* log: 1 ulp over all positive floats, subnormal ones included; log(0) = -inf, negative gives NaN. */
static inline float tt_vlog(float x)
{
    bool tiny = x < 0x1p-126f;
    float v = x * tt_select(tiny, 0x1p23f, 1.0f);
    /* Take the exponent so that the mantissa lies in [sqrt(1/2), sqrt(2)). */
    uint32_t u = tt_bits(v) - 0x3f3504f3u;
    float k = (float)((int32_t)u >> 23) - tt_select(tiny, 23.0f, 0.0f);
    float f = tt_from_bits((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f, ff = f * f;
    float p = 0x1.1457ap-4f;
    p = tt_mad(p, f, -0x1.de3ad8p-4f);
    p = tt_mad(p, f, 0x1.e6efc2p-4f);
    p = tt_mad(p, f, -0x1.fc223ap-4f);
    p = tt_mad(p, f, 0x1.233778p-3f);
    p = tt_mad(p, f, -0x1.555c4cp-3f);
    p = tt_mad(p, f, 0x1.99a4b4p-3f);
    p = tt_mad(p, f, -0x1.000006p-2f);
    p = tt_mad(p, f, 0x1.555548p-2f);
    float tail = tt_mad(p, ff * f, k * 0x1.7f7d1cp-20f); /* k ln 2, its small half */
    float y = tt_mad(k, 0x1.62e4p-1f, tt_mad(-0.5f, ff, tail) + f);
    y = tt_select(x == 0.0f, -__builtin_inff(), y);
    y = tt_select(x == __builtin_inff(), x, y);
    return tt_select(x >= 0.0f, y, __builtin_nanf(""));
}

/* log(1 + x) for x > -1: 3 ulp (Kahan: the rounding of 1 + x is undone to first order). */
static inline float tt_vlog1p(float x)
{
    float u = 1.0f + x, l = tt_vlog(u), c = (x - (u - 1.0f)) / u;
    float y = tt_select(u < 0x1p24f, l + c, l);
    y = tt_select(u > 0.0f, y, l);
    return tt_select(u == 1.0f, x, y);
}

/* tanh: 3 ulp. */
static inline float tt_vtanh(float x)
{
    float e = tt_vexpm1(2.0f * tt_vclamp(tt_vabs(x), 0.0f, 10.0f));
    return tt_vsign(e / (e + 2.0f), x);
}

/* 1 / (1 + exp(-x)): 2.5 ulp from -87 up; 0 below -88.7. */
static inline float tt_vsigmoid(float x)
{
    return 1.0f / (1.0f + tt_vexp(-x));
}

/* erf: 2 ulp. Below 1 a series in x^2, above it 1 - exp(-p(x)). */
static inline float tt_verf(float x)
{
    float a = tt_vabs(x), t = a * a, c = tt_vclamp(a, 0.0f, 4.0f);
    float p = 0x1.496a1cp-14f;
    p = tt_mad(p, t, -0x1.a3f6f6p-11f);
    p = tt_mad(p, t, 0x1.5405bp-8f);
    p = tt_mad(p, t, -0x1.b7f90cp-6f);
    p = tt_mad(p, t, 0x1.ce2cf8p-4f);
    p = tt_mad(p, t, -0x1.81273ep-2f);
    p = tt_mad(p, t, 0x1.06eba8p-3f);
    float q = -0x1.18bbcap-23f;
    q = tt_mad(q, c, 0x1.8b909p-16f);
    q = tt_mad(q, c, -0x1.db1156p-12f);
    q = tt_mad(q, c, 0x1.163806p-8f);
    q = tt_mad(q, c, -0x1.9e6ea6p-6f);
    q = tt_mad(q, c, 0x1.bc8e94p-4f);
    q = tt_mad(q, c, 0x1.4428f4p-1f);
    q = tt_mad(q, c, 0x1.212eeap0f);
    q = tt_mad(q, c, -0x1.9c7214p-13f);
    float y = tt_select(a < 1.0f, tt_mad(p, a, a), 1.0f - tt_vexp(-q));
    return tt_vsign(tt_select(a == a, y, a), x);
}

#endif
