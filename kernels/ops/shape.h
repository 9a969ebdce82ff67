/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/shape.h - views and copies: nothing is computed, elements keep their values. */
#ifndef TT_KERNELS_OPS_SHAPE_H
#define TT_KERNELS_OPS_SHAPE_H

#include "tensor/op.h"

typedef struct TtReshapeAttrs {
    TtShape shape;
} TtReshapeAttrs;
typedef struct TtPermuteAttrs {
    int axes[TT_MAX_RANK];
} TtPermuteAttrs;
typedef struct TtSliceAttrs {
    int axis;
    int64_t start, length, step; /* start + (length-1)*step lies within the axis; step is 1 or more */
} TtSliceAttrs;
typedef struct TtSliceGradAttrs {
    TtSliceAttrs slice;
    int64_t size; /* of the axis before slicing */
} TtSliceGradAttrs;
typedef struct TtCastAttrs {
    TtDType to;
} TtCastAttrs;

/* torch.Tensor.reshape; one dimension may be -1. */
TtVal tt_reshape(TtGraph *g, TtVal x, TtShape shape);
/* torch.flatten(start_dim, end_dim); negative axes count from the end. */
TtVal tt_flatten(TtGraph *g, TtVal x, int start, int end);
/* torch.Tensor.permute: output axis i is input axis axes[i]. */
TtVal tt_permute(TtGraph *g, TtVal x, const int *axes);
TtVal tt_transpose(TtGraph *g, TtVal x, int a, int b);
/* x[..., start:start+length*step:step, ...] along an axis. */
TtVal tt_slice(TtGraph *g, TtVal x, int axis, int64_t start, int64_t length, int64_t step);
/* torch.Tensor.expand: axes of length 1 (and new leading axes) are repeated without copying. */
TtVal tt_expand(TtGraph *g, TtVal x, TtShape shape);
/* Another element type; x itself when it has it already. */
TtVal tt_cast(TtGraph *g, TtVal x, TtDType to);
#endif
