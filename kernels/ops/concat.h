/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/concat.h - put tensors one behind the other along an axis, and take them apart (torch.cat, split, chunk,
 * stack). Any element type. */
#ifndef TT_KERNELS_OPS_CONCAT_H
#define TT_KERNELS_OPS_CONCAT_H

#include "tensor/op.h"

typedef struct TtConcatAttrs {
    int axis;
} TtConcatAttrs;

/* Any number of inputs, equal but for the length of the axis. */
TtVal tt_concat(TtGraph *g, const TtVal *xs, int n, int axis);
/* A new axis at place AXIS. */
TtVal tt_stack(TtGraph *g, const TtVal *xs, int n, int axis);
/* N views of the given lengths, which add up to the axis. */
void tt_split(TtGraph *g, TtVal x, const int64_t *lengths, int n, int axis, TtVal *outs);
/* N views of equal length; the axis must divide. */
void tt_chunk(TtGraph *g, TtVal x, int n, int axis, TtVal *outs);

#endif
