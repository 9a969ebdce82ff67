/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/pool.c - pooling with the channels as the inner, vectorised loop.
 *
 * Forward works on output rows in parallel. The gradients scatter within one picture, so pictures are the parallel
 * loop and every sum has one fixed order. */
#include "kernels/ops/pool.h"

#include <math.h>

#include "kernels/cpu/rows.h"

static int64_t position(const TtTensor *t, int64_t n, int64_t h, int64_t w)
{
    return ((n * t->shape.dims[1] + h) * t->shape.dims[2] + w) * t->shape.dims[3];
}

/* ---- maximum */

static void max_pixel(const TtTensor *x, int64_t n, TtWindow h, TtWindow w, int64_t c0, int64_t len,
                      float *restrict best, int32_t *restrict where)
{
    bool first = true;
    for (int64_t i = h.first; i < h.end; i += h.step)
        for (int64_t j = w.first; j < w.end; j += w.step) {
            float buf[TT_LANES];
            const float *restrict v = tt_row_load(x, position(x, n, i, j) + c0, len, buf);
            int32_t here = (int32_t)(i * x->shape.dims[2] + j);
            if (first)
                for (int64_t c = 0; c < len; c++) best[c] = v[c], where[c] = here;
            else
                for (int64_t c = 0; c < len; c++) {
                    bool take = v[c] > best[c] || v[c] != v[c]; /* NaN wins, as in torch */
                    best[c] = take ? v[c] : best[c];
                    where[c] = take ? here : where[c];
                }
            first = false;
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

TtStatus TT_CPU(max_pool2d_bwd)(TtKernelArgs *a)
{
    const TtTensor *dy = &a->in[0], *dx = &a->out[0];
    const int32_t *where = a->in[1].data;
    int64_t channels = dx->shape.dims[3], pixels = dy->shape.dims[1] * dy->shape.dims[2];
    int64_t picture = dx->shape.dims[1] * dx->shape.dims[2] * channels;
    bool wide = dx->dtype == TT_F32;
#pragma omp parallel for schedule(static) if (tt_tensor_count(dx) > TT_GRAIN)
    for (int64_t n = 0; n < dx->shape.dims[0]; n++) {
        size_t size = tt_dtype_size(dx->dtype);
        memset((char *)dx->data + (size_t)(n * picture) * size, 0, (size_t)picture * size);
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t c = 0; c < channels; c++) {
                int64_t from = (n * pixels + i) * channels + c, to = n * picture + where[from] * channels + c;
                if (wide) {
                    ((float *)dx->data)[to] += ((const float *)dy->data)[from];
                } else {
                    uint16_t *d = (uint16_t *)dx->data + to;
                    *d = tt_f32_to_bf16(tt_bf16_to_f32(*d) + tt_bf16_to_f32(((const uint16_t *)dy->data)[from]));
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

/* The outputs whose windows may hold pixel I: a superset, which tt_pool_window narrows. */
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

/* dx of one input pixel gathers from the windows that hold it. */
static void gather_pixel(const TtPoolAttrs *p, const TtTensor *dy, const TtTensor *dx, int64_t n, int64_t i, int64_t j,
                         int64_t c0, int64_t len, float *restrict sum)
{
    memset(sum, 0, (size_t)len * sizeof *sum);
    int64_t oh, oh_end, ow_first, ow_end;
    outputs_of(p, 0, i, dx->shape.dims[1], dy->shape.dims[1], &oh, &oh_end);
    outputs_of(p, 1, j, dx->shape.dims[2], dy->shape.dims[2], &ow_first, &ow_end);
    for (; oh < oh_end; oh++) {
        TtWindow h = tt_pool_window(p, 0, oh, dx->shape.dims[1]);
        if (i < h.first || i >= h.end) continue;
        for (int64_t ow = ow_first; ow < ow_end; ow++) {
            TtWindow w = tt_pool_window(p, 1, ow, dx->shape.dims[2]);
            if (j < w.first || j >= w.end) continue;
            float buf[TT_LANES], scale = (float)(1 / tt_pool_divisor(p, &h, &w));
            const float *restrict v = tt_row_load(dy, position(dy, n, oh, ow) + c0, len, buf);
            for (int64_t c = 0; c < len; c++) sum[c] += v[c] * scale;
        }
    }
}

TtStatus TT_CPU(avg_pool2d_bwd)(TtKernelArgs *a)
{
    const TtPoolAttrs *p = &((const TtPoolGradAttrs *)a->attrs)->pool;
    const TtTensor *dy = &a->in[0], *dx = &a->out[0];
    int64_t width = dx->shape.dims[2], channels = dx->shape.dims[3], rows = dx->shape.dims[0] * dx->shape.dims[1];
#pragma omp parallel for schedule(static) if (tt_tensor_count(dx) > TT_GRAIN)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < width; j++)
            for (int64_t c0 = 0; c0 < channels; c0 += TT_LANES) {
                float sum[TT_LANES];
                int64_t len = TT_MIN((int64_t)TT_LANES, channels - c0), at = (r * width + j) * channels + c0;
                float *to = tt_row_target(dx, at, sum);
                gather_pixel(p, dy, dx, r / dx->shape.dims[1], r % dx->shape.dims[1], j, c0, len, to);
                tt_row_store(dx, at, len, to);
            }
    return TT_OK;
}
