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

/* Sums run in 16 lanes at every level, in as many registers as that takes. */
#if defined(__AVX512F__)
enum { WIDTH = 16, ROWS = 4 };
#elif defined(__AVX2__)
enum { WIDTH = 8, ROWS = 4 };
#else
enum { WIDTH = 4, ROWS = 2 };
#endif
enum { LANES = TT_BAND_LANES, PARTS = LANES / WIDTH };
typedef float V __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

static void power(const float *restrict z, size_t n, float scale, float *restrict y)
{
    for (size_t i = 0; i < n; i++) y[i] = (z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1]) * scale;
}

static void magnitude(const float *restrict z, size_t n, float scale, float *restrict y)
{
    for (size_t i = 0; i < n; i++) y[i] = __builtin_sqrtf(z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1]) * scale;
}

/* Some rows share each load of the weights. */
static inline void band_rows(const TtBands *b, const float *x, size_t x_stride, int rows, float *y, size_t y_stride)
{
    for (int g = 0; g < b->groups; g++) {
        const float *w = b->w + b->at[g], *p = x + b->start[g];
        V s[ROWS][PARTS] = {0};
        for (int32_t k = 0; k < b->count[g]; k++, p++, w += LANES)
            for (int h = 0; h < PARTS; h++) {
                const V v = *(const V *)(w + h * WIDTH);
                for (int r = 0; r < rows; r++) s[r][h] += v * p[(size_t)r * x_stride];
            }
        const int left = b->n_out - g * LANES;
        for (int r = 0; r < rows; r++) {
            float *q = y + (size_t)r * y_stride + (size_t)g * LANES;
            if (left >= LANES)
                memcpy(q, s[r], sizeof s[r]);
            else
                memcpy(q, s[r], sizeof(float) * (size_t)left);
        }
    }
}

static void bands(const TtBands *b, const float *x, size_t x_stride, size_t rows, float *y, size_t y_stride)
{
    size_t r = 0;
    for (; r + ROWS <= rows; r += ROWS) band_rows(b, x + r * x_stride, x_stride, ROWS, y + r * y_stride, y_stride);
    for (; r < rows; r++) band_rows(b, x + r * x_stride, x_stride, 1, y + r * y_stride, y_stride);
}

static void dots(const float *x, const int32_t *start, const float *w, size_t taps, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++, w += taps) {
        const float *p = x + start[i];
        V s[PARTS] = {0};
        for (size_t k = 0; k < taps; k += LANES)
            for (int h = 0; h < PARTS; h++) s[h] += *(const V *)(w + k + h * WIDTH) * *(const V *)(p + k + h * WIDTH);
        float l[LANES];
        memcpy(l, s, sizeof l);
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
