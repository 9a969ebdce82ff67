/* SPDX-License-Identifier: Apache-2.0 */
/* audio/loops.c - inner loops of the sound transforms (compiled once per instruction set; see loops.h). */
#define TT_VMATH_UNFUSED /* the same bits at every instruction set */
#include "audio/loops.h"

#include "tensor/vmath.h"

#ifndef TT_ISA
#define TT_ISA c
#endif
#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)

enum { LANES = TT_BAND_LANES };
typedef float V __attribute__((vector_size(4 * LANES), aligned(4)));

static void power(const float *restrict z, size_t n, float scale, float *restrict y)
{
    for (size_t i = 0; i < n; i++) y[i] = (z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1]) * scale;
}

static void magnitude(const float *restrict z, size_t n, float scale, float *restrict y)
{
    for (size_t i = 0; i < n; i++) y[i] = __builtin_sqrtf(z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1]) * scale;
}

/* Four rows share each load of the weights. */
static void bands4(const TtBands *b, const float *x, size_t x_stride, float *y, size_t y_stride)
{
    for (int g = 0; g < b->groups; g++) {
        const float *w = b->w + b->at[g], *p = x + b->start[g];
        V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (int32_t k = 0; k < b->count[g]; k++, p++, w += LANES) {
            const V v = *(const V *)(const void *)w;
            s0 += v * p[0], s1 += v * p[x_stride], s2 += v * p[2 * x_stride], s3 += v * p[3 * x_stride];
        }
        const size_t m = sizeof(float) * (size_t)TT_MIN(b->n_out - g * LANES, LANES);
        float *q = y + (size_t)g * LANES;
        memcpy(q, &s0, m), memcpy(q + y_stride, &s1, m), memcpy(q + 2 * y_stride, &s2, m);
        memcpy(q + 3 * y_stride, &s3, m);
    }
}

static void bands(const TtBands *b, const float *x, size_t x_stride, size_t rows, float *y, size_t y_stride)
{
    size_t r = 0;
    for (; r + 4 <= rows; r += 4) bands4(b, x + r * x_stride, x_stride, y + r * y_stride, y_stride);
    for (; r < rows; r++)
        for (int g = 0; g < b->groups; g++) {
            const float *w = b->w + b->at[g], *p = x + r * x_stride + b->start[g];
            V s = {0};
            for (int32_t k = 0; k < b->count[g]; k++, w += LANES) s += *(const V *)(const void *)w * p[k];
            memcpy(y + r * y_stride + (size_t)g * LANES, &s,
                   sizeof(float) * (size_t)TT_MIN(b->n_out - g * LANES, LANES));
        }
}

static void dots(const float *x, const int32_t *start, const float *w, size_t taps, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++, w += taps) {
        const float *p = x + start[i];
        V s = {0};
        for (size_t k = 0; k < taps; k += LANES)
            s += *(const V *)(const void *)(w + k) * *(const V *)(const void *)(p + k);
        float l[LANES];
        memcpy(l, &s, sizeof l);
        for (int h = LANES / 2; h > 0; h /= 2)
            for (int k = 0; k < h; k++) l[k] += l[k + h];
        y[i] = l[0];
    }
}

static void log_of(float *x, size_t n, float eps)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) x[i] = tt_vlog(x[i] + eps);
}

static void decibel(float *x, size_t n, float multiplier, float least)
{
    const float by = multiplier * 0x1.bcb7b2p-2f; /* 1 / ln 10 */
#pragma omp simd
    for (size_t i = 0; i < n; i++) x[i] = by * tt_vlog(tt_select(x[i] < least, least, x[i]));
}

static void normalize(float *x, size_t n, float mean, float std)
{
    for (size_t i = 0; i < n; i++) x[i] = (x[i] - mean) / std;
}

static void scale_by(float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) x[i] *= scale;
}

static void clamp(float *x, size_t n, float lo, float hi)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) x[i] = tt_vclamp(x[i], lo, hi);
}

static float max_of(const float *x, size_t n)
{
    float top[LANES];
    for (int l = 0; l < LANES; l++) top[l] = -__builtin_inff();
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) top[l] = tt_select(x[i + l] > top[l], x[i + l], top[l]);
    }
    for (; i < n; i++) top[0] = x[i] > top[0] ? x[i] : top[0];
    for (int l = 1; l < LANES; l++) top[0] = top[l] > top[0] ? top[l] : top[0];
    return top[0];
}

static void multiply_add(const float *restrict x, const float *restrict w, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i++) y[i] += x[i] * w[i];
}

extern const TtAudioLoops JOIN(tt_audio_loops, TT_ISA);
const TtAudioLoops JOIN(tt_audio_loops, TT_ISA) = {
    .power = power,
    .magnitude = magnitude,
    .bands = bands,
    .dots = dots,
    .log = log_of,
    .decibel = decibel,
    .normalize = normalize,
    .scale = scale_by,
    .clamp = clamp,
    .max = max_of,
    .multiply_add = multiply_add,
};
