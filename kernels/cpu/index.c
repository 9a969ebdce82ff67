/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/index.c - the ops that choose by index. Sums go along the indices in order; threads share out what does
 * not meet: the slices before the axis and tiles of the elements behind it. */
#include "kernels/ops/index.h"

#include <string.h>

#include "kernels/cpu/cpu.h"

enum { TILE = 64 };

static TtStatus check(const TtKernelArgs *k, const TtTensor *ids, int64_t n)
{
    const int64_t *id = ids->data;
    for (int64_t i = 0, count = tt_tensor_count(ids); i < count; i++)
        if (id[i] < 0 || id[i] >= n)
            return TT_FAIL(TT_EDATA, "%s: index %lld is not in 0 to %lld", k->op->name, (long long)id[i],
                           (long long)n - 1);
    return TT_OK;
}

static TtStatus need_float(const TtKernelArgs *k, const TtTensor *t)
{
    if (t->dtype == TT_F32) return TT_OK;
    return TT_FAIL(TT_EINTERNAL, "%s has no CPU kernel for %s", k->op->name, tt_dtype_name(t->dtype));
}

/* Elements before and behind AXIS. */
static void around(const TtShape *s, int axis, int64_t *outer, int64_t *inner)
{
    *outer = *inner = 1;
    for (int k = 0; k < s->rank; k++)
        if (k != axis) *(k < axis ? outer : inner) *= s->dims[k];
}

TtStatus TT_CPU(index_select)(TtKernelArgs *k)
{
    const TtIndexAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0];
    const int64_t *id = k->in[1].data;
    int64_t outer, inner, n = x->shape.dims[a->axis], count = tt_tensor_count(&k->in[1]);
    TT_TRY(check(k, &k->in[1], n));
    around(&x->shape, a->axis, &outer, &inner);
    size_t run = (size_t)inner * tt_dtype_size(x->dtype);
#pragma omp parallel for schedule(static) if (outer * count * inner > TT_GRAIN)
    for (int64_t r = 0; r < outer * count; r++)
        memcpy((char *)k->out[0].data + (size_t)r * run,
               (const char *)x->data + (size_t)(r / count * n + id[r % count]) * run, run);
    return TT_OK;
}

TtStatus TT_CPU(index_select_bwd)(TtKernelArgs *k)
{
    const TtIndexAttrs *a = k->attrs;
    const int64_t *id = k->in[1].data;
    float *dx = k->out[0].data;
    int64_t outer, inner, count = tt_tensor_count(&k->in[1]);
    TT_TRY(need_float(k, &k->in[0]));
    TT_TRY(check(k, &k->in[1], a->size));
    around(&k->out[0].shape, a->axis, &outer, &inner);
    int64_t tiles = (inner + TILE - 1) / TILE;
    memset(dx, 0, tt_tensor_bytes(&k->out[0]));
#pragma omp parallel for schedule(static) if (outer * count * inner > TT_GRAIN)
    for (int64_t t = 0; t < outer * tiles; t++) {
        int64_t o = t / tiles, col = t % tiles * TILE, width = TT_MIN(inner - col, (int64_t)TILE);
        for (int64_t i = 0; i < count; i++) {
            if (id[i] == a->padding) continue;
            const float *from = (const float *)k->in[0].data + (o * count + i) * inner + col;
            float *to = dx + (o * a->size + id[i]) * inner + col;
            for (int64_t j = 0; j < width; j++) to[j] += from[j];
        }
    }
    return TT_OK;
}

/* Gather and scatter_add go along lines: the elements of the index that differ in the axis only. */
typedef struct Lines {
    int64_t count, length, step, other_step; /* steps along the axis, in the index and in the other tensor */
} Lines;

static Lines lines_of(const TtTensor *ids, const TtTensor *other, int axis)
{
    Lines l = {.length = ids->shape.dims[axis], .step = ids->strides[axis], .other_step = other->strides[axis]};
    l.count = l.length ? tt_tensor_count(ids) / l.length : 0;
    return l;
}

/* Offsets of line I in the index and in the other tensor. */
static void line_at(const TtTensor *ids, const TtTensor *other, int axis, int64_t i, int64_t *at, int64_t *other_at)
{
    *at = *other_at = 0;
    for (int k = ids->shape.rank - 1; k >= 0; k--) {
        if (k == axis) continue;
        *at += i % ids->shape.dims[k] * ids->strides[k];
        *other_at += i % ids->shape.dims[k] * other->strides[k];
        i /= ids->shape.dims[k];
    }
}

TtStatus TT_CPU(gather)(TtKernelArgs *k)
{
    const TtIndexAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0], *ids = &k->in[1];
    const int64_t *id = ids->data;
    size_t size = tt_dtype_size(x->dtype);
    TT_TRY(check(k, ids, x->shape.dims[a->axis]));
    Lines l = lines_of(ids, x, a->axis);
#pragma omp parallel for schedule(static) if (l.count * l.length > TT_GRAIN)
    for (int64_t i = 0; i < l.count; i++) {
        int64_t at, from;
        line_at(ids, x, a->axis, i, &at, &from);
        for (int64_t j = 0; j < l.length; j++, at += l.step)
            memcpy((char *)k->out[0].data + (size_t)at * size,
                   (const char *)x->data + (size_t)(from + id[at] * l.other_step) * size, size);
    }
    return TT_OK;
}

TtStatus TT_CPU(scatter_add)(TtKernelArgs *k)
{
    const TtScatterAttrs *a = k->attrs;
    const TtTensor *ids = &k->in[1], *y = &k->out[0];
    const float *src = k->in[0].data;
    const int64_t *id = ids->data;
    TT_TRY(need_float(k, &k->in[0]));
    TT_TRY(check(k, ids, y->shape.dims[a->axis]));
    if (k->in[2].data)
        memcpy(y->data, k->in[2].data, tt_tensor_bytes(y));
    else
        memset(y->data, 0, tt_tensor_bytes(y));
    Lines l = lines_of(ids, y, a->axis);
#pragma omp parallel for schedule(static) if (l.count * l.length > TT_GRAIN)
    for (int64_t i = 0; i < l.count; i++) {
        int64_t at, to;
        line_at(ids, y, a->axis, i, &at, &to);
        for (int64_t j = 0; j < l.length; j++, at += l.step) ((float *)y->data)[to + id[at] * l.other_step] += src[at];
    }
    return TT_OK;
}

TtStatus TT_CPU(one_hot)(TtKernelArgs *k)
{
    const TtOneHotAttrs *a = k->attrs;
    const int64_t *id = k->in[0].data;
    float *y = k->out[0].data;
    TT_TRY(need_float(k, &k->out[0]));
    TT_TRY(check(k, &k->in[0], a->classes));
    memset(y, 0, tt_tensor_bytes(&k->out[0]));
    for (int64_t i = 0, n = tt_tensor_count(&k->in[0]); i < n; i++) y[i * a->classes + id[i]] = 1;
    return TT_OK;
}
