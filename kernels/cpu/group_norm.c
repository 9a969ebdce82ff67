/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/group_norm.c - group norm on (samples, rows, channels), rows split into chunks of fixed size.
 *
 * Sums are kept for every channel, so that channels are the inner, vectorised loop however few a group has; a group's
 * channels, and the chunks, are added in order, in double. What follows is a scale and an offset for every channel
 * of every sample. The scratch of a sample is its chunks' sums (two rows of channels each) and, for the gradient,
 * one row more. */
#include "kernels/ops/group_norm.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/rows.h"

enum { ROWS = TT_GROUP_NORM_ROWS, LANES = TT_LANES };

typedef struct Norm {
    TtGroupNormDims d;
    int64_t groups, per_group;
    float *parts, *extra;
} Norm;

static TtStatus open(Norm *o, const TtKernelArgs *a, const TtTensor *x)
{
    if (x->dtype != TT_F32 && x->dtype != TT_BF16)
        return TT_FAIL(TT_EINTERNAL, "%s has no CPU kernel for %s", a->op->name, tt_dtype_name(x->dtype));
    *o = (Norm){.d = tt_group_norm_dims(&x->shape), .groups = ((const TtGroupNormAttrs *)a->attrs)->groups};
    o->per_group = o->d.c / o->groups;
    o->parts = a->scratch;
    o->extra = o->parts + o->d.n * o->d.chunks * 2 * o->d.c; /* there for the gradient only */
    return TT_OK;
}

/* A sample's row of sums for chunk K: which 0 or 1. */
static float *part(const Norm *o, int64_t sample, int64_t k, int which)
{
    return o->parts + ((sample * o->d.chunks + k) * 2 + which) * o->d.c;
}

/* ---- forward */

static int64_t chunk_rows(const Norm *o, int64_t k)
{
    return TT_MIN((int64_t)ROWS, o->d.rows - k * ROWS);
}

/* The first element of a chunk. */
static int64_t chunk_at(const Norm *o, int64_t s, int64_t k)
{
    return (s * o->d.rows + k * ROWS) * o->d.c;
}

static void chunk_moments(const Norm *o, const TtTensor *x, int64_t s, int64_t k)
{
    tt_rows_sums(x, chunk_at(o, s, k), chunk_rows(o, k), o->d.c, part(o, s, k, 0), part(o, s, k, 1));
}

/* Moments of a group's channels in a chunk. A group may be all channels of a long sequence: its sums are read in the
 * order they lie in, twice, without a division for each. */
static TtMoments chunk_group(const Norm *o, const TtTensor *x, int64_t s, int64_t k, int64_t first)
{
    const float *sum = part(o, s, k, 0) + first, *squares = part(o, s, k, 1) + first;
    int64_t at = chunk_at(o, s, k) + first;
    double rows = (double)chunk_rows(o, k), share = 1 / rows, mean = 0, scatter = 0;
    float buf;
    for (int64_t c = 0; c < o->per_group; c++) mean += (double)*tt_row_load(x, at + c, 1, &buf) + sum[c] * share;
    mean /= (double)o->per_group;
    for (int64_t c = 0; c < o->per_group; c++) {
        double d = (double)*tt_row_load(x, at + c, 1, &buf) + sum[c] * share - mean;
        scatter += squares[c] - (double)sum[c] * sum[c] * share + rows * d * d;
    }
    return (TtMoments){rows * (double)o->per_group, mean, scatter};
}

/* Statistics of a group; then its channels' scale and offset take the place of chunk 0's sums. */
static void finish_group(const Norm *o, TtKernelArgs *a, int64_t s, int64_t g)
{
    const float *w = a->in[TT_GN_WEIGHT].data, *b = a->in[TT_GN_BIAS].data;
    float *scale = part(o, s, 0, 0), *offset = part(o, s, 0, 1);
    int64_t first = g * o->per_group, last = first + o->per_group;
    TtMoments m = {0};
    for (int64_t k = 0; k < o->d.chunks; k++) tt_moments_merge(&m, chunk_group(o, &a->in[TT_GN_X], s, k, first));
    double var = (m.scatter < 0 ? 0 : m.scatter) / m.n;
    double invstd = 1 / sqrt(var + ((const TtGroupNormAttrs *)a->attrs)->eps);
    ((float *)a->out[TT_GN_SAVE_MEAN].data)[s * o->groups + g] = (float)m.mean;
    ((float *)a->out[TT_GN_SAVE_INVSTD].data)[s * o->groups + g] = (float)invstd;
    for (int64_t c = first; c < last; c++) {
        double k = invstd * (w ? w[c] : 1);
        scale[c] = (float)k, offset[c] = (float)((b ? b[c] : 0) - m.mean * k);
    }
}

