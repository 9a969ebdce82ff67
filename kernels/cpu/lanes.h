/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/lanes.h - sums and maxima of neighbours in 16 lanes: element i always goes to lane i % 16 and the lanes
 * are added in double in order, so that the result is the same whatever the vector length is. */
#ifndef TT_KERNELS_CPU_LANES_H
#define TT_KERNELS_CPU_LANES_H

#include "kernels/cpu/cpu.h"
#include "tensor/vmath.h"

enum { TT_SUM_LANES = 16 };

/* M of 16 lanes in and out of memory; the others are 0 and not written. */
static inline void tt_lanes_load(float *restrict v, const float *p, int64_t m)
{
    if (m >= TT_SUM_LANES) {
        memcpy(v, p, TT_SUM_LANES * sizeof *v);
        return;
    }
    memset(v, 0, TT_SUM_LANES * sizeof *v);
    if (m > 0) memcpy(v, p, (size_t)m * sizeof *v);
}

static inline void tt_lanes_save(float *p, const float *restrict v, int64_t m)
{
    if (m >= TT_SUM_LANES)
        memcpy(p, v, TT_SUM_LANES * sizeof *v);
    else
        memcpy(p, v, (size_t)m * sizeof *v);
}

static inline double tt_lanes_total(const float lane[TT_SUM_LANES])
{
    double sum = 0;
    for (int l = 0; l < TT_SUM_LANES; l++) sum += (double)lane[l];
    return sum;
}

static inline double tt_lanes_sum(const float *x, int64_t n)
{
    float lane[TT_SUM_LANES] = {0};
    int64_t i = 0;
    for (; i + TT_SUM_LANES <= n; i += TT_SUM_LANES) {
#pragma omp simd
        for (int l = 0; l < TT_SUM_LANES; l++) lane[l] += x[i + l];
    }
    for (int l = 0; i + l < n; l++) lane[l] += x[i + l];
    return tt_lanes_total(lane);
}

/* sum of (x_i - c) y_i; Y NULL means ones. */
static inline double tt_lanes_dot(const float *x, float c, const float *y, int64_t n)
{
    float lane[TT_SUM_LANES] = {0};
    int64_t i = 0;
    for (; i + TT_SUM_LANES <= n; i += TT_SUM_LANES) {
        if (y) {
#pragma omp simd
            for (int l = 0; l < TT_SUM_LANES; l++) lane[l] = tt_mad(x[i + l] - c, y[i + l], lane[l]);
        } else {
#pragma omp simd
            for (int l = 0; l < TT_SUM_LANES; l++) lane[l] += x[i + l] - c;
        }
    }
    for (int l = 0; i + l < n; l++) lane[l] = tt_mad(x[i + l] - c, y ? y[i + l] : 1.0f, lane[l]);
    return tt_lanes_total(lane);
}

/* sum of (x_i - c)^2. */
static inline double tt_lanes_squares(const float *x, float c, int64_t n)
{
    float lane[TT_SUM_LANES] = {0};
    int64_t i = 0;
    for (; i + TT_SUM_LANES <= n; i += TT_SUM_LANES) {
#pragma omp simd
        for (int l = 0; l < TT_SUM_LANES; l++) lane[l] = tt_mad(x[i + l] - c, x[i + l] - c, lane[l]);
    }
    for (int l = 0; i + l < n; l++) lane[l] = tt_mad(x[i + l] - c, x[i + l] - c, lane[l]);
    return tt_lanes_total(lane);
}

/* The maximum; NaN wins; -inf of nothing. */
static inline float tt_lanes_max(const float *x, int64_t n)
{
    float lane[TT_SUM_LANES], top = -__builtin_inff();
    for (int l = 0; l < TT_SUM_LANES; l++) lane[l] = top;
    int64_t i = 0;
    for (; i + TT_SUM_LANES <= n; i += TT_SUM_LANES) {
#pragma omp simd
        for (int l = 0; l < TT_SUM_LANES; l++) {
            float v = x[i + l], a = lane[l];
            lane[l] = tt_select((v > a) | (v != v), v, a);
        }
    }
    for (int l = 0; i + l < n; l++)
        if (x[i + l] > lane[l] || x[i + l] != x[i + l]) lane[l] = x[i + l];
    for (int l = 0; l < TT_SUM_LANES; l++)
        if (lane[l] > top || lane[l] != lane[l]) top = lane[l];
    return top;
}

/* sum of exp(x_i - c); the exponentials are stored in OUT unless that is NULL. */
static inline double tt_lanes_sum_exp(const float *x, float c, float *out, int64_t n)
{
    float lane[TT_SUM_LANES] = {0}, e[TT_SUM_LANES];
    for (int64_t i = 0; i < n; i += TT_SUM_LANES) {
        int m = (int)TT_MIN(n - i, (int64_t)TT_SUM_LANES);
        if (m == TT_SUM_LANES) {
#pragma omp simd
            for (int l = 0; l < TT_SUM_LANES; l++) e[l] = tt_vexp(x[i + l] - c);
        } else {
            for (int l = 0; l < m; l++) e[l] = tt_vexp(x[i + l] - c);
        }
        for (int l = 0; l < m; l++) lane[l] += e[l];
        if (out) memcpy(out + i, e, sizeof *e * (size_t)m);
    }
    return tt_lanes_total(lane);
}

#endif
