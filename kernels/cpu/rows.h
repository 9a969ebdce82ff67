/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/rows.h - channels-last data a run of channels at a time: as float32 whatever the tensor holds, and its
 * moments. */
#ifndef TT_KERNELS_CPU_ROWS_H
#define TT_KERNELS_CPU_ROWS_H

#include <string.h>

#include "kernels/cpu/block.h"

/* Channels handled at a time: the buffers for bfloat16 stay in the first-level cache. */
enum { TT_LANES = 256 };

/* n values from element AT as float: a pointer into the tensor when it is float32, else into BUF (TT_LANES floats). */
static inline const float *tt_row_load(const TtTensor *t, int64_t at, int64_t n, float *restrict buf)
{
    if (t->dtype == TT_F32) return (const float *)t->data + at;
    const uint16_t *restrict s = (const uint16_t *)t->data + at;
    for (int64_t i = 0; i < n; i++) buf[i] = tt_from_bf16(s[i]);
    return buf;
}

/* Where to write n floats meant for element AT; tt_row_store then brings them there if they are not yet. */
static inline float *tt_row_target(const TtTensor *t, int64_t at, float *buf)
{
    return t->dtype == TT_F32 ? (float *)t->data + at : buf;
}

static inline void tt_row_store(const TtTensor *t, int64_t at, int64_t n, const float *restrict v)
{
    if (t->dtype == TT_F32) return;
    uint16_t *restrict d = (uint16_t *)t->data + at;
    for (int64_t i = 0; i < n; i++) d[i] = tt_to_bf16(v[i]);
}

/* Sums of (x - k) and (x - k)^2 over ROWS rows of C channels from element AT, where k is the first row. It comes from
 * the very rows that are summed: whatever the mean is, and however far the first row lies from it, its distance counts
 * in the variance itself, so at most the factor ROWS in precision is lost. */
static inline void tt_rows_sums(const TtTensor *x, int64_t at, int64_t rows, int64_t c, float *sums, float *all_squares)
{
    for (int64_t c0 = 0; c0 < c; c0 += TT_LANES) {
        float shift[TT_LANES], buf[TT_LANES], *restrict sum = sums + c0, *restrict squares = all_squares + c0;
        int64_t n = TT_MIN((int64_t)TT_LANES, c - c0);
        memcpy(shift, tt_row_load(x, at + c0, n, buf), (size_t)n * sizeof *shift);
        for (int64_t i = 0; i < n; i++) sum[i] = squares[i] = 0;
        for (int64_t r = 1; r < rows; r++) {
            const float *restrict v = tt_row_load(x, at + r * c + c0, n, buf);
            for (int64_t i = 0; i < n; i++) {
                float u = v[i] - shift[i];
                sum[i] += u, squares[i] += u * u;
            }
        }
    }
}

/* Mean and sum of squared distances from it, of parts put together (Chan, Golub and LeVeque 1979). */
typedef struct TtMoments {
    double n, mean, scatter;
} TtMoments;

static inline void tt_moments_merge(TtMoments *m, TtMoments with)
{
    double d = with.mean - m->mean, all = m->n + with.n;
    m->scatter += with.scatter + d * d * m->n * with.n / all;
    m->mean += d * with.n / all;
    m->n = all;
}

/* Add the ROWS values whose tt_rows_sums are SUM and SQUARES, the first of them at element AT. */
static inline void tt_moments_add(TtMoments *m, const TtTensor *x, int64_t at, int64_t rows, float sum, float squares)
{
    float buf;
    double n = (double)rows, mean = (double)*tt_row_load(x, at, 1, &buf) + sum / n;
    tt_moments_merge(m, (TtMoments){n, mean, squares - (double)sum * sum / n});
}

#endif
