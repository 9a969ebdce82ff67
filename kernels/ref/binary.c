/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/binary.c - oracle of binary, compare and where. */
#include "kernels/ops/binary.h"

#include <math.h>

#include "kernels/ref/ref.h"

/* Offset in T of the element that is seen at INDEX of a tensor of shape S that T broadcasts to. */
static int64_t seen_at(const TtTensor *t, const TtShape *s, const int64_t *index)
{
    int64_t at = 0;
    for (int k = 0; k < t->shape.rank; k++)
        if (t->shape.dims[k] != 1) at += index[k + s->rank - t->shape.rank] * t->strides[k];
    return at;
}

static double arithmetic(TtBinaryKind kind, double x, double y)
{
    switch (kind) {
    case TT_BINARY_ADD: return x + y;
    case TT_BINARY_SUB: return x - y;
    case TT_BINARY_MUL: return x * y;
    case TT_BINARY_DIV: return x / y;
    case TT_BINARY_MAXIMUM: return isnan(x) || isnan(y) ? NAN : fmax(x, y);
    case TT_BINARY_MINIMUM: return isnan(x) || isnan(y) ? NAN : fmin(x, y);
    case TT_BINARY_POW: return pow(x, y);
    case TT_BINARY_COUNT: break;
    }
    return NAN;
}

static bool relation(TtCompareKind kind, double x, double y)
{
    switch (kind) {
    case TT_COMPARE_EQ: return x == y;
    case TT_COMPARE_NE: return x != y;
    case TT_COMPARE_LT: return x < y;
    case TT_COMPARE_LE: return x <= y;
    case TT_COMPARE_GT: return x > y;
    case TT_COMPARE_GE: return x >= y;
    case TT_COMPARE_COUNT: break;
    }
    return false;
}

TtStatus tt_ref_binary(TtKernelArgs *a)
{
    const TtTensor *y = &a->out[0];
    int64_t index[TT_MAX_RANK] = {0};
    if (tt_tensor_count(y) == 0) return TT_OK;
    do {
        double u = tt_ref_at(&a->in[0], seen_at(&a->in[0], &y->shape, index));
        double v = tt_ref_at(&a->in[1], seen_at(&a->in[1], &y->shape, index));
        tt_ref_put(y, tt_ref_offset(y, index), arithmetic(((const TtBinaryAttrs *)a->attrs)->kind, u, v));
    } while (tt_ref_next(&y->shape, index));
    return TT_OK;
}

TtStatus tt_ref_compare(TtKernelArgs *a)
{
    const TtTensor *y = &a->out[0];
    int64_t index[TT_MAX_RANK] = {0};
    if (tt_tensor_count(y) == 0) return TT_OK;
    do {
        double u = tt_ref_at(&a->in[0], seen_at(&a->in[0], &y->shape, index));
        double v = tt_ref_at(&a->in[1], seen_at(&a->in[1], &y->shape, index));
        tt_ref_int_put(y, tt_ref_offset(y, index), relation(((const TtCompareAttrs *)a->attrs)->kind, u, v));
    } while (tt_ref_next(&y->shape, index));
    return TT_OK;
}

TtStatus tt_ref_where(TtKernelArgs *a)
{
    const TtTensor *y = &a->out[0];
    int64_t index[TT_MAX_RANK] = {0};
    if (tt_tensor_count(y) == 0) return TT_OK;
    do {
        const TtTensor *from = &a->in[tt_ref_int_at(&a->in[0], seen_at(&a->in[0], &y->shape, index)) ? 1 : 2];
        tt_ref_put(y, tt_ref_offset(y, index), tt_ref_at(from, seen_at(from, &y->shape, index)));
    } while (tt_ref_next(&y->shape, index));
    return TT_OK;
}
