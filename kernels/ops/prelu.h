/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/prelu.h - shared between the op and its kernel. */
#ifndef TT_KERNELS_OPS_PRELU_H
#define TT_KERNELS_OPS_PRELU_H

#include "tensor/op.h"

/* Rows that are summed into one partial gradient of the weight. */
int64_t tt_prelu_chunk(int64_t channels);

#endif
