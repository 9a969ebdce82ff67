/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/pool.c - pooling window by window. Whether a pixel is in a window is asked of the definition here, not
 * of the fast kernels' tt_pool_window. */
#include "kernels/ops/pool.h"

#include <math.h>

#include "kernels/ref/ref.h"

static bool inside(const TtPoolAttrs *a, int k, int64_t o, int64_t i, int64_t size)
{
    if (a->adaptive)
        return i >= (int64_t)floor((double)o * (double)size / (double)a->out[k]) &&
               i < (int64_t)ceil((double)(o + 1) * (double)size / (double)a->out[k]);
    for (int64_t t = 0; t < a->kernel[k]; t++)
        if (o * a->stride[k] - a->padding[k] + t * a->dilation[k] == i) return true;
    return false;
}

/* Pixels of the window on the axis; with PADDING those on the padding count too (but not beyond it). */
static int64_t extent(const TtPoolAttrs *a, int k, int64_t o, int64_t size, bool padding)
{
    int64_t n = 0, pad = padding && !a->adaptive ? a->padding[k] : 0;
    for (int64_t i = -pad; i < size + pad; i++) n += inside(a, k, o, i, size);
    return n;
}

static double divisor(const TtPoolAttrs *a, int64_t oh, int64_t ow, int64_t h, int64_t w)
{
    if (a->divisor) return (double)a->divisor;
    return (double)(extent(a, 0, oh, h, !a->exclude_pad) * extent(a, 1, ow, w, !a->exclude_pad));
}

TtStatus tt_ref_max_pool2d(TtKernelArgs *a)
{
    const TtPoolAttrs *p = a->attrs;
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    int64_t h = x->shape.dims[1], w = x->shape.dims[2], index[4] = {0}, at = 0;
    if (tt_tensor_count(y) == 0) return TT_OK;
    do {
        double best = -INFINITY;
        int64_t where = -1;
        for (int64_t i = 0; i < h; i++)
            for (int64_t j = 0; j < w; j++) {
                if (!inside(p, 0, index[1], i, h) || !inside(p, 1, index[2], j, w)) continue;
                double v = tt_ref4(x, index[0], i, j, index[3]);
                if (where < 0 || v > best || isnan(v)) best = v, where = i * w + j;
            }
        tt_ref_put(y, at, best);
        tt_ref_int_put(&a->out[1], at++, where);
    } while (tt_ref_next(&y->shape, index));
    return TT_OK;
}

TtStatus tt_ref_max_pool2d_bwd(TtKernelArgs *a)
{
    const TtTensor *dy = &a->in[0], *where = &a->in[1], *dx = &a->out[0];
    int64_t index[4] = {0}, at = 0;
    if (tt_tensor_count(dx) == 0) return TT_OK;
    do {
        double sum = 0;
        int64_t pixel = index[1] * dx->shape.dims[2] + index[2];
        for (int64_t i = 0; i < dy->shape.dims[1]; i++)
            for (int64_t j = 0; j < dy->shape.dims[2]; j++) {
                int64_t o[4] = {index[0], i, j, index[3]};
                if (tt_ref_int_at(where, tt_ref_offset(where, o)) == pixel) sum += tt_ref_at(dy, tt_ref_offset(dy, o));
            }
        tt_ref_put(dx, at++, sum);
    } while (tt_ref_next(&dx->shape, index));
    return TT_OK;
}

TtStatus tt_ref_avg_pool2d(TtKernelArgs *a)
{
    const TtPoolAttrs *p = a->attrs;
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    int64_t h = x->shape.dims[1], w = x->shape.dims[2], index[4] = {0}, at = 0;
    if (tt_tensor_count(y) == 0) return TT_OK;
    do {
        double sum = 0;
        for (int64_t i = 0; i < h; i++)
            for (int64_t j = 0; j < w; j++)
                if (inside(p, 0, index[1], i, h) && inside(p, 1, index[2], j, w))
                    sum += tt_ref4(x, index[0], i, j, index[3]);
        tt_ref_put(y, at++, sum / divisor(p, index[1], index[2], h, w));
    } while (tt_ref_next(&y->shape, index));
    return TT_OK;
}

TtStatus tt_ref_avg_pool2d_bwd(TtKernelArgs *a)
{
    const TtPoolAttrs *p = &((const TtPoolGradAttrs *)a->attrs)->pool;
    const TtTensor *dy = &a->in[0], *dx = &a->out[0];
    int64_t h = dx->shape.dims[1], w = dx->shape.dims[2], index[4] = {0}, at = 0;
    if (tt_tensor_count(dx) == 0) return TT_OK;
    do {
        double sum = 0;
        for (int64_t i = 0; i < dy->shape.dims[1]; i++)
            for (int64_t j = 0; j < dy->shape.dims[2]; j++)
                if (inside(p, 0, i, index[1], h) && inside(p, 1, j, index[2], w))
                    sum += tt_ref4(dy, index[0], i, j, index[3]) / divisor(p, i, j, h, w);
        tt_ref_put(dx, at++, sum);
    } while (tt_ref_next(&dx->shape, index));
    return TT_OK;
}
