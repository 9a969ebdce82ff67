/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/ref.c - element access for the reference kernels. */
#include "kernels/ref/ref.h"

double tt_ref_at(const TtTensor *t, int64_t offset)
{
    switch (t->dtype) {
    case TT_F32: return ((const float *)t->data)[offset];
    case TT_F64: return ((const double *)t->data)[offset];
    case TT_BF16: return tt_bf16_to_f32(((const uint16_t *)t->data)[offset]);
    case TT_F16: return tt_f16_to_f32(((const uint16_t *)t->data)[offset]);
    default: return (double)tt_ref_int_at(t, offset);
    }
}

void tt_ref_put(const TtTensor *t, int64_t offset, double v)
{
    switch (t->dtype) {
    case TT_F32: ((float *)t->data)[offset] = (float)v; break;
    case TT_F64: ((double *)t->data)[offset] = v; break;
    case TT_BF16: ((uint16_t *)t->data)[offset] = tt_f32_to_bf16((float)v); break;
    case TT_F16: ((uint16_t *)t->data)[offset] = tt_f32_to_f16((float)v); break;
    case TT_BOOL: ((uint8_t *)t->data)[offset] = v != 0; break;
    default: tt_ref_int_put(t, offset, (int64_t)v);
    }
}

int64_t tt_ref_int_at(const TtTensor *t, int64_t offset)
{
    switch (t->dtype) {
    case TT_I64: return ((const int64_t *)t->data)[offset];
    case TT_I32: return ((const int32_t *)t->data)[offset];
    case TT_U16: return ((const uint16_t *)t->data)[offset];
    case TT_U8: return ((const uint8_t *)t->data)[offset];
    case TT_BOOL: return ((const uint8_t *)t->data)[offset] != 0;
    default: return (int64_t)tt_ref_at(t, offset);
    }
}

void tt_ref_int_put(const TtTensor *t, int64_t offset, int64_t v)
{
    switch (t->dtype) {
    case TT_I64: ((int64_t *)t->data)[offset] = v; break;
    case TT_I32: ((int32_t *)t->data)[offset] = (int32_t)v; break;
    case TT_U16: ((uint16_t *)t->data)[offset] = (uint16_t)v; break;
    case TT_U8: ((uint8_t *)t->data)[offset] = (uint8_t)v; break;
    case TT_BOOL: ((uint8_t *)t->data)[offset] = v != 0; break;
    default: tt_ref_put(t, offset, (double)v);
    }
}

int64_t tt_ref_offset(const TtTensor *t, const int64_t *index)
{
    int64_t at = 0;
    for (int i = 0; i < t->shape.rank; i++) at += index[i] * t->strides[i];
    return at;
}

int64_t tt_ref_linear(const TtTensor *t, int64_t i)
{
    int64_t at = 0;
    for (int k = t->shape.rank - 1; k >= 0; k--) {
        at += i % t->shape.dims[k] * t->strides[k];
        i /= t->shape.dims[k];
    }
    return at;
}

bool tt_ref_next(const TtShape *s, int64_t *index)
{
    for (int k = s->rank - 1; k >= 0; k--) {
        if (++index[k] < s->dims[k]) return true;
        index[k] = 0;
    }
    return false;
}
