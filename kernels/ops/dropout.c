/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/dropout.c - dropout; its gradient is the same op applied to dy. */
#include "kernels/ops/dropout.h"

static TtStatus infer(TtInfer *i)
{
    i->out[0].shape = i->in[0].shape;
    return TT_OK;
}

static void grad(TtGraph *g, TtGradArgs *a)
{
    a->din[0] = tt_emit1(g, &tt_op_dropout, a->attrs, a->dout, 1);
}

const TtOpDef tt_op_dropout = {
    .name = "dropout",
    .help = "zero random elements, channels or samples",
    .id = TT_OP_dropout,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtDropoutAttrs),
    .flags = TT_OP_INPLACE,
    .infer = infer,
    .grad = grad,
};

void tt_dropout_split(const TtShape *s, unsigned shared, int64_t *outer, int64_t *repeat, int64_t *inner)
{
    *outer = *repeat = *inner = 1;
    bool seen = false;
    for (int k = 0; k < s->rank; k++) {
        bool one = shared >> k & 1;
        seen |= one;
        *(one ? repeat : seen ? inner : outer) *= s->dims[k];
    }
}

static TtVal emit(TtGraph *g, const char *name, TtVal x, double p, unsigned shared)
{
    if (!(p >= 0 && p <= 1)) tt_graph_fail(g, TT_ECONFIG, "%s: p is %g; it lies in 0..1", name, p);
    if (!tt_graph_ok(g)) return TT_NONE;
    uint64_t id = tt_graph_unique(g); /* taken always, so that p 0 does not renumber the others */
    if (!tt_graph_training(g) || p == 0) return x;
    return tt_emit1(g, &tt_op_dropout, &(TtDropoutAttrs){.p = p, .id = id, .shared = shared}, &x, 1);
}

TtVal tt_dropout(TtGraph *g, TtVal x, double p)
{
    return emit(g, "dropout", x, p, 0);
}

TtVal tt_channel_dropout(TtGraph *g, TtVal x, double p)
{
    int rank = tt_rank(g, x);
    unsigned middle = 0;
    for (int k = 1; k < rank - 1; k++) middle |= 1u << k;
    return emit(g, "channel dropout", x, p, middle);
}

TtVal tt_stochastic_depth(TtGraph *g, TtVal x, double p, bool batch)
{
    unsigned all = (1u << tt_rank(g, x)) - 1;
    return emit(g, "stochastic depth", x, p, batch ? all : all & ~1u);
}
