/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_rnn.c - recurrent layers have torch.nn's parameters, start as they do, and give torch's numbers and
 * gradients: scripts/make_recurrent_values.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/ops/ops.h"
#include "models/rnn.h"
#include "tests/support/values.h"

enum { N = 3, T = 4, INPUTS = 3, HIDDEN = 5, MOST = 4 * N * HIDDEN };

typedef struct Case {
    TtCell cell;
    int layers;
    bool bidirectional, bias, lengths, states;
    int64_t length[N];
    const double *y, *h, *c;
    const Digest *params;
    int nparams;
} Case;

#include "tests/rnn_torch.inc"

/* One layer as the graph's program. */
typedef struct Net {
    TtParamSet *params;
    TtGraph *g;
    TtProgram *p;
    TtVal in[3], din[3]; /* x, h0, c0 */
    float data[3][MOST];
    TtRnnOutput out;
} Net;

static TtVal objective(TtGraph *g, const TtRnnOutput *o)
{
    const TtVal outs[] = {o->y, o->h, o->c};
    TtVal sum = TT_NONE;
    for (int k = 0; k < 3; k++) {
        if (!outs[k].id) continue;
        TtVal weighted = tt_mul(g, outs[k], values_const(g, tt_shape(g, outs[k]), k + 5));
        TtVal part = tt_sum(g, tt_flatten(g, weighted, 0, -1), (int[]){0}, 1, false);
        sum = sum.id ? tt_add(g, sum, part) : part;
    }
    return sum;
}

static void net_open(Net *n, const Case *c, bool bf16)
{
    *n = (Net){.params = tt_params_new(TT_F32)};
    n->g = tt_graph_new(&(TtGraphOptions){.params = n->params, .training = true, .bf16 = bf16});
    int rows = c->layers * (c->bidirectional ? 2 : 1), inputs = 1 + c->states * (c->cell == TT_CELL_LSTM ? 2 : 1);
    static const char *const names[] = {"x", "h0", "c0"};
    for (int k = 0; k < inputs; k++)
        n->in[k] = tt_input(n->g, names[k], TT_F32, k ? TT_SHAPE(rows, N, HIDDEN) : TT_SHAPE(N, T, INPUTS));
    TtRnnOptions o = {.hidden = HIDDEN,
                      .layers = c->layers,
                      .bidirectional = c->bidirectional,
                      .no_bias = !c->bias,
                      .relu = c->cell == TT_CELL_RELU,
                      .h0 = n->in[1],
                      .c0 = n->in[2]};
    if (c->lengths) o.lengths = tt_const_data(n->g, TT_I64, TT_SHAPE(N), c->length);
    n->out = tt_nn_recurrent(n->g, n->in[0], "net", c->cell == TT_CELL_RELU ? TT_CELL_TANH : c->cell, o);
    tt_grad(n->g, objective(n->g, &n->out), TT_NONE, n->in, inputs, n->din);
    const TtVal outs[] = {n->out.y, n->out.h, n->out.c, n->din[0], n->din[1], n->din[2]};
    for (int k = 0; k < TT_COUNT(outs); k++) tt_output(n->g, outs[k], "out");
    values_ok(tt_graph_status(n->g));
    values_ok(tt_params_allocate(n->params));
    values_fill_params(n->params, 1);
    values_ok(tt_program_build(n->g, NULL, &n->p));
    for (int k = 0; k < inputs; k++) tt_program_bind(n->p, n->in[k], values_fill(n->data[k], MOST, k + 1));
    values_ok(tt_program_run(n->p, &(TtStepInfo){0}));
}

static void net_close(Net *n)
{
    tt_program_free(n->p);
    tt_graph_free(n->g);
    tt_params_free(n->params);
}

static void expect_values(const Net *n, const char *what, TtVal v, const double *expected, double tolerance)
{
    if (!expected) return;
    TtTensor t = tt_program_tensor(n->p, v);
    values_expect(what, t.data, expected, tt_tensor_count(&t), tolerance);
}

