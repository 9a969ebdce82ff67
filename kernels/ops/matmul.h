/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/matmul.h - matrix products (torch.matmul, torch.nn.functional.linear). */
#ifndef TT_KERNELS_OPS_MATMUL_H
#define TT_KERNELS_OPS_MATMUL_H

#include "tensor/op.h"

typedef struct TtMatmulAttrs {
    bool trans_a, trans_b; /* the last two axes are exchanged */
    bool wide;             /* float32 output from bfloat16 operands */
} TtMatmulAttrs;

/* a (...,M,K) times b (...,K,N), with trans_a and trans_b (...,K,M) and (...,N,K); leading axes broadcast. Both
 * float32 or both bfloat16 (accumulated in float32). Output (...,M,N). BIAS (N) or TT_NONE is added. */
TtVal tt_matmul(TtGraph *g, TtVal a, TtVal b);
TtVal tt_matmul_op(TtGraph *g, TtVal a, TtVal b, TtVal bias, TtMatmulAttrs attrs);
/* x (...,I), w (O,I), b (O) or TT_NONE: x w^T + b, (...,O). */
TtVal tt_linear_op(TtGraph *g, TtVal x, TtVal w, TtVal b);

/* The strides of an operand, with those of axes of length 1, which may be anything, as if it had no gaps. */
void tt_matmul_strides(const TtTensor *t, int64_t strides[TT_MAX_RANK]);

#endif
