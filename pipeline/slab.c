/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/slab.c - arithmetic over whole slabs: norms, clipping, moving averages. */
#include <math.h>

#include "pipeline/optimizer.h"

/* In double, eight sums side by side, added in a fixed order: the same result on every machine. */
double tt_chunk_squares(const float *x, int64_t n)
{
    double sums[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
#pragma omp simd
        for (int k = 0; k < 8; k++) sums[k] += (double)x[i + k] * x[i + k];
    for (int k = 0; i < n; i++, k++) sums[k] += (double)x[i] * x[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double tt_sum_squares(const float *x, int64_t n, double *partial)
{
    int64_t chunks = (n + TT_NORM_CHUNK - 1) / TT_NORM_CHUNK;
    double total = 0;
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < chunks; c++)
        partial[c] = tt_chunk_squares(x + c * TT_NORM_CHUNK, TT_MIN((int64_t)TT_NORM_CHUNK, n - c * TT_NORM_CHUNK));
    for (int64_t c = 0; c < chunks; c++) total += partial[c];
    return total;
}

double tt_clip_scale(double norm, double max_norm)
{
    return fmin(max_norm / (norm + 1e-6), 1);
}

void tt_clip_value(float *grad, int64_t n, double limit)
{
    float top = (float)limit;
    /* NaN stays NaN, for the check that follows. */
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++) grad[i] = grad[i] > top ? top : grad[i] < -top ? -top : grad[i];
}

void tt_ema_update(float *ema, const float *x, int64_t n, double decay)
{
    float w = (float)(1 - decay);
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++) ema[i] += w * (x[i] - ema[i]);
}