/* The parameters are declared in torch's order; behind them stand the inputs. */
static void expect_gradients(const Net *n, const char *what, const Case *c, double tolerance)
{
    for (int k = 0; k < c->nparams; k++) {
        const Digest *d = &c->params[k];
        if (k >= n->params->count) {
            TtTensor t = tt_program_tensor(n->p, n->din[k - n->params->count]);
            values_expect_digest(what, t.data, tt_tensor_count(&t), d, tolerance);
            continue;
        }
        const TtParam *p = n->params->list[k];
        assert_string_equal(p->name + strlen("net."), d->name);
        values_expect_digest(what, p->grad, tt_shape_count(&p->shape), d, tolerance);
    }
}

static void test_torch(void **state)
{
    static const char *const names[] = {"RNN", "RNN, relu", "LSTM", "GRU"};
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const Case *c = &cases[i];
        char what[64];
        snprintf(what, sizeof what, "case %d, %s", i, names[c->cell]);
        for (int bf16 = 0; bf16 < 2; bf16++) { /* autocast rounds the input's products */
            double tolerance = bf16 ? 2e-2 : 2e-6;
            Net n;
            net_open(&n, c, bf16);
            expect_values(&n, what, n.out.y, c->y, tolerance);
            expect_values(&n, what, n.out.h, c->h, tolerance);
            expect_values(&n, what, n.out.c, c->c, tolerance);
            expect_gradients(&n, what, c, tolerance);
            net_close(&n);
        }
    }
}

/* All uniform on +-1/sqrt(hidden). */
static void test_initialisation(void **state)
{
    TtParamSet *p = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = p});
    tt_lstm(g, tt_input(g, "x", TT_F32, TT_SHAPE(2, 3, 50)), "rnn", .hidden = 64, .layers = 2);
    values_ok(tt_graph_status(g));
    assert_int_equal(p->count, 8);
    values_ok(tt_params_allocate(p));
    tt_params_init(p, 1);
    for (int i = 0; i < p->count; i++) {
        const float *v = p->list[i]->value;
        int64_t n = tt_shape_count(&p->list[i]->shape);
        double most = 0, squares = 0;
        for (int64_t k = 0; k < n; k++) most = fmax(most, fabs(v[k])), squares += (double)v[k] * v[k];
        assert_true(most <= 0.125 && most > 0.12);
        assert_true(fabs(sqrt(squares / (double)n) / (0.125 / sqrt(3)) - 1) < 0.1);
    }
    tt_graph_free(g);
    tt_params_free(p);
}

/* Dropout stands between layers, in training only, and not behind the last. */
static void test_dropout(void **state)
{
    for (int training = 0; training < 2; training++) {
        TtParamSet *p = tt_params_new(TT_F32);
        TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = p, .training = training});
        TtVal x = tt_input(g, "x", TT_F32, TT_SHAPE(4, 9, 3));
        TtVal y = tt_gru(g, x, "rnn", .hidden = 7, .layers = 3, .dropout = 0.5).y;
        tt_output(g, y, "y");
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);
        tt_graph_print(f, g);
        fclose(f);
        int count = 0;
        for (const char *s = text; (s = strstr(s, "= dropout")); s++) count++;
        assert_int_equal(count, training ? 2 : 0);
        free(text);
        tt_graph_free(g);
        tt_params_free(p);
    }
}

static void test_refused(void **state)
{
    for (int k = 0; k < 5; k++) {
        TtParamSet *p = tt_params_new(TT_F32);
        TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = p});
        TtVal x = tt_input(g, "x", TT_F32, k == 0 ? TT_SHAPE(4, 9) : TT_SHAPE(4, 9, 3));
        TtVal state4 = tt_input(g, "h", TT_F32, TT_SHAPE(1, 4, 6)), ints = tt_input(g, "n", TT_I64, TT_SHAPE(3));
        switch (k) {
        case 0: tt_gru(g, x, "rnn", .hidden = 6); break;
        case 1: tt_gru(g, x, "rnn", .hidden = 0); break;
        case 2: tt_gru(g, x, "rnn", .hidden = 6, .layers = 2, .h0 = state4); break;
        case 3: tt_gru(g, x, "rnn", .hidden = 6, .c0 = state4); break;
        case 4: tt_gru(g, x, "rnn", .hidden = 6, .lengths = ints); break;
        }
        assert_int_equal(tt_graph_status(g), TT_ECONFIG);
        assert_non_null(strstr(tt_error_message(), "rnn"));
        tt_graph_free(g);
        tt_params_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_torch), cmocka_unit_test(test_initialisation),
                                       cmocka_unit_test(test_dropout), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
