/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/shape.c - contiguous, cast, slice_grad, add_n. */
#include "kernels/cpu/copy.h"
#include "kernels/ops/shape.h"

/* A strided array seen as rows: `n` rows of `len` elements, `step` elements apart within a row. */
typedef struct Rows {
    int rank; /* of the outer axes */
    int64_t dims[TT_MAX_RANK], strides[TT_MAX_RANK];
    int64_t n, len, step;
} Rows;

static Rows rows_of(const TtTensor *t)
{
    int64_t d[TT_MAX_RANK] = {0}, s[TT_MAX_RANK] = {0};
    int r = 0;
    for (int i = 0; i < t->shape.rank; i++) {
        if (t->shape.dims[i] == 1) continue;
        if (r && s[r - 1] == t->strides[i] * t->shape.dims[i]) {
            d[r - 1] *= t->shape.dims[i], s[r - 1] = t->strides[i];
        } else {
            d[r] = t->shape.dims[i], s[r++] = t->strides[i];
        }
    }
    Rows w = {.rank = r ? r - 1 : 0, .n = 1, .len = r ? d[r - 1] : 1, .step = r ? s[r - 1] : 1};
    for (int i = 0; i < w.rank; i++) w.dims[i] = d[i], w.strides[i] = s[i], w.n *= d[i];
    return w;
}

static int64_t row_offset(const Rows *w, int64_t row)
{
    int64_t at = 0;
    for (int i = w->rank - 1; i >= 0; i--) {
        at += row % w->dims[i] * w->strides[i];
        row /= w->dims[i];
    }
    return at;
}

TtStatus TT_CPU(contiguous)(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    tt_copy(&x->shape, y->data, y->strides, x->data, x->strides, tt_dtype_size(x->dtype));
    return TT_OK;
}

TtStatus TT_CPU(slice_grad)(TtKernelArgs *a)
{
    const TtSliceAttrs *s = &((const TtSliceGradAttrs *)a->attrs)->slice;
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    int64_t size = (int64_t)tt_dtype_size(x->dtype), strides[TT_MAX_RANK];
    memset(y->data, 0, tt_tensor_bytes(y));
    memcpy(strides, y->strides, sizeof strides);
    strides[s->axis] *= s->step;
    tt_copy(&x->shape, (char *)y->data + s->start * y->strides[s->axis] * size, strides, x->data, x->strides,
            (size_t)size);
    return TT_OK;
}

/* ---- cast: through float, or through int64 and double where float would lose digits */

enum { BLOCK = 1024 };

static void to_float(float *restrict d, const void *src, TtDType t, int64_t step, int64_t n)
{
#define FROM(type, expr)                  \
    do {                                  \
        const type *restrict s_ = src;    \
        for (int64_t i = 0; i < n; i++) { \
            type v = s_[i * step];        \
            d[i] = (expr);                \
        }                                 \
    } while (0)
    switch (t) {
    case TT_F32: FROM(float, v); break;
    case TT_F64: FROM(double, (float)v); break;
    case TT_BF16: {
        const uint16_t *restrict s_ = src;
        for (int64_t i = 0; i < n; i++) {
            uint32_t u = (uint32_t)s_[i * step] << 16;
            memcpy(&d[i], &u, 4);
        }
        break;
    }
    case TT_F16: FROM(uint16_t, tt_f16_to_f32(v)); break;
    case TT_I64: FROM(int64_t, (float)v); break;
    case TT_I32: FROM(int32_t, (float)v); break;
    case TT_U16: FROM(uint16_t, (float)v); break;
    default: FROM(uint8_t, (float)v); break;
    }
}

