/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/cumulative_norm.c - cumulative layer norm: against PyTorch, many frames, large means, what comes later. */
#include <math.h>
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/layer_norm.h"
#include "kernels/ops/shape.h"
#include "tests/ops/cumulative_norm_torch.inc"

typedef struct Case {
    double eps;
    bool no_weight, no_bias;
    int64_t frames; /* of the result; 0: all */
} Case;

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    const Case *c = user;
    TtVal y = tt_cumulative_norm_op(g, in[0], c->no_weight ? TT_NONE : in[1], c->no_bias ? TT_NONE : in[2], c->eps);
    return c->frames ? tt_slice(g, y, 1, 0, c->frames, 1) : y;
}

static void check(const char *what, Case c, TtShape x, TtDType t)
{
    TtShape w = TT_SHAPE(x.dims[2]);
    TtOpCheck k = {what,
                   build,
                   &c,
                   c.no_weight && c.no_bias ? 1 : 3,
                   {{x, t}, {w, .lo = 0.5, .hi = 2, .no_grad = c.no_weight}, {w, .no_grad = c.no_bias}},
                   .tolerance = t == TT_BF16 ? 3e-2 : 2e-5,
                   .numeric = t == TT_BF16 || tt_shape_count(&x) > 1000 ? -1 : 1e-5};
    tt_op_check(&k);
}

static void refuse(TtShape x, TtShape w)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    tt_cumulative_norm_op(g, tt_input(g, "x", TT_F32, x), tt_input(g, "w", TT_F32, w), TT_NONE, 1e-8);
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    tt_graph_free(g);
    tt_params_free(params);
}

void tt_test_op_cumulative_norm(void **state)
{
    Case c = {.eps = 1e-3};
    double x[36], w[3], b[3], dy[36];
    TtOpCheck k = {"cumulative_norm",
                   build,
                   &c,
                   3,
                   {{TT_SHAPE(2, 6, 3), .values = tt_op_pattern(x, 36, 7)},
                    {TT_SHAPE(3), .values = tt_op_pattern(w, 3, 3)},
                    {TT_SHAPE(3), .values = tt_op_pattern(b, 3, 2)}}};
    tt_op_pattern(dy, 36, 5);
    tt_op_expect(&k, cln_y, 36, 1e-6);
    tt_op_expect_grad(&k, 0, dy, cln_dx, 36, 2e-6);
    tt_op_expect_grad(&k, 1, dy, cln_dw, 3, 1e-6);
    tt_op_expect_grad(&k, 2, dy, cln_db, 3, 1e-6);
    /* What comes later changes nothing: the first four frames, whatever the last two are. */
    c.frames = 4, k.n = 3;
    static double changed[36], first[24];
    memcpy(changed, x, sizeof x);
    for (int s = 0; s < 2; s++) {
        for (int i = 12; i < 18; i++) changed[s * 18 + i] = 1e6;
        memcpy(first + s * 12, cln_y + s * 18, 12 * sizeof *first);
    }
    k.in[0].values = changed;
    tt_op_expect(&k, first, 24, 1e-6);
    refuse(TT_SHAPE(3, 4), TT_SHAPE(4));
    refuse(TT_SHAPE(2, 3, 4), TT_SHAPE(3));
}

void tt_test_op_cumulative_norm_bwd(void **state)
{
    check("cumulative_norm", (Case){1e-3}, TT_SHAPE(3, 7, 5), TT_F32);
    check("cumulative_norm without weights", (Case){1e-3, true, true}, TT_SHAPE(2, 9, 4), TT_F32);
    check("cumulative_norm without bias", (Case){1e-3, false, true}, TT_SHAPE(2, 9, 4), TT_F32);
    check("cumulative_norm of one channel", (Case){1e-1}, TT_SHAPE(2, 6, 1), TT_F32);
    check("cumulative_norm of no samples", (Case){1e-3}, TT_SHAPE(0, 6, 3), TT_F32);
    check("cumulative_norm of no frames", (Case){1e-3}, TT_SHAPE(2, 0, 3), TT_F32);
    check("cumulative_norm of many frames", (Case){1e-3}, TT_SHAPE(2, 130, 70), TT_F32);
    check("cumulative_norm of many channels", (Case){1e-3}, TT_SHAPE(2, 5, 2100), TT_F32);
    check("cumulative_norm, bfloat16", (Case){1e-3}, TT_SHAPE(2, 19, 35), TT_BF16);
    /* A mean a thousand times the spread (exact in float32): the variance must survive. */
    static double x[600], y[600];
    for (int i = 0; i < 600; i++) x[i] = 1024 + (i * 7 % 11 - 5) / 8.0;
    for (int t = 0; t < 200; t++) {
        double mean = 0, var = 0, n = 3 * (t + 1);
        for (int i = 0; i < n; i++) mean += x[i] / n;
        for (int i = 0; i < n; i++) var += (x[i] - mean) * (x[i] - mean) / n;
        for (int i = 0; i < 3; i++) y[3 * t + i] = (x[3 * t + i] - mean) / sqrt(var + 1e-8);
    }
    Case plain = {1e-8, true, true};
    tt_op_expect(&(TtOpCheck){"cumulative_norm, large mean", build, &plain, 1, {{TT_SHAPE(1, 200, 3), .values = x}}}, y,
                 600, 2e-4);
}
