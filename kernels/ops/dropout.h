/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/dropout.h - dropout (Srivastava et al. 2014), channel dropout, and stochastic depth (Huang et al. 2016;
 * torchvision.ops.stochastic_depth). Kept values are scaled by 1 / (1 - p). Outside training, and for p 0, x itself.
 *
 * No mask is stored. Whether an element is kept depends on the step's seed, number and shard, on the call (numbered
 * within the graph) and on the element's position, so the gradient draws the same mask again, and a resumed run, any
 * number of threads and any instruction set draw the same bits. */
#ifndef TT_KERNELS_OPS_DROPOUT_H
#define TT_KERNELS_OPS_DROPOUT_H

#include "tensor/op.h"

typedef struct TtDropoutAttrs {
    double p;
    uint64_t id;     /* of the call */
    unsigned shared; /* bit k: one draw for all of axis k; these axes are neighbours */
} TtDropoutAttrs;

TtVal tt_dropout(TtGraph *g, TtVal x, double p);
/* torch's dropout1d, 2d, 3d: whole channels of (N,...,C). */
TtVal tt_channel_dropout(TtGraph *g, TtVal x, double p);
/* Whole samples ("row"), or all of the batch at once ("batch"). */
TtVal tt_stochastic_depth(TtGraph *g, TtVal x, double p, bool batch);

/* The tensor as (outer, shared, inner): an element's draw is at position outer * inner-size + inner. Position i is
 * word i/16%4 of Philox block 16*(i/64) + i%16 of the stream. Numbers below p * 2^32 drop. */
void tt_dropout_split(const TtShape *s, unsigned shared, int64_t *outer, int64_t *repeat, int64_t *inner);

#endif
