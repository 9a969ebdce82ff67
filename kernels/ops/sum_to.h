/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/sum_to.h - undo a broadcast: the gradient's half of expand and of the binary ops. */
#ifndef TT_KERNELS_OPS_SUM_TO_H
#define TT_KERNELS_OPS_SUM_TO_H

#include "tensor/op.h"

typedef struct TtSumToAttrs {
    TtShape shape;
} TtSumToAttrs;

/* Sum x over the axes along which SHAPE would have to be expanded to give x's shape (torch.Tensor.sum_to_size). */
TtVal tt_sum_to(TtGraph *g, TtVal x, TtShape shape);

/* x seen as (outer, reduced, inner) when the summed axes lie together, ignoring axes of length 1. */
bool tt_sum_to_split(const TtShape *x, const TtShape *y, int64_t *outer, int64_t *reduced, int64_t *inner);
/* Rows of one chunk of a sum: fixed, so that the result does not depend on the number of threads. */
enum { TT_SUM_CHUNK = 256 };

#endif
