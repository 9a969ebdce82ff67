/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/depthwise.c - convolution along time of every channel by itself, and its gradients.
 *
 * Channels are the inner, vectorised loop, in runs that stay in the first-level cache; a frame is a sum of frames times
 * rows of the weight, which is transposed into scratch first. Forward and the gradient by x are the same sum with other
 * frames. Taps go three at a time, the usual kernel, so that the result is loaded and stored once; a tap that falls
 * outside is a row of zeros. The weight's gradient is summed over chunks of frames of fixed size, which are added in
 * order, in double. */
#include "kernels/ops/conv1d.h"

#include <string.h>

#include "kernels/cpu/rows.h"

enum { LANES = TT_LANES, TAPS = TT_DEPTHWISE_TAPS, ROWS = TT_DEPTHWISE_ROWS };

static const float zeros[LANES];

/* What a frame is made of: frame t of the output meets frame t * stride - padding + k * dilation of x. */
typedef struct Frames {
    const TtConv1dAttrs *a;
    int64_t n, from, to, c, taps; /* samples, frames read, frames written, channels */
    bool back;                    /* read frames of the output, write frames of x */
} Frames;

/* The frame that meets frame T at tap K, or -1. */
static int64_t source(const Frames *f, int64_t t, int64_t k)
{
    if (k >= f->taps) return -1;
    int64_t at =
        f->back ? t + f->a->padding - k * f->a->dilation : t * f->a->stride - f->a->padding + k * f->a->dilation;
    if (at < 0) return -1;
    if (f->back) {
        if (at % f->a->stride) return -1;
        at /= f->a->stride;
    }
    return at < f->from ? at : -1;
}

/* The rows that meet frame T at taps K, K+1 and K+2: zeros for those outside; OK says which are inside. */
static void load_taps(const Frames *f, const TtTensor *x, int64_t sample, int64_t t, int64_t k, int64_t c0, int64_t n,
                      float buf[TAPS][LANES], const float *v[TAPS], bool inside[TAPS])
{
    for (int j = 0; j < TAPS; j++) {
        int64_t s = source(f, t, k + j);
        inside[j] = s >= 0;
        v[j] = inside[j] ? tt_row_load(x, (sample * f->from + s) * f->c + c0, n, buf[j]) : zeros;
    }
}

/* TO may be BASE. */
static void mix(const float *base, const float *const v[TAPS], const float *const w[TAPS], int64_t n, float *to)
{
    const float *v0 = v[0], *v1 = v[1], *v2 = v[2], *w0 = w[0], *w1 = w[1], *w2 = w[2];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = base[i] + v0[i] * w0[i] + v1[i] * w1[i] + v2[i] * w2[i];
}

static void mix_frame(const Frames *f, const TtTensor *x, const float *weight, const TtTensor *bias, const TtTensor *y,
                      int64_t sample, int64_t t)
{
    for (int64_t c0 = 0; c0 < f->c; c0 += LANES) {
        float buf[TAPS][LANES], yb[LANES], bb[LANES];
        int64_t n = TT_MIN((int64_t)LANES, f->c - c0), at = (sample * f->to + t) * f->c + c0;
        float *to = tt_row_target(y, at, yb);
        const float *base = bias ? tt_row_load(bias, c0, n, bb) : zeros;
        for (int64_t k = 0; k < f->taps; k += TAPS, base = to) {
            const float *v[TAPS], *w[TAPS];
            bool inside[TAPS];
            load_taps(f, x, sample, t, k, c0, n, buf, v, inside);
            for (int j = 0; j < TAPS; j++) w[j] = inside[j] ? weight + (k + j) * f->c + c0 : zeros;
            mix(base, v, w, n, to);
        }
        tt_row_store(y, at, n, to);
    }
}

/* (C,1,K) to (K,C) in float32. */
static const float *transpose(const TtTensor *w, int64_t c, int64_t taps, float *to)
{
    for (int64_t i = 0; i < c; i++)
        for (int64_t k = 0; k < taps; k++) {
            float buf;
            to[k * c + i] = *tt_row_load(w, i * taps + k, 1, &buf);
        }
    return to;
}

static TtStatus mix_all(TtKernelArgs *k, const Frames *f)
{
    TT_TRY(tt_need_floats(k));
    const float *weight = transpose(&k->in[1], f->c, f->taps, k->scratch);
    const TtTensor *bias = k->nin > 2 && k->in[2].data ? &k->in[2] : NULL;
#pragma omp parallel for schedule(static) if (f->n * f->to * f->c > TT_GRAIN)
    for (int64_t i = 0; i < f->n * f->to; i++) mix_frame(f, &k->in[0], weight, bias, &k->out[0], i / f->to, i % f->to);
    return TT_OK;
}

