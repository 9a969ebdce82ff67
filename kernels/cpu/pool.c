/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/pool.c - pooling with the channels as the inner, vectorised loop.
 *
 * Both directions gather: an output pixel from its window, a pixel of the gradient from the windows that hold it. So
 * rows of pixels are the parallel loop, nothing is written twice, and every sum has one fixed order. */
#include "kernels/ops/pool.h"

#include <math.h>

#include "kernels/cpu/rows.h"

static int64_t position(const TtTensor *t, int64_t n, int64_t h, int64_t w)
{
    return ((n * t->shape.dims[1] + h) * t->shape.dims[2] + w) * t->shape.dims[3];
}

/* ---- maximum */

/* The first maximum of a window and its place; -infinity at -1 when dilation leaves none of its pixels inside. */
static void max_pixel(const TtTensor *x, int64_t n, TtWindow h, TtWindow w, int64_t c0, int64_t len,
                      float *restrict best, int32_t *restrict where)
{
    for (int64_t c = 0; c < len; c++) best[c] = -INFINITY, where[c] = -1;
    for (int64_t i = h.first; i < h.end; i += h.step)
        for (int64_t j = w.first; j < w.end; j += w.step) {
            float buf[TT_LANES];
            const float *restrict v = tt_row_load(x, position(x, n, i, j) + c0, len, buf);
            int32_t here = (int32_t)(i * x->shape.dims[2] + j);
#pragma omp simd
            for (int64_t c = 0; c < len; c++) {
                bool take = (v[c] > best[c]) | (v[c] != v[c]) | (where[c] < 0); /* NaN wins, as in torch */
                best[c] = tt_select(take, v[c], best[c]);
                where[c] = take ? here : where[c];
            }
        }
}

TtStatus TT_CPU(max_pool2d)(TtKernelArgs *a)
{
    const TtPoolAttrs *p = a->attrs;
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    int64_t oh = y->shape.dims[1], ow = y->shape.dims[2], channels = y->shape.dims[3], rows = y->shape.dims[0] * oh;
#pragma omp parallel for schedule(static) if (tt_tensor_count(y) > TT_GRAIN / 8)
    for (int64_t r = 0; r < rows; r++) {
        TtWindow h = tt_pool_window(p, 0, r % oh, x->shape.dims[1]);
        for (int64_t o = 0; o < ow; o++) {
            TtWindow w = tt_pool_window(p, 1, o, x->shape.dims[2]);
            for (int64_t c0 = 0; c0 < channels; c0 += TT_LANES) {
                float best[TT_LANES];
                int64_t len = TT_MIN((int64_t)TT_LANES, channels - c0), at = (r * ow + o) * channels + c0;
                float *to = tt_row_target(y, at, best);
                max_pixel(x, r / oh, h, w, c0, len, to, (int32_t *)a->out[1].data + at);
                tt_row_store(y, at, len, to);
            }
        }
    }
    return TT_OK;
}

/* ---- mean */

static void sum_window(const TtTensor *x, int64_t n, TtWindow h, TtWindow w, int64_t c0, int64_t len,
                       float *restrict sum)
{
    memset(sum, 0, (size_t)len * sizeof *sum);
    for (int64_t i = h.first; i < h.end; i += h.step)
        for (int64_t j = w.first; j < w.end; j += w.step) {
            float buf[TT_LANES];
            const float *restrict v = tt_row_load(x, position(x, n, i, j) + c0, len, buf);
            for (int64_t c = 0; c < len; c++) sum[c] += v[c];
        }
}

TtStatus TT_CPU(avg_pool2d)(TtKernelArgs *a)
{
    const TtPoolAttrs *p = a->attrs;
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    int64_t oh = y->shape.dims[1], ow = y->shape.dims[2], channels = y->shape.dims[3], rows = y->shape.dims[0] * oh;
#pragma omp parallel for schedule(static) if (tt_tensor_count(x) > TT_GRAIN)
    for (int64_t r = 0; r < rows; r++) {
        TtWindow h = tt_pool_window(p, 0, r % oh, x->shape.dims[1]);
        for (int64_t o = 0; o < ow; o++) {
            TtWindow w = tt_pool_window(p, 1, o, x->shape.dims[2]);
            float scale = (float)(1 / tt_pool_divisor(p, &h, &w));
            for (int64_t c0 = 0; c0 < channels; c0 += TT_LANES) {
                float sum[TT_LANES];
                int64_t len = TT_MIN((int64_t)TT_LANES, channels - c0), at = (r * ow + o) * channels + c0;
                float *to = tt_row_target(y, at, sum);
                sum_window(x, r / oh, h, w, c0, len, to);
                for (int64_t c = 0; c < len; c++) to[c] *= scale;
                tt_row_store(y, at, len, to);
            }
        }
    }
    return TT_OK;
}

/* ---- gradients */