static void normalise_row(const Norm *o, TtKernelArgs *a, int64_t s, int64_t r)
{
    const TtTensor *x = &a->in[TT_GN_X], *y = &a->out[TT_GN_Y];
    for (int64_t c0 = 0; c0 < o->d.c; c0 += LANES) {
        float xb[LANES], yb[LANES];
        int64_t n = TT_MIN((int64_t)LANES, o->d.c - c0), at = (s * o->d.rows + r) * o->d.c + c0;
        const float *restrict v = tt_row_load(x, at, n, xb);
        const float *restrict k = part(o, s, 0, 0) + c0, *restrict b = part(o, s, 0, 1) + c0;
        float *restrict to = tt_row_target(y, at, yb);
        for (int64_t i = 0; i < n; i++) to[i] = v[i] * k[i] + b[i];
        tt_row_store(y, at, n, to);
    }
}

TtStatus TT_CPU(group_norm)(TtKernelArgs *a)
{
    Norm o;
    const TtTensor *x = &a->in[TT_GN_X];
    TT_TRY(open(&o, a, x));
    if (tt_tensor_count(x) == 0) {
        for (int k = TT_GN_SAVE_MEAN; k <= TT_GN_SAVE_INVSTD; k++)
            memset(a->out[k].data, 0, tt_tensor_bytes(&a->out[k]));
        return TT_OK;
    }
    bool wide = tt_tensor_count(x) > TT_GRAIN;
#pragma omp parallel for schedule(static) if (wide)
    for (int64_t t = 0; t < o.d.n * o.d.chunks; t++) chunk_moments(&o, x, t / o.d.chunks, t % o.d.chunks);
#pragma omp parallel for schedule(static) if (wide)
    for (int64_t t = 0; t < o.d.n * o.groups; t++) finish_group(&o, a, t / o.groups, t % o.groups);
#pragma omp parallel for schedule(static) if (wide)
    for (int64_t t = 0; t < o.d.n * o.d.rows; t++) normalise_row(&o, a, t / o.d.rows, t % o.d.rows);
    return TT_OK;
}

/* ---- gradient */

static void spread_mean(const Norm *o, const TtKernelArgs *a, int64_t s)
{
    const float *mean = (const float *)a->in[TT_GN_BWD_MEAN].data + s * o->groups;
    for (int64_t c = 0; c < o->d.c; c++) o->extra[s * o->d.c + c] = mean[c / o->per_group];
}

/* Sums of dy and of dy * (x - mean) over a chunk. */
static void chunk_sums(const Norm *o, const TtKernelArgs *a, int64_t s, int64_t k)
{
    int64_t first = k * ROWS, last = TT_MIN(first + ROWS, o->d.rows);
    for (int64_t c0 = 0; c0 < o->d.c; c0 += LANES) {
        int64_t n = TT_MIN((int64_t)LANES, o->d.c - c0);
        const float *restrict mean = o->extra + s * o->d.c + c0;
        float *restrict sum = part(o, s, k, 0) + c0, *restrict dot = part(o, s, k, 1) + c0, gb[LANES], xb[LANES];
        for (int64_t i = 0; i < n; i++) sum[i] = dot[i] = 0;
        for (int64_t r = first; r < last; r++) {
            int64_t at = (s * o->d.rows + r) * o->d.c + c0;
            const float *restrict g = tt_row_load(&a->in[TT_GN_BWD_DY], at, n, gb);
            const float *restrict v = tt_row_load(&a->in[TT_GN_BWD_X], at, n, xb);
            for (int64_t i = 0; i < n; i++) sum[i] += g[i], dot[i] += g[i] * (v[i] - mean[i]);
        }
    }
}

