/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/unary.h - functions of one element; names, defaults and gradients are PyTorch's
 * (torch.nn.functional and torch). Any shape and strides; float32, bfloat16, float16. */
#ifndef TT_KERNELS_OPS_UNARY_H
#define TT_KERNELS_OPS_UNARY_H

#include "tensor/op.h"

typedef enum TtUnaryKind {
#define UNARY(name, saves, help) TT_UNARY_##name,
#include "kernels/unary.def"
#undef UNARY
    TT_UNARY_COUNT
} TtUnaryKind;

/* Of unary and unary_bwd. */
typedef struct TtUnaryAttrs {
    TtUnaryKind kind;
    double a, b;
} TtUnaryAttrs;

const char *tt_unary_name(TtUnaryKind kind);
const char *tt_unary_help(TtUnaryKind kind);

TtVal tt_relu(TtGraph *g, TtVal x);
TtVal tt_relu6(TtGraph *g, TtVal x);
TtVal tt_leaky_relu(TtGraph *g, TtVal x, double slope); /* torch's default is 0.01 */
TtVal tt_elu(TtGraph *g, TtVal x, double alpha);        /* 1 */
TtVal tt_selu(TtGraph *g, TtVal x);
TtVal tt_gelu(TtGraph *g, TtVal x, bool tanh_approximation);
TtVal tt_silu(TtGraph *g, TtVal x);
TtVal tt_mish(TtGraph *g, TtVal x);
TtVal tt_softplus(TtGraph *g, TtVal x, double beta, double threshold); /* 1, 20 */
TtVal tt_sigmoid(TtGraph *g, TtVal x);
TtVal tt_tanh(TtGraph *g, TtVal x);
TtVal tt_hardswish(TtGraph *g, TtVal x);
TtVal tt_hardsigmoid(TtGraph *g, TtVal x);
TtVal tt_hardtanh(TtGraph *g, TtVal x, double min, double max); /* -1, 1 */
TtVal tt_clamp(TtGraph *g, TtVal x, double min, double max);    /* -INFINITY or INFINITY: no limit */
TtVal tt_exp(TtGraph *g, TtVal x);
TtVal tt_log(TtGraph *g, TtVal x);
TtVal tt_log1p(TtGraph *g, TtVal x);
TtVal tt_sqrt(TtGraph *g, TtVal x);
TtVal tt_rsqrt(TtGraph *g, TtVal x);
TtVal tt_square(TtGraph *g, TtVal x);
TtVal tt_abs(TtGraph *g, TtVal x);
TtVal tt_neg(TtGraph *g, TtVal x);
TtVal tt_reciprocal(TtGraph *g, TtVal x);
TtVal tt_sin(TtGraph *g, TtVal x);
TtVal tt_cos(TtGraph *g, TtVal x);
TtVal tt_erf(TtGraph *g, TtVal x);
TtVal tt_add_scalar(TtGraph *g, TtVal x, double a);
TtVal tt_mul_scalar(TtGraph *g, TtVal x, double a);
TtVal tt_pow_scalar(TtGraph *g, TtVal x, double exponent);

/* torch.nn.functional.prelu: weight (C) over the last axis, or (1). */
TtVal tt_prelu_op(TtGraph *g, TtVal x, TtVal weight);

#endif
