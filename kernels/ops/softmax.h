/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/softmax.h - softmax and log_softmax along an axis (torch.nn.functional), in float32. */
#ifndef TT_KERNELS_OPS_SOFTMAX_H
#define TT_KERNELS_OPS_SOFTMAX_H

#include "tensor/op.h"

typedef struct TtSoftmaxAttrs {
    int axis;
    bool log;
} TtSoftmaxAttrs;

TtVal tt_softmax(TtGraph *g, TtVal x, int axis);
TtVal tt_log_softmax(TtGraph *g, TtVal x, int axis);

#endif
