/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/dropout.c - dropout; its gradient is the same op on dy. */
#include "kernels/ops/dropout.h"

static TtStatus dropout_infer(TtInfer *i)
{
    i->out[0].shape = i->in[0].shape;
    return TT_OK;
}

static void dropout_grad(TtGraph *g, TtGradArgs *a)
{
    a->din[0] = tt_emit1(g, &tt_op_dropout, a->attrs, a->dout, 1);
}

const TtOpDef tt_op_dropout = {
    .name = "dropout",
    .help = "zero elements at random",
    .id = TT_OP_dropout,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtDropoutAttrs),
    .flags = TT_OP_INPLACE,
    .infer = dropout_infer,
    .grad = dropout_grad,
};

TtVal tt_dropout(TtGraph *g, TtVal x, double p)
{
    if (!tt_graph_training(g) || p <= 0) return x;
    return tt_emit1(g, &tt_op_dropout, &(TtDropoutAttrs){p, tt_graph_unique(g)}, &x, 1);
}

TtRng tt_dropout_stream(const TtKernelArgs *a)
{
    const TtDropoutAttrs *d = a->attrs;
    return tt_rng(a->step->seed, TT_RNG_DROPOUT, a->step->step, a->step->shard, d->id);
}

void tt_dropout_block(const TtRng *stream, uint64_t block, uint32_t out[4])
{
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), stream->counter[2], stream->counter[3]};
    tt_philox(stream->key, counter, out);
}

uint64_t tt_dropout_threshold(double p)
{
    return (uint64_t)(p * 4294967296.0 + 0.5);
}
