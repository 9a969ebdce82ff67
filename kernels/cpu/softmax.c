/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/softmax.c - along the last axis in rows; along another in tiles of columns. May run in place. */
#include "kernels/ops/softmax.h"

#include <math.h>

#include "kernels/cpu/lanes.h"

enum { COLUMNS = 64 };

/* x as (outer, n, inner). */
typedef struct Lines {
    int64_t outer, n, inner, tiles;
} Lines;

static Lines lines_of(const TtShape *s, int axis)
{
    Lines l = {.outer = 1, .n = s->dims[axis], .inner = 1};
    for (int k = 0; k < s->rank; k++)
        if (k != axis) *(k < axis ? &l.outer : &l.inner) *= s->dims[k];
    l.tiles = (l.inner + COLUMNS - 1) / COLUMNS;
    return l;
}

static void row(bool log_, const float *x, float *y, int64_t n)
{
    float top = tt_lanes_max(x, n);
    if (log_) {
        float c = (float)log(tt_lanes_sum_exp(x, top, NULL, n));
        for (int64_t i = 0; i < n; i++) y[i] = x[i] - top - c;
    } else {
        float scale = (float)(1.0 / tt_lanes_sum_exp(x, top, y, n));
        for (int64_t i = 0; i < n; i++) y[i] *= scale;
    }
}

static void columns(bool log_, const float *x, float *y, int64_t n, int64_t step, int width)
{
    float top[COLUMNS], c[COLUMNS];
    double sum[COLUMNS] = {0};
    for (int j = 0; j < width; j++) top[j] = x[j];
    for (int64_t i = 1; i < n; i++)
        for (int j = 0; j < width; j++) {
            float v = x[i * step + j];
            top[j] = tt_select((v > top[j]) | (v != v), v, top[j]);
        }
    for (int64_t i = 0; i < n; i++) {
        float e[COLUMNS];
#pragma omp simd
        for (int j = 0; j < width; j++) e[j] = tt_vexp(x[i * step + j] - top[j]);
        for (int j = 0; j < width; j++) sum[j] += (double)e[j];
        if (!log_) memcpy(y + i * step, e, sizeof *e * (size_t)width);
    }
    for (int j = 0; j < width; j++) c[j] = (float)(log_ ? log(sum[j]) : 1.0 / sum[j]);
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < width; j++) {
            int64_t at = i * step + j;
            y[at] = log_ ? x[at] - top[j] - c[j] : y[at] * c[j];
        }
}

TtStatus TT_CPU(softmax)(TtKernelArgs *k)
{
    const TtSoftmaxAttrs *a = k->attrs;
    if (k->in[0].dtype != TT_F32)
        return TT_FAIL(TT_EINTERNAL, "softmax has no CPU kernel for %s", tt_dtype_name(k->in[0].dtype));
    Lines l = lines_of(&k->in[0].shape, a->axis);
    const float *x = k->in[0].data;
    float *y = k->out[0].data;
    if (l.n == 0) return TT_OK;
#pragma omp parallel for schedule(static) if (l.outer * l.n * l.inner > TT_GRAIN / 4)
    for (int64_t t = 0; t < l.outer * l.tiles; t++) {
        int64_t col = t % l.tiles * COLUMNS, at = t / l.tiles * l.n * l.inner + col;
        if (l.inner == 1)
            row(a->log, x + at, y + at, l.n);
        else
            columns(a->log, x + at, y + at, l.n, l.inner, (int)TT_MIN(l.inner - col, (int64_t)COLUMNS));
    }
    return TT_OK;
}

static void row_bwd(bool log_, const float *dy, const float *y, float *dx, int64_t n)
{
    float sum = (float)(log_ ? tt_lanes_sum(dy, n) : tt_lanes_dot(dy, 0, y, n));
    if (log_) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) dx[i] = dy[i] - tt_vexp(y[i]) * sum;
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) dx[i] = y[i] * (dy[i] - sum);
    }
}

static void columns_bwd(bool log_, const float *dy, const float *y, float *dx, int64_t n, int64_t step, int width)
{
    double sum[COLUMNS] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < width; j++)
            sum[j] += (double)(log_ ? dy[i * step + j] : dy[i * step + j] * y[i * step + j]);
    for (int64_t i = 0; i < n; i++) {
        const float *d = dy + i * step, *v = y + i * step;
        float *out = dx + i * step;
        if (log_) {
#pragma omp simd
            for (int j = 0; j < width; j++) out[j] = d[j] - tt_vexp(v[j]) * (float)sum[j];
        } else {
#pragma omp simd
            for (int j = 0; j < width; j++) out[j] = v[j] * (d[j] - (float)sum[j]);
        }
    }
}

TtStatus TT_CPU(softmax_bwd)(TtKernelArgs *k)
{
    const TtSoftmaxAttrs *a = k->attrs;
    if (k->in[0].dtype != TT_F32)
        return TT_FAIL(TT_EINTERNAL, "softmax_bwd has no CPU kernel for %s", tt_dtype_name(k->in[0].dtype));
    Lines l = lines_of(&k->in[0].shape, a->axis);
    const float *dy = k->in[0].data, *y = k->in[1].data;
    float *dx = k->out[0].data;
#pragma omp parallel for schedule(static) if (l.outer * l.n * l.inner > TT_GRAIN / 4)
    for (int64_t t = 0; t < l.outer * l.tiles; t++) {
        int64_t col = t % l.tiles * COLUMNS, at = t / l.tiles * l.n * l.inner + col;
        if (l.inner == 1)
            row_bwd(a->log, dy + at, y + at, dx + at, l.n);
        else
            columns_bwd(a->log, dy + at, y + at, dx + at, l.n, l.inner, (int)TT_MIN(l.inner - col, (int64_t)COLUMNS));
    }
    return TT_OK;
}