/* Of LANES channels from C0, so that the chunks' sums are read as they lie. */
static void finish_affine(const Norm *o, TtKernelArgs *a, int64_t c0)
{
    const float *invstd = a->in[TT_GN_BWD_INVSTD].data;
    double dw[LANES] = {0}, db[LANES] = {0}, scale[LANES];
    int64_t n = TT_MIN((int64_t)LANES, o->d.c - c0);
    for (int64_t s = 0; s < o->d.n; s++) {
        for (int64_t i = 0; i < n; i++) scale[i] = (double)invstd[s * o->groups + (c0 + i) / o->per_group];
        for (int64_t k = 0; k < o->d.chunks; k++) {
            const float *sum = part(o, s, k, 0) + c0, *dot = part(o, s, k, 1) + c0;
            for (int64_t i = 0; i < n; i++) db[i] += (double)sum[i], dw[i] += (double)dot[i] * scale[i];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        ((float *)a->out[1].data)[c0 + i] = (float)dw[i];
        ((float *)a->out[2].data)[c0 + i] = (float)db[i];
    }
}

/* dx = dy * k + x * p + q for each channel: k and p take the place of chunk 0's sums, q that of the mean. */
static void finish_gradient(const Norm *o, TtKernelArgs *a, int64_t s, int64_t g)
{
    const float *w = a->in[TT_GN_BWD_WEIGHT].data;
    double mean = ((const float *)a->in[TT_GN_BWD_MEAN].data)[s * o->groups + g];
    double invstd = ((const float *)a->in[TT_GN_BWD_INVSTD].data)[s * o->groups + g];
    int64_t first = g * o->per_group, last = first + o->per_group;
    double sum = 0, dot = 0, n = (double)(o->d.rows * o->per_group);
    for (int64_t k = 0; k < o->d.chunks; k++) {
        const float *v = part(o, s, k, 0), *q = part(o, s, k, 1);
        for (int64_t c = first; c < last; c++) {
            double weight = w ? w[c] : 1;
            sum += v[c] * weight, dot += q[c] * weight;
        }
    }
    double p = -invstd * invstd * invstd * dot / n, q = -invstd * sum / n - p * mean;
    for (int64_t c = first; c < last; c++) {
        part(o, s, 0, 0)[c] = (float)(invstd * (w ? w[c] : 1));
        part(o, s, 0, 1)[c] = (float)p;
        o->extra[s * o->d.c + c] = (float)q;
    }
}

static void gradient_row(const Norm *o, TtKernelArgs *a, int64_t s, int64_t r)
{
    const TtTensor *dx = &a->out[0];
    for (int64_t c0 = 0; c0 < o->d.c; c0 += LANES) {
        float gb[LANES], xb[LANES], ob[LANES];
        int64_t n = TT_MIN((int64_t)LANES, o->d.c - c0), at = (s * o->d.rows + r) * o->d.c + c0;
        const float *restrict g = tt_row_load(&a->in[TT_GN_BWD_DY], at, n, gb);
        const float *restrict v = tt_row_load(&a->in[TT_GN_BWD_X], at, n, xb);
        const float *restrict k = part(o, s, 0, 0) + c0, *restrict p = part(o, s, 0, 1) + c0;
        const float *restrict q = o->extra + s * o->d.c + c0;
        float *restrict to = tt_row_target(dx, at, ob);
        for (int64_t i = 0; i < n; i++) to[i] = g[i] * k[i] + v[i] * p[i] + q[i];
        tt_row_store(dx, at, n, to);
    }
}

TtStatus TT_CPU(group_norm_bwd)(TtKernelArgs *a)
{
    Norm o;
    const TtTensor *x = &a->in[TT_GN_BWD_X];
    TT_TRY(open(&o, a, x));
    if (tt_tensor_count(x) == 0) {
        for (int k = 1; k <= 2; k++) memset(a->out[k].data, 0, tt_tensor_bytes(&a->out[k]));
        return TT_OK;
    }
    bool wide = tt_tensor_count(x) > TT_GRAIN;
    for (int64_t s = 0; s < o.d.n; s++) spread_mean(&o, a, s);
#pragma omp parallel for schedule(static) if (wide)
    for (int64_t t = 0; t < o.d.n * o.d.chunks; t++) chunk_sums(&o, a, t / o.d.chunks, t % o.d.chunks);
    if (((const TtGroupNormAttrs *)a->attrs)->affine) {
#pragma omp parallel for schedule(static) if (wide)
        for (int64_t c = 0; c < o.d.c; c += LANES) finish_affine(&o, a, c);
    }
#pragma omp parallel for schedule(static) if (wide)
    for (int64_t t = 0; t < o.d.n * o.groups; t++) finish_gradient(&o, a, t / o.groups, t % o.groups);
#pragma omp parallel for schedule(static) if (wide)
    for (int64_t t = 0; t < o.d.n * o.d.rows; t++) gradient_row(&o, a, t / o.d.rows, t % o.d.rows);
    return TT_OK;
}
