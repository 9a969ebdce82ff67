/* SPDX-License-Identifier: Apache-2.0 */
/* vision/rows.h - the inner loops of the transforms, compiled once per instruction set.
 *
 * rows.c is built with -DTT_ISA=c, avx2 and avx512; each build exports one table, and tt_rows() gives the one for
 * this machine (TT_CPU overrides, as for the kernels). Every table gives the same bits: integers are exact, and
 * floating point is plain float or double arithmetic, never contracted (-std=c11), so a picture does not depend
 * on the machine that made it. */
#ifndef TT_VISION_ROWS_H
#define TT_VISION_ROWS_H

#include "tensor/status.h"

/* Weighted sums that make one axis of n outputs: output i is the sum over k < count[i] of
 * weight[i * stride + k] * source[start[i] + k]. */
typedef struct TtTaps {
    int n;
    int stride;     /* weights per output, a multiple of 4; those from count[i] on are 0 */
    int first, end; /* sources first..end-1 are used by any output */
    int shift;      /* w16 has this many fractional bits */
    int32_t *start, *count;
    int16_t *w16; /* for uint8 */
    float *w32;   /* for float32 */
} TtTaps;

typedef struct TtRows {
    /* Along a row of c interleaved channels, for `rows` rows. READABLE: bytes that may be read from src on. */
    void (*taps_h_u8)(const uint8_t *src, size_t stride, size_t readable, int rows, int c, const TtTaps *t,
                      uint8_t *dst, size_t dst_stride);
    void (*taps_h_f32)(const float *src, size_t stride, int rows, int c, const TtTaps *t, float *dst,
                       size_t dst_stride); /* strides in floats */
    /* Across rows: dst[x] = sum of w[k] * src[k * stride + x], x < n, over count sources. */
    void (*taps_v_u8)(const uint8_t *src, size_t stride, int count, const int16_t *w, int shift, size_t n,
                      uint8_t *dst);
    void (*taps_v_f32)(const float *src, size_t stride, int count, const float *w, size_t n, float *dst);
    /* dst[x] = sum of w[k] * src[x + k * step]. */
    void (*convolve)(const float *src, size_t step, int count, const float *w, size_t n, float *dst);

    void (*load_u8)(const uint8_t *src, size_t n, float *dst);
    void (*load_u16)(const uint16_t *src, size_t n, float *dst);
    /* Limited to the type's range, then truncated (NaN gives 0). */
    void (*store_u8)(const float *src, size_t n, uint8_t *dst);
    void (*store_u16)(const float *src, size_t n, uint16_t *dst);
    void (*round)(float *x, size_t n); /* to the nearest integer, ties to even; |x| < 2^22 */

    /* dst = (src * scale - mean) / std, each step rounded to float; mean and std repeat every TT_ROW_PATTERN. */
    void (*normalize_u8)(const uint8_t *src, size_t n, float scale, const float *mean, const float *std, float *dst);
    void (*normalize_u16)(const uint16_t *src, size_t n, float scale, const float *mean, const float *std, float *dst);
    void (*normalize_f32)(const float *src, size_t n, const float *mean, const float *std, float *dst);
    void (*scale)(float *x, size_t n, float factor);

    /* x = x * ratio + other * (1 - ratio) with the second product not rounded, limited to [0, bound]. */
    void (*blend)(float *x, const float *other, size_t n, float ratio, float rest, float bound);
    /* Pictures of three channels: r, g, b in [0,1], hue turned by `by` (in turns, -0.5 to 0.5). */
    void (*hue)(float *r, float *g, float *b, size_t n, float by);
} TtRows;

/* A multiple of every number of channels that has a pattern (1 to 4, 6, 8). */
enum { TT_ROW_PATTERN = 48 };

const TtRows *tt_rows(void);
/* The table of one instruction set by name, or NULL when this machine or build lacks it; for tests. */
const TtRows *tt_rows_of(const char *isa);

#endif
