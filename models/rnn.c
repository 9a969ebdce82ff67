/* SPDX-License-Identifier: Apache-2.0 */
/* models/rnn.c - layers and directions of recurrent networks. */
#include "models/rnn.h"

#include <math.h>

#include "kernels/ops/concat.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/shape.h"

static TtVal parameter(TtGraph *g, const char *what, int layer, bool reverse, TtShape shape, double bound)
{
    char name[64];
    snprintf(name, sizeof name, "%s_l%d%s", what, layer, reverse ? "_reverse" : "");
    return tt_param(g, name, shape, (TtInit){TT_INIT_UNIFORM, -bound, bound});
}

/* Number WHICH of (layers * directions, N, hidden), as (N,hidden). */
static TtVal state_of(TtGraph *g, TtVal states, int which)
{
    if (!states.id) return TT_NONE;
    TtShape s = tt_shape(g, states);
    return tt_reshape(g, tt_slice(g, states, 0, which, 1, 1), TT_SHAPE(s.dims[1], s.dims[2]));
}

static void direction(TtGraph *g, TtVal x, TtCell cell, const TtRnnOptions *o, int layer, bool reverse,
                      TtRecurrentOut *out)
{
    int64_t rows = (int64_t)tt_cell_gates(cell) * o->hidden, in = tt_channels(g, x);
    double bound = 1 / sqrt((double)o->hidden);
    int which = layer * (o->bidirectional ? 2 : 1) + reverse;
    TtVal w_ih = parameter(g, "weight_ih", layer, reverse, TT_SHAPE(rows, in), bound), b_ih = TT_NONE;
    TtRecurrentIn r = {.w_hh = parameter(g, "weight_hh", layer, reverse, TT_SHAPE(rows, o->hidden), bound)};
    if (!o->no_bias) {
        b_ih = parameter(g, "bias_ih", layer, reverse, TT_SHAPE(rows), bound);
        r.b_hh = parameter(g, "bias_hh", layer, reverse, TT_SHAPE(rows), bound);
    }
    TtDType t = tt_graph_autocast(g) ? TT_BF16 : tt_graph_ftype(g);
    TtVal gates = tt_linear_op(g, tt_cast(g, x, t), tt_cast(g, w_ih, t), b_ih.id ? tt_cast(g, b_ih, t) : TT_NONE);
    r.gates = tt_cast(g, gates, tt_graph_ftype(g));
    r.h0 = state_of(g, o->h0, which), r.c0 = state_of(g, o->c0, which), r.lengths = o->lengths;
    tt_recurrent(g, &r, (TtRecurrentAttrs){cell, reverse}, out);
}

/* What torch.nn checks. */
static bool acceptable(TtGraph *g, TtVal x, const char *name, TtCell cell, const TtRnnOptions *o)
{
    char text[TT_SHAPE_TEXT], want_text[TT_SHAPE_TEXT];
    TtShape s = tt_shape(g, x);
    if (!tt_graph_ok(g)) return false;
    if (s.rank != 3 || s.dims[2] == 0 || o->hidden < 1 || o->layers < 0) {
        tt_graph_fail(g, TT_ECONFIG,
                      "%s: %d layers of %d units over a sequence %s; (samples, steps, features) is needed", name,
                      o->layers, o->hidden, tt_shape_text(&s, text));
        return false;
    }
    TtShape want = TT_SHAPE((int64_t)(o->layers ? o->layers : 1) * (o->bidirectional ? 2 : 1), s.dims[0], o->hidden);
    const TtVal states[] = {o->h0, o->c0};
    for (int k = 0; k < 2; k++) {
        TtShape have = tt_shape(g, states[k]);
        if (!states[k].id || (tt_shape_equal(&have, &want) && (k == 0 || cell == TT_CELL_LSTM))) continue;
        tt_graph_fail(g, TT_ECONFIG, "%s: initial state %s; %s is needed", name, tt_shape_text(&have, text),
                      tt_shape_text(&want, want_text));
        return false;
    }
    return true;
}

TtRnnOutput tt_nn_recurrent(TtGraph *g, TtVal x, const char *name, TtCell cell, TtRnnOptions o)
{
    if (cell == TT_CELL_TANH && o.relu) cell = TT_CELL_RELU;
    if (!acceptable(g, x, name, cell, &o)) return (TtRnnOutput){0};
    int layers = o.layers ? o.layers : 1, directions = o.bidirectional ? 2 : 1, count = layers * directions;
    TtVal *h = TT_NEWN(tt_graph_arena(g), TtVal, count), *c = TT_NEWN(tt_graph_arena(g), TtVal, count);
    tt_graph_push(g, "%s", name);
    for (int layer = 0; layer < layers; layer++) {
        if (layer) x = tt_dropout(g, x, o.dropout);
        TtVal y[2] = {{0}};
        for (int d = 0; d < directions; d++) {
            TtRecurrentOut out;
            direction(g, x, cell, &o, layer, d, &out);
            y[d] = out.y, h[layer * directions + d] = out.h, c[layer * directions + d] = out.c;
        }
        x = directions == 2 ? tt_concat(g, y, 2, 2) : y[0];
    }
    TtRnnOutput out = {.y = x, .h = tt_stack(g, h, count, 0)};
    if (cell == TT_CELL_LSTM) out.c = tt_stack(g, c, count, 0);
    tt_graph_pop(g);
    return out;
}
