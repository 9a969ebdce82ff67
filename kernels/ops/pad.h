/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/pad.h - lengthen or shorten axes (torch.nn.functional.pad), rotate and reverse them. Any element type;
 * gradients for floating-point ones. */
#ifndef TT_KERNELS_OPS_PAD_H
#define TT_KERNELS_OPS_PAD_H

#include "tensor/op.h"

typedef enum TtPadMode { TT_PAD_CONSTANT, TT_PAD_REFLECT, TT_PAD_REPLICATE, TT_PAD_CIRCULAR } TtPadMode;

typedef struct TtPadAttrs {
    TtPadMode mode;
    double value; /* of constant padding */
    int64_t before[TT_MAX_RANK], after[TT_MAX_RANK];
} TtPadAttrs;

/* BEFORE and AFTER have an entry for each axis, in the tensor's order; negative ones cut. Reflection is at most the
 * length less 1, circular padding at most the length. */
TtVal tt_pad(TtGraph *g, TtVal x, TtPadMode mode, double value, const int64_t *before, const int64_t *after);
/* One axis. */
TtVal tt_pad_axis(TtGraph *g, TtVal x, TtPadMode mode, double value, int axis, int64_t before, int64_t after);
TtVal tt_roll(TtGraph *g, TtVal x, int64_t shift, int axis); /* torch.roll */

/* What the kernels share: the padded axes are 0..axis, INNER elements lie together behind them. */
typedef struct TtPadPlan {
    int first, axis; /* first and last padded axis; axis is -1 when there is none */
    int64_t inner;   /* elements behind the last padded axis */
    int64_t outer;   /* positions of the output before it */
} TtPadPlan;
TtPadPlan tt_pad_plan(const TtPadAttrs *a, const TtShape *x, const TtShape *y);

#endif
