/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/recurrent.c - the recurrent loop of every cell: odd sizes, one step, one sample, nothing, lengths, both
 * directions, with and without initial states and biases; sizes at which threads divide samples or units. That the
 * formulas are torch.nn's is shown in tests/test_rnn.c. */
#include "tests/support/op_check.h"

#include "kernels/ops/concat.h"
#include "kernels/ops/recurrent.h"
#include "kernels/ops/shape.h"

typedef struct Case {
    TtRecurrentAttrs attrs;
    bool bias, states, lengths, last_only;
} Case;

/* Inputs: gates, w_hh, b_hh, h0, c0, lengths. All results in one vector, so that every gradient flows. */
static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    const Case *c = user;
    bool lstm = c->attrs.cell == TT_CELL_LSTM;
    TtRecurrentIn r = {.gates = in[0], .w_hh = in[1]};
    if (c->bias) r.b_hh = in[2];
    if (c->states) r.h0 = in[3], r.c0 = lstm ? in[4] : TT_NONE;
    if (c->lengths) r.lengths = in[5];
    TtRecurrentOut o;
    tt_recurrent(g, &r, c->attrs, &o);
    if (c->last_only) return o.h;
    TtVal all[3] = {tt_flatten(g, o.y, 0, -1), tt_flatten(g, o.h, 0, -1)};
    if (lstm) all[2] = tt_flatten(g, o.c, 0, -1);
    return tt_concat(g, all, lstm ? 3 : 2, 0);
}

static const char *const cell_names[] = {"rnn, tanh", "rnn, relu", "lstm", "gru"};

static void check(Case c, int64_t n, int64_t t, int64_t h)
{
    int64_t gates = tt_cell_gates(c.attrs.cell) * h;
    double lengths[64] = {0}, scale = 1 / (h < 4 ? 1.0 : (double)h / 4);
    for (int64_t i = 0; i < n && i < 64; i++) lengths[i] = (double)(t - (i * 5) % (t + 1));
    char what[160];
    snprintf(what, sizeof what, "%s%s, %lld samples, %lld steps, %lld units%s%s%s", cell_names[c.attrs.cell],
             c.attrs.reverse ? " backwards" : "", (long long)n, (long long)t, (long long)h, c.bias ? ", bias" : "",
             c.states ? ", states" : "", c.lengths ? ", lengths" : "");
    TtOpCheck k = {what,
                   build,
                   &c,
                   6,
                   {{TT_SHAPE(n, t, gates)},
                    {TT_SHAPE(gates, h), .lo = -scale, .hi = scale},
                    {TT_SHAPE(gates), .no_grad = !c.bias},
                    {TT_SHAPE(n, h), .no_grad = !c.states},
                    {TT_SHAPE(n, h), .no_grad = !c.states || c.attrs.cell != TT_CELL_LSTM},
                    {TT_SHAPE(n), TT_I64, .values = lengths}},
                   .tolerance = 2e-5,
                   .grad_tolerance = 1e-4,
                   .threads = 1e-5, /* of oneDNN's product for w_hh */
                   .numeric = n * t * h > 400 || c.attrs.cell == TT_CELL_RELU ? -1 : 1e-6};
    tt_op_check(&k);
    k.in[1].no_grad = true, k.numeric = -1, k.threads = 0; /* our own loops give the same bits */
    tt_op_check(&k);
}

void tt_test_op_recurrent(void **state)
{
    for (TtCell cell = TT_CELL_TANH; cell <= TT_CELL_GRU; cell++)
        for (int reverse = 0; reverse < 2; reverse++) {
            TtRecurrentAttrs a = {cell, reverse};
            check((Case){a, true, true, true}, 3, 5, 3);
            check((Case){a}, 2, 4, 5);
            check((Case){a, .bias = true, .lengths = true}, 7, 3, 2);
            check((Case){a, .states = true}, 1, 1, 1);
            check((Case){a, true, true, false, true}, 2, 3, 4);
            check((Case){a, true, true, true}, 2, 0, 3);
            check((Case){a, true, true, true}, 0, 3, 3);
        }
}

/* The gradient's own test: more than a panel of units, more than a tile of samples, threads. */
void tt_test_op_recurrent_bwd(void **state)
{
    for (TtCell cell = TT_CELL_TANH; cell <= TT_CELL_GRU; cell++) {
        TtRecurrentAttrs a = {cell, cell % 2};
        check((Case){a, true, true, true}, 13, 6, 67);
        check((Case){a, true, true, false}, 19, 3, 33);
        check((Case){a, true, true, true}, 2, 4, 330);
        check((Case){a, .bias = true}, 1, 5, 400);
    }
    double bad[2] = {3, 6}, negative[2] = {-1, 2};
    Case c = {{TT_CELL_GRU}, .lengths = true};
    TtOpCheck k = {"lengths",
                   build,
                   &c,
                   6,
                   {{TT_SHAPE(2, 5, 6)},
                    {TT_SHAPE(6, 2)},
                    {TT_SHAPE(6)},
                    {TT_SHAPE(2, 2)},
                    {TT_SHAPE(2, 2)},
                    {TT_SHAPE(2), TT_I64, .values = bad}}};
    tt_op_expect_error(&k, TT_EDATA);
    k.in[5].values = negative;
    tt_op_expect_error(&k, TT_EDATA);
}