static void from_float(void *dst, TtDType t, const float *restrict s, int64_t n)
{
#define TO(type, expr)                    \
    do {                                  \
        type *restrict d_ = dst;          \
        for (int64_t i = 0; i < n; i++) { \
            float v = s[i];               \
            d_[i] = (type)(expr);         \
        }                                 \
    } while (0)
    switch (t) {
    case TT_F32: TO(float, v); break;
    case TT_F64: TO(double, v); break;
    case TT_BF16: TO(uint16_t, tt_f32_to_bf16(v)); break;
    case TT_F16: TO(uint16_t, tt_f32_to_f16(v)); break;
    case TT_I64: TO(int64_t, v); break;
    case TT_I32: TO(int32_t, v); break;
    case TT_U16: TO(uint16_t, v); break;
    case TT_U8: TO(uint8_t, v); break;
    default: TO(uint8_t, v != 0); break;
    }
}

/* Wide types keep their digits: element by element, since nothing hot casts between them. */
static void cast_wide(const TtTensor *y, int64_t at, const TtTensor *x, int64_t from, int64_t step, int64_t n)
{
    for (int64_t i = 0; i < n; i++, at++, from += step) {
        if (x->dtype == TT_F64 && y->dtype == TT_I64)
            ((int64_t *)y->data)[at] = (int64_t)((const double *)x->data)[from];
        else if (x->dtype == TT_F64)
            ((int32_t *)y->data)[at] = (int32_t)((const double *)x->data)[from];
        else if (x->dtype == TT_I64 && y->dtype == TT_F64)
            ((double *)y->data)[at] = (double)((const int64_t *)x->data)[from];
        else if (x->dtype == TT_I64)
            ((int32_t *)y->data)[at] = (int32_t)((const int64_t *)x->data)[from];
        else if (y->dtype == TT_F64)
            ((double *)y->data)[at] = ((const int32_t *)x->data)[from];
        else
            ((int64_t *)y->data)[at] = ((const int32_t *)x->data)[from];
    }
}

static bool is_wide(TtDType t)
{
    return t == TT_F64 || t == TT_I64 || t == TT_I32;
}

TtStatus TT_CPU(cast)(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    if (tt_tensor_count(x) == 0) return TT_OK;
    Rows w = rows_of(x);
    size_t xs = tt_dtype_size(x->dtype), ys = tt_dtype_size(y->dtype);
    bool wide = is_wide(x->dtype) && is_wide(y->dtype);
    int64_t blocks = (w.len + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) if (w.n * w.len > TT_GRAIN)
    for (int64_t b = 0; b < w.n * blocks; b++) {
        float tmp[BLOCK];
        int64_t row = b / blocks, first = b % blocks * BLOCK, n = TT_MIN((int64_t)BLOCK, w.len - first);
        int64_t from = row_offset(&w, row) + first * w.step, at = row * w.len + first;
        if (wide) {
            cast_wide(y, at, x, from, w.step, n);
            continue;
        }
        to_float(tmp, (const char *)x->data + from * (int64_t)xs, x->dtype, w.step, n);
        from_float((char *)y->data + at * (int64_t)ys, y->dtype, tmp, n);
    }
    return TT_OK;
}

/* ---- add_n */

TtStatus TT_CPU(add_n)(TtKernelArgs *a)
{
    int64_t n = tt_tensor_count(&a->out[0]);
    TtDType t = a->out[0].dtype;
    if (t != TT_F32 && t != TT_BF16) return TT_FAIL(TT_EINTERNAL, "add_n has no kernel for %s", tt_dtype_name(t));
#pragma omp parallel for schedule(static) if (n > TT_GRAIN)
    for (int64_t first = 0; first < n; first += BLOCK) {
        float sum[BLOCK], x[BLOCK];
        int64_t len = TT_MIN((int64_t)BLOCK, n - first);
        size_t at = (size_t)first * tt_dtype_size(t);
        to_float(sum, (const char *)a->in[0].data + at, t, 1, len);
        for (int k = 1; k < a->nin; k++) {
            to_float(x, (const char *)a->in[k].data + at, t, 1, len);
            for (int64_t i = 0; i < len; i++) sum[i] += x[i];
        }
        from_float((char *)a->out[0].data + at, t, sum, len);
    }
    return TT_OK;
}
