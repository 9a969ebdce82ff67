/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/types.c - element types, shapes and tensor views. */
#include "tensor/types.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    bool is_float;
} dtypes[TT_DTYPES] = {
    [TT_F32] = {"float32", 4, true}, [TT_F64] = {"float64", 8, true}, [TT_BF16] = {"bfloat16", 2, true},
    [TT_F16] = {"float16", 2, true}, [TT_I64] = {"int64", 8, false},  [TT_I32] = {"int32", 4, false},
    [TT_U8] = {"uint8", 1, false},   [TT_U16] = {"uint16", 2, false}, [TT_BOOL] = {"bool", 1, false},
};

size_t tt_dtype_size(TtDType t)
{
    return dtypes[t].size;
}

const char *tt_dtype_name(TtDType t)
{
    return dtypes[t].name;
}

bool tt_dtype_is_float(TtDType t)
{
    return dtypes[t].is_float;
}

int64_t tt_shape_count(const TtShape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->dims[i];
    return n;
}

bool tt_shape_equal(const TtShape *a, const TtShape *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

const char *tt_shape_text(const TtShape *s, char buf[TT_SHAPE_TEXT])
{
    size_t at = (size_t)snprintf(buf, TT_SHAPE_TEXT, "(");
    for (int i = 0; i < s->rank; i++)
        at += (size_t)snprintf(buf + at, TT_SHAPE_TEXT - at, i ? ",%lld" : "%lld", (long long)s->dims[i]);
    snprintf(buf + at, TT_SHAPE_TEXT - at, ")");
    return buf;
}

void tt_strides_contiguous(const TtShape *s, int64_t strides[TT_MAX_RANK])
{
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= s->dims[i];
    }
}

TtTensor tt_tensor(void *data, TtDType dtype, TtShape shape)
{
    TtTensor t = {.dtype = dtype, .shape = shape, .data = data};
    tt_strides_contiguous(&shape, t.strides);
    return t;
}

bool tt_tensor_contiguous(const TtTensor *t)
{
    int64_t step = 1;
    for (int i = t->shape.rank - 1; i >= 0; i--) {
        if (t->shape.dims[i] == 0) return true;
        if (t->shape.dims[i] != 1 && t->strides[i] != step) return false;
        step *= t->shape.dims[i];
    }
    return true;
}

int64_t tt_tensor_count(const TtTensor *t)
{
    return tt_shape_count(&t->shape);
}

size_t tt_tensor_bytes(const TtTensor *t)
{
    return (size_t)tt_tensor_count(t) * tt_dtype_size(t->dtype);
}

static uint32_t bits_of(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

float tt_bf16_to_f32(uint16_t v)
{
    return float_of((uint32_t)v << 16);
}

uint16_t tt_f32_to_bf16(float v)
{
    uint32_t u = bits_of(v);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40); /* keep NaN quiet */
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

float tt_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 1023u;
    if (exp == 31) return float_of(sign | 0x7f800000u | man << 13);
    if (exp) return float_of(sign | (exp + 112) << 23 | man << 13);
    float v = (float)man * 0x1p-24f; /* subnormal or zero */
    return sign ? -v : v;
}

uint16_t tt_f32_to_f16(float v)
{
    uint32_t u = bits_of(v), sign = u >> 16 & 0x8000, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00);
    if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00); /* 65520 and up round to infinity */
    if (a < 0x38800000u) {                                  /* below 2^-14: subnormal, in units of 2^-24 */
        float scaled = float_of(a) * 0x1p24f;
        uint32_t n = (uint32_t)scaled;
        float rest = scaled - (float)n;
        if (rest > 0.5f || (rest == 0.5f && (n & 1))) n++;
        return (uint16_t)(sign | n);
    }
    return (uint16_t)(sign | ((a + 0xfffu + (a >> 13 & 1) - 0x38000000u) >> 13));
}