/* The outputs whose windows may hold pixel I: a superset, which tt_pool_window or the maximum's place narrows. */
static void outputs_of(const TtPoolAttrs *p, int k, int64_t i, int64_t size, int64_t outputs, int64_t *first,
                       int64_t *end)
{
    if (p->adaptive) {
        *first = i * outputs / size, *end = ((i + 1) * outputs + size - 1) / size;
    } else {
        int64_t reach = p->dilation[k] * (p->kernel[k] - 1), from = i + p->padding[k] - reach;
        *first = from > 0 ? from / p->stride[k] : 0, *end = (i + p->padding[k]) / p->stride[k] + 1;
    }
    *first = TT_MAX(*first, (int64_t)0), *end = TT_MIN(*end, outputs);
}

typedef struct Outputs {
    int64_t h, h_end, w, w_end;
} Outputs;

static Outputs outputs_at(const TtPoolAttrs *p, const TtTensor *dy, const TtTensor *dx, int64_t i, int64_t j)
{
    Outputs o;
    outputs_of(p, 0, i, dx->shape.dims[1], dy->shape.dims[1], &o.h, &o.h_end);
    outputs_of(p, 1, j, dx->shape.dims[2], dy->shape.dims[2], &o.w, &o.w_end);
    return o;
}

/* A run of channels of one pixel of dx. */
typedef struct Pixel {
    int64_t n, i, j, c0, len;
} Pixel;

/* dy of the windows whose maximum stood here. */
static void gather_max(const TtKernelArgs *a, const TtPoolAttrs *p, Pixel x, float *restrict sum)
{
    const TtTensor *dy = &a->in[0], *dx = &a->out[0];
    Outputs o = outputs_at(p, dy, dx, x.i, x.j);
    int32_t here = (int32_t)(x.i * dx->shape.dims[2] + x.j);
    for (int64_t oh = o.h; oh < o.h_end; oh++)
        for (int64_t ow = o.w; ow < o.w_end; ow++) {
            float buf[TT_LANES];
            int64_t at = position(dy, x.n, oh, ow) + x.c0;
            const float *restrict v = tt_row_load(dy, at, x.len, buf);
            const int32_t *restrict where = (const int32_t *)a->in[1].data + at;
#pragma omp simd
            for (int64_t c = 0; c < x.len; c++) sum[c] += tt_select(where[c] == here, v[c], 0.0f);
        }
}

/* dy of all windows around, over their sizes. */
static void gather_mean(const TtKernelArgs *a, const TtPoolAttrs *p, Pixel x, float *restrict sum)
{
    const TtTensor *dy = &a->in[0], *dx = &a->out[0];
    Outputs o = outputs_at(p, dy, dx, x.i, x.j);
    for (int64_t oh = o.h; oh < o.h_end; oh++) {
        TtWindow h = tt_pool_window(p, 0, oh, dx->shape.dims[1]);
        if (x.i < h.first || x.i >= h.end) continue;
        for (int64_t ow = o.w; ow < o.w_end; ow++) {
            TtWindow w = tt_pool_window(p, 1, ow, dx->shape.dims[2]);
            if (x.j < w.first || x.j >= w.end) continue;
            float buf[TT_LANES], scale = (float)(1 / tt_pool_divisor(p, &h, &w));
            const float *restrict v = tt_row_load(dy, position(dy, x.n, oh, ow) + x.c0, x.len, buf);
            for (int64_t c = 0; c < x.len; c++) sum[c] += v[c] * scale;
        }
    }
}

static TtStatus gather(TtKernelArgs *a,
                       void (*pixel)(const TtKernelArgs *, const TtPoolAttrs *, Pixel, float *restrict))
{
    const TtPoolAttrs *p = &((const TtPoolGradAttrs *)a->attrs)->pool;
    const TtTensor *dx = &a->out[0];
    int64_t height = dx->shape.dims[1], width = dx->shape.dims[2], channels = dx->shape.dims[3];
#pragma omp parallel for schedule(static) if (tt_tensor_count(dx) > TT_GRAIN)
    for (int64_t r = 0; r < dx->shape.dims[0] * height; r++)
        for (int64_t j = 0; j < width; j++)
            for (int64_t c0 = 0; c0 < channels; c0 += TT_LANES) {
                float buf[TT_LANES];
                Pixel x = {r / height, r % height, j, c0, TT_MIN((int64_t)TT_LANES, channels - c0)};
                int64_t at = (r * width + j) * channels + c0;
                float *sum = tt_row_target(dx, at, buf);
                memset(sum, 0, (size_t)x.len * sizeof *sum);
                pixel(a, p, x, sum);
                tt_row_store(dx, at, x.len, sum);
            }
    return TT_OK;
}

TtStatus TT_CPU(max_pool2d_bwd)(TtKernelArgs *a)
{
    return gather(a, gather_max);
}

TtStatus TT_CPU(avg_pool2d_bwd)(TtKernelArgs *a)
{
    return gather(a, gather_mean);
}
