/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/dropout.h - dropout (Srivastava et al. 2014; torch.nn.functional.dropout). */
#ifndef TT_KERNELS_OPS_DROPOUT_H
#define TT_KERNELS_OPS_DROPOUT_H

#include "tensor/op.h"
#include "tensor/rng.h"

/* The mask is not stored: the gradient draws it again. Its stream is (seed, step, shard, id); element i has the i-th
 * 32-bit number of it, so the mask depends on nothing but these. */
typedef struct TtDropoutAttrs {
    double p;
    uint64_t id; /* of this dropout in the graph */
} TtDropoutAttrs;

/* In training each element is zeroed with probability P and the others are divided by 1-P; otherwise x itself. */
TtVal tt_dropout(TtGraph *g, TtVal x, double p);

/* The stream at block BLOCK (four numbers: elements 4*BLOCK to 4*BLOCK + 3). */
void tt_dropout_block(const TtRng *stream, uint64_t block, uint32_t out[4]);
TtRng tt_dropout_stream(const TtKernelArgs *a);
/* An element is kept when its number is at least this. */
uint64_t tt_dropout_threshold(double p);

#endif
