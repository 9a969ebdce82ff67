/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/batch_norm.c - batch norm on (rows, channels), rows split into chunks of fixed size.
 *
 * Statistics: every chunk has its own sums, taken around its first row's values so that neither a large mean nor single
 * far values eat the variance's digits; chunks are combined in order, in double. Forward in training reads x twice and
 * writes y once; the gradient reads dy and x (and y, for the activation's mask) twice and writes dx once. Channels are
 * the inner loop and vectorise. bfloat16 is widened on load and rounded on store, a row at a time. */
#include "kernels/ops/batch_norm.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/rows.h"

enum { ROWS = TT_BATCH_NORM_ROWS, LANES = TT_LANES };

typedef struct Dims {
    int64_t rows, c, chunks;
} Dims;

static Dims dims_of(const TtTensor *x)
{
    Dims d = {.c = x->shape.dims[x->shape.rank - 1]};
    d.rows = d.c ? tt_tensor_count(x) / d.c : 0;
    d.chunks = (d.rows + ROWS - 1) / ROWS;
    return d;
}

/* ---- forward */

/* Batch statistics into save_mean and save_invstd; the running ones move. */
static void batch_statistics(TtKernelArgs *a, Dims d)
{
    const TtBatchNormAttrs *attrs = a->attrs;
    const TtTensor *x = &a->in[TT_BN_X];
    float *parts = a->scratch;
#pragma omp parallel for schedule(static) if (d.rows * d.c > TT_GRAIN)
    for (int64_t k = 0; k < d.chunks; k++)
        tt_rows_sums(x, k * ROWS * d.c, TT_MIN((int64_t)ROWS, d.rows - k * ROWS), d.c, parts + k * 2 * d.c,
                     parts + (k * 2 + 1) * d.c);

    int64_t *tracked = a->in[TT_BN_TRACKED].data;
    double momentum = attrs->momentum;
    ++*tracked;
    if (momentum < 0) momentum = 1.0 / (double)*tracked;
    float *mean = a->out[TT_BN_SAVE_MEAN].data, *invstd = a->out[TT_BN_SAVE_INVSTD].data;
    float *running_mean = a->in[TT_BN_MEAN].data, *running_var = a->in[TT_BN_VAR].data;
#pragma omp parallel for schedule(static) if (d.chunks * d.c > TT_GRAIN)
    for (int64_t c = 0; c < d.c; c++) {
        TtMoments m = {0};
        for (int64_t k = 0; k < d.chunks; k++)
            tt_moments_add(&m, x, k * ROWS * d.c + c, TT_MIN((int64_t)ROWS, d.rows - k * ROWS), parts[k * 2 * d.c + c],
                           parts[(k * 2 + 1) * d.c + c]);
        double scatter = m.scatter < 0 ? 0 : m.scatter, n = (double)d.rows;
        mean[c] = (float)m.mean;
        invstd[c] = (float)(1 / sqrt(scatter / n + attrs->eps));
        running_mean[c] = (float)((1 - momentum) * running_mean[c] + momentum * m.mean);
        running_var[c] = (float)((1 - momentum) * running_var[c] + momentum * scatter / (n - 1));
    }
}

static void normalise_row(TtKernelArgs *a, Dims d, int64_t r, const float *scale, const float *offset)
{
    const TtBatchNormAttrs *attrs = a->attrs;
    const TtTensor *x = &a->in[TT_BN_X], *y = &a->out[TT_BN_Y];
    bool residual = a->nin > TT_BN_RESIDUAL && a->in[TT_BN_RESIDUAL].data;
    for (int64_t c0 = 0; c0 < d.c; c0 += LANES) {
        float xb[LANES], rb[LANES], yb[LANES];
        int64_t n = TT_MIN((int64_t)LANES, d.c - c0), at = r * d.c + c0;
        const float *restrict v = tt_row_load(x, at, n, xb), *restrict k = scale + c0, *restrict b = offset + c0;
        float *restrict o = tt_row_target(y, at, yb);
        if (residual) {
            const float *restrict s = tt_row_load(&a->in[TT_BN_RESIDUAL], at, n, rb);
            for (int64_t i = 0; i < n; i++) o[i] = v[i] * k[i] + b[i] + s[i];
        } else {
            for (int64_t i = 0; i < n; i++) o[i] = v[i] * k[i] + b[i];
        }
        if (attrs->relu)
            for (int64_t i = 0; i < n; i++) o[i] = o[i] < 0 ? 0 : o[i]; /* NaN stays NaN */
        tt_row_store(y, at, n, o);
    }
}

TtStatus TT_CPU(batch_norm)(TtKernelArgs *a)
{
    const TtBatchNormAttrs *attrs = a->attrs;
    Dims d = dims_of(&a->in[TT_BN_X]);
    float *mean = a->out[TT_BN_SAVE_MEAN].data, *invstd = a->out[TT_BN_SAVE_INVSTD].data;
    if (attrs->training && d.rows > 0) {
        batch_statistics(a, d);
    } else {
        memcpy(mean, a->in[TT_BN_MEAN].data, (size_t)d.c * sizeof(float));
        for (int64_t c = 0; c < d.c; c++)
            invstd[c] = (float)(1 / sqrt(((const float *)a->in[TT_BN_VAR].data)[c] + attrs->eps));
    }
    /* y = x * scale + offset: the scratch is free again */
    float *scale = a->scratch, *offset = scale + d.c;
    const float *w = a->in[TT_BN_WEIGHT].data, *b = a->in[TT_BN_BIAS].data;
    for (int64_t c = 0; c < d.c; c++) scale[c] = w[c] * invstd[c], offset[c] = b[c] - mean[c] * scale[c];
#pragma omp parallel for schedule(static) if (d.rows * d.c > TT_GRAIN)
    for (int64_t r = 0; r < d.rows; r++) normalise_row(a, d, r, scale, offset);
    return TT_OK;
}

/* ---- gradient */

/* Sums of d and d * (x - mean) over a chunk, where d is dy behind the activation's mask; with a mask d is stored. */
static void chunk_sums(TtKernelArgs *a, Dims d, int64_t chunk, float *restrict sum, float *restrict dot)
{
    const TtBatchNormAttrs *attrs = a->attrs;
    const float *mean = a->in[3].data;
    int64_t first = chunk * ROWS, last = TT_MIN(first + ROWS, d.rows);
    memset(sum, 0, (size_t)d.c * sizeof *sum);
    memset(dot, 0, (size_t)d.c * sizeof *dot);
    for (int64_t r = first; r < last; r++)
        for (int64_t c0 = 0; c0 < d.c; c0 += LANES) {
            float gb[LANES], xb[LANES], yb[LANES], mb[LANES];
            int64_t n = TT_MIN((int64_t)LANES, d.c - c0), at = r * d.c + c0;
            const float *g = tt_row_load(&a->in[0], at, n, gb), *restrict x = tt_row_load(&a->in[1], at, n, xb);
            const float *restrict m = mean + c0;
            if (attrs->relu) {
                const float *restrict y = tt_row_load(&a->in[5], at, n, yb), *restrict from = g;
                float *restrict o = tt_row_target(&a->out[3], at, mb);
                for (int64_t i = 0; i < n; i++) o[i] = y[i] > 0 ? from[i] : 0;
                tt_row_store(&a->out[3], at, n, o);
                g = o;
            }
            float *restrict s = sum + c0, *restrict q = dot + c0;
            for (int64_t i = 0; i < n; i++) s[i] += g[i], q[i] += g[i] * (x[i] - m[i]);
        }
}

/* dx = g * k + x * p + q, channel by channel. */
static void gradient_row(TtKernelArgs *a, Dims d, int64_t r, const float *k, const float *p, const float *q)
{
    const TtTensor *g = ((const TtBatchNormAttrs *)a->attrs)->relu ? &a->out[3] : &a->in[0];
    for (int64_t c0 = 0; c0 < d.c; c0 += LANES) {
        float gb[LANES], xb[LANES], ob[LANES];
        int64_t n = TT_MIN((int64_t)LANES, d.c - c0), at = r * d.c + c0;
        const float *restrict gv = tt_row_load(g, at, n, gb), *restrict xv = tt_row_load(&a->in[1], at, n, xb);
        float *restrict o = tt_row_target(&a->out[0], at, ob);
        for (int64_t i = 0; i < n; i++) o[i] = gv[i] * k[c0 + i] + xv[i] * p[c0 + i] + q[c0 + i];
        tt_row_store(&a->out[0], at, n, o);
    }
}

TtStatus TT_CPU(batch_norm_bwd)(TtKernelArgs *a)
{
    const TtBatchNormAttrs *attrs = a->attrs;
    Dims d = dims_of(&a->in[1]);
    float *parts = a->scratch;
#pragma omp parallel for schedule(static) if (d.rows * d.c > TT_GRAIN)
    for (int64_t k = 0; k < d.chunks; k++) chunk_sums(a, d, k, parts + k * 2 * d.c, parts + (k * 2 + 1) * d.c);

    const float *w = a->in[2].data, *mean = a->in[3].data, *invstd = a->in[4].data;
    float *dw = a->out[1].data, *db = a->out[2].data;
    /* Chunk 0's place in the scratch is taken over: a channel's sums are read before its k and p are written there. */
    float *k = parts, *p = parts + d.c, *q = parts + d.chunks * 2 * d.c;
#pragma omp parallel for schedule(static) if (d.chunks * d.c > TT_GRAIN)
    for (int64_t c = 0; c < d.c; c++) {
        double sum = 0, dot = 0;
        for (int64_t i = 0; i < d.chunks; i++) sum += parts[i * 2 * d.c + c], dot += parts[(i * 2 + 1) * d.c + c];
        db[c] = (float)sum;
        dw[c] = (float)(dot * invstd[c]);
        double scale = (double)w[c] * invstd[c], n = (double)d.rows;
        double px = attrs->training ? -scale * invstd[c] * invstd[c] * dot / n : 0;
        double qx = attrs->training ? -scale * sum / n - px * mean[c] : 0;
        k[c] = (float)scale, p[c] = (float)px, q[c] = (float)qx;
    }
#pragma omp parallel for schedule(static) if (d.rows * d.c > TT_GRAIN)
    for (int64_t r = 0; r < d.rows; r++) gradient_row(a, d, r, k, p, q);
    return TT_OK;
}
