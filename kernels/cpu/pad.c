/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/pad.c - pad and pad_bwd, by rows along the last padded axis: what lies behind it is one run of bytes, and
 * within a row all that is not padding is one copy. */
#include "kernels/ops/pad.h"

#include <string.h>

#include "kernels/cpu/cpu.h"

/* Where position I of an axis of length N comes from; -1: padding. */
static int64_t origin(TtPadMode mode, int64_t i, int64_t before, int64_t n)
{
    int64_t j = i - before;
    if (j >= 0 && j < n) return j;
    switch (mode) {
    case TT_PAD_REFLECT: return j < 0 ? -j : 2 * (n - 1) - j;
    case TT_PAD_REPLICATE: return j < 0 ? 0 : n - 1;
    case TT_PAD_CIRCULAR: return j < 0 ? j + n : j - n;
    default: return -1;
    }
}

/* Row of x (counted along all axes before the last padded one) that row R of y comes from; -1: none. */
static int64_t row_origin(const TtPadAttrs *a, const TtPadPlan *p, const TtShape *x, const TtShape *y, int64_t r)
{
    int64_t row = 0, step = 1;
    for (int k = p->axis - 1; k >= 0; k--) {
        int64_t j = origin(a->mode, r % y->dims[k], a->before[k], x->dims[k]);
        if (j < 0) return -1;
        row += j * step;
        step *= x->dims[k];
        r /= y->dims[k];
    }
    return row;
}

static void fill(char *to, const void *element, int64_t n, size_t size)
{
    for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * size, element, size);
}

static void element_of(TtDType t, double v, void *out)
{
    switch (t) {
    case TT_F32: *(float *)out = (float)v; break;
    case TT_F64: *(double *)out = v; break;
    case TT_BF16: *(uint16_t *)out = tt_f32_to_bf16((float)v); break;
    case TT_F16: *(uint16_t *)out = tt_f32_to_f16((float)v); break;
    case TT_I64: *(int64_t *)out = (int64_t)v; break;
    case TT_I32: *(int32_t *)out = (int32_t)v; break;
    case TT_U16: *(uint16_t *)out = (uint16_t)v; break;
    default: *(uint8_t *)out = (uint8_t)v; break;
    }
}

TtStatus TT_CPU(pad)(TtKernelArgs *k)
{
    const TtPadAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0], *y = &k->out[0];
    size_t size = tt_dtype_size(x->dtype);
    int64_t total = tt_tensor_count(y), element;
    if (total == 0) return TT_OK;
    element_of(x->dtype, a->value, &element);
    TtPadPlan p = tt_pad_plan(a, &x->shape, &y->shape);
    TT_ASSERT(p.axis >= 0);
    int64_t n = x->shape.dims[p.axis], length = y->shape.dims[p.axis], before = a->before[p.axis];
    int64_t lo = TT_MIN(TT_MAX(before, 0), length), hi = TT_MAX(lo, TT_MIN(length, before + n)); /* no padding there */
    size_t run = (size_t)p.inner * size;
#pragma omp parallel for schedule(static) if (total > TT_GRAIN)
    for (int64_t r = 0; r < p.outer; r++) {
        int64_t row = row_origin(a, &p, &x->shape, &y->shape, r);
        char *to = (char *)y->data + (size_t)(r * length) * run;
        if (row < 0) {
            fill(to, &element, length * p.inner, size);
            continue;
        }
        const char *from = (const char *)x->data + (size_t)(row * n) * run;
        for (int64_t i = 0; i < length; i++) {
            if (i == lo && hi > lo) {
                memcpy(to + (size_t)lo * run, from + (size_t)(lo - before) * run, (size_t)(hi - lo) * run);
                i = hi - 1;
                continue;
            }
            int64_t j = origin(a->mode, i, before, n);
            if (j < 0)
                fill(to + (size_t)i * run, &element, p.inner, size);
            else
                memcpy(to + (size_t)i * run, from + (size_t)j * run, run);
        }
    }
    return TT_OK;
}

static void add(float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

/* Rows of y that differ in the axes before the first padded one go to different places; the others stay in order on
 * one thread. */
TtStatus TT_CPU(pad_bwd)(TtKernelArgs *k)
{
    const TtPadAttrs *a = k->attrs;
    const TtTensor *dy = &k->in[0], *dx = &k->out[0];
    if (dy->dtype != TT_F32) return TT_FAIL(TT_EINTERNAL, "pad_bwd has no CPU kernel for %s", tt_dtype_name(dy->dtype));
    memset(dx->data, 0, tt_tensor_bytes(dx));
    if (tt_tensor_count(dy) == 0) return TT_OK;
    TtPadPlan p = tt_pad_plan(a, &dx->shape, &dy->shape);
    int64_t apart = 1, n = dx->shape.dims[p.axis], length = dy->shape.dims[p.axis], before = a->before[p.axis];
    for (int i = 0; i < p.first; i++) apart *= dy->shape.dims[i];
    int64_t together = p.outer / apart;
#pragma omp parallel for schedule(static) if (p.outer * length * p.inner > TT_GRAIN)
    for (int64_t o = 0; o < apart; o++)
        for (int64_t r = o * together; r < (o + 1) * together; r++) {
            int64_t row = row_origin(a, &p, &dx->shape, &dy->shape, r);
            const float *from = (const float *)dy->data + r * length * p.inner;
            float *to = (float *)dx->data + row * n * p.inner;
            for (int64_t i = 0; i < length; i++)
                add(to + origin(a->mode, i, before, n) * p.inner, from + i * p.inner, p.inner);
        }
    return TT_OK;
}
