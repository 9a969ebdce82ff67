/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/binary.h - functions of two elements with NumPy's broadcasting (shapes aligned at the last axis,
 * lengths equal or 1); names and gradients are PyTorch's. float32, bfloat16, float16 (mixed inputs are widened),
 * and int64/int32/uint8/bool without gradient. */
#ifndef TT_KERNELS_OPS_BINARY_H
#define TT_KERNELS_OPS_BINARY_H

#include "tensor/op.h"

typedef enum TtBinaryKind {
    TT_BINARY_ADD,
    TT_BINARY_SUB,
    TT_BINARY_MUL,
    TT_BINARY_DIV,
    TT_BINARY_MAXIMUM,
    TT_BINARY_MINIMUM,
    TT_BINARY_POW,
    TT_BINARY_COUNT
} TtBinaryKind;

typedef enum TtCompareKind {
    TT_COMPARE_EQ,
    TT_COMPARE_NE,
    TT_COMPARE_LT,
    TT_COMPARE_LE,
    TT_COMPARE_GT,
    TT_COMPARE_GE,
    TT_COMPARE_COUNT
} TtCompareKind;

typedef struct TtBinaryAttrs {
    TtBinaryKind kind;
} TtBinaryAttrs;
typedef struct TtCompareAttrs {
    TtCompareKind kind;
} TtCompareAttrs;

TtVal tt_add(TtGraph *g, TtVal a, TtVal b);
TtVal tt_sub(TtGraph *g, TtVal a, TtVal b);
TtVal tt_mul(TtGraph *g, TtVal a, TtVal b);
TtVal tt_div(TtGraph *g, TtVal a, TtVal b);
/* NaN if either is; at a tie each takes half of the gradient, as in torch. */
TtVal tt_maximum(TtGraph *g, TtVal a, TtVal b);
TtVal tt_minimum(TtGraph *g, TtVal a, TtVal b);
TtVal tt_pow(TtGraph *g, TtVal a, TtVal b);

/* bool results; no gradient. */
TtVal tt_eq(TtGraph *g, TtVal a, TtVal b);
TtVal tt_ne(TtGraph *g, TtVal a, TtVal b);
TtVal tt_lt(TtGraph *g, TtVal a, TtVal b);
TtVal tt_le(TtGraph *g, TtVal a, TtVal b);
TtVal tt_gt(TtGraph *g, TtVal a, TtVal b);
TtVal tt_ge(TtGraph *g, TtVal a, TtVal b);

/* cond ? a : b for a bool (or uint8) cond; all three broadcast. */
TtVal tt_where(TtGraph *g, TtVal cond, TtVal a, TtVal b);

/* A constant of rank 0 and this type. */
TtVal tt_scalar_of(TtGraph *g, TtDType dtype, double v);
/* The broadcast of two shapes; false when they do not fit. */
bool tt_broadcast_shapes(const TtShape *a, const TtShape *b, TtShape *out);

#endif