TtStatus TT_CPU(depthwise_conv1d)(TtKernelArgs *k)
{
    const TtShape *x = &k->in[0].shape, *y = &k->out[0].shape;
    Frames f = {k->attrs, x->dims[0], x->dims[1], y->dims[1], x->dims[2], k->in[1].shape.dims[2], false};
    return mix_all(k, &f);
}

TtStatus TT_CPU(depthwise_conv1d_dx)(TtKernelArgs *k)
{
    const TtShape *dy = &k->in[0].shape, *dx = &k->out[0].shape;
    const TtConv1dGradAttrs *a = k->attrs;
    Frames f = {&a->conv, dx->dims[0], dy->dims[1], dx->dims[1], dx->dims[2], k->in[1].shape.dims[2], true};
    return mix_all(k, &f);
}

/* ---- the weight's gradient */

/* SUMS[j] += dy * v[j]. */
static void add_products(const float *restrict dy, const float *const v[TAPS], int64_t n, float *const sums[TAPS])
{
    const float *v0 = v[0], *v1 = v[1], *v2 = v[2];
    float *s0 = sums[0], *s1 = sums[1], *s2 = sums[2];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        s0[i] += dy[i] * v0[i];
        s1[i] += dy[i] * v1[i];
        s2[i] += dy[i] * v2[i];
    }
}

/* The sums of a chunk of frames: a row of channels for each tap, and one for the bias. */
static void chunk_sums(const Frames *f, const TtKernelArgs *a, int64_t sample, int64_t chunk, float *sums, bool bias)
{
    int64_t rows = tt_depthwise_sums(f->taps), last = TT_MIN((chunk + 1) * ROWS, f->to);
    memset(sums, 0, sizeof *sums * (size_t)(rows * f->c));
    for (int64_t c0 = 0; c0 < f->c; c0 += LANES) {
        float buf[TAPS][LANES], gb[LANES], *own = sums + (rows - 1) * f->c + c0;
        int64_t n = TT_MIN((int64_t)LANES, f->c - c0);
        for (int64_t t = chunk * ROWS; t < last; t++) {
            const float *dy = tt_row_load(&a->in[1], (sample * f->to + t) * f->c + c0, n, gb);
            for (int64_t k = 0; k < f->taps; k += TAPS) {
                const float *v[TAPS];
                bool inside[TAPS];
                load_taps(f, &a->in[0], sample, t, k, c0, n, buf, v, inside);
                float *const at = sums + k * f->c + c0;
                add_products(dy, v, n, (float *[]){at, at + f->c, at + 2 * f->c});
            }
            for (int64_t i = 0; bias && i < n; i++) own[i] += dy[i];
        }
    }
}

/* OUT[i * step] = the parts' values added in order, for N neighbours. */
static void add_parts(const float *parts, int64_t count, int64_t size, int64_t n, float *out, int64_t step)
{
    double sum[LANES] = {0};
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < n; i++) sum[i] += (double)parts[p * size + i];
    for (int64_t i = 0; i < n; i++) out[i * step] = (float)sum[i];
}

TtStatus TT_CPU(depthwise_conv1d_dw)(TtKernelArgs *a)
{
    const TtConv1dGradAttrs *ga = a->attrs;
    const TtShape *x = &a->in[0].shape, *dy = &a->in[1].shape;
    Frames f = {&ga->conv, x->dims[0], x->dims[1], dy->dims[1], x->dims[2], ga->shape.dims[2], false};
    TT_TRY(tt_need_floats(a));
    int64_t chunks = tt_depthwise_chunks(f.to), rows = tt_depthwise_sums(f.taps), size = rows * f.c;
    int64_t runs = (f.c + LANES - 1) / LANES, outputs = f.taps + (ga->bias ? 1 : 0);
    float *parts = a->scratch;
#pragma omp parallel for schedule(static) if (f.n * f.to * f.c > TT_GRAIN)
    for (int64_t i = 0; i < f.n * chunks; i++) chunk_sums(&f, a, i / chunks, i % chunks, parts + i * size, ga->bias);
#pragma omp parallel for schedule(static) if (f.n * chunks * size > TT_GRAIN)
    for (int64_t i = 0; i < outputs * runs; i++) {
        int64_t k = i / runs, c0 = i % runs * LANES, n = TT_MIN((int64_t)LANES, f.c - c0);
        bool tap = k < f.taps;
        float *out = tap ? (float *)a->out[0].data + c0 * f.taps + k : (float *)a->out[1].data + c0;
        add_parts(parts + (tap ? k : rows - 1) * f.c + c0, f.n * chunks, size, n, out, tap ? f.taps : 1);
    }
    return TT_OK;
}
