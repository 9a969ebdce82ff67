/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/group_norm.c - group norm from one group to one for each channel, with and without weights, large means,
 * bfloat16, nothing. */
#include <math.h>
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/group_norm.h"

typedef struct Case {
    int64_t groups; /* 0: instance norm */
    double eps;
    bool no_weight, no_bias;
} Case;

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    const Case *c = user;
    TtVal w = c->no_weight ? TT_NONE : in[1], b = c->no_bias ? TT_NONE : in[2];
    if (c->groups == 0) return tt_instance_norm_op(g, in[0], w, b, c->eps);
    return tt_group_norm_op(g, in[0], w, b, c->groups, c->eps);
}

static void check(const char *what, Case c, TtShape x, TtDType t)
{
    TtShape w = TT_SHAPE(x.dims[x.rank - 1]);
    TtOpCheck k = {what,
                   build,
                   &c,
                   c.no_weight && c.no_bias ? 1 : 3,
                   {{x, t}, {w, .lo = 0.5, .hi = 2, .no_grad = c.no_weight}, {w, .no_grad = c.no_bias}},
                   .tolerance = t == TT_BF16 ? 3e-2 : 2e-5,
                   .numeric = t == TT_BF16 || tt_shape_count(&x) > 4000 ? -1 : 1e-5};
    tt_op_check(&k);
}

static void check_torch(Case c, const double *y, const double *dx, const double *dw, const double *db)
{
    static const double x[16] = {1, 2, 4, 0.5, -1, 3, 10, 10.25, 9, -2, 0, 7, 5, 4, 3, -1};
    static const double dy[16] = {1, 2, -1, 0.5, 3, 1, -2, 1, 0, 1, 1, 2, -1, 0.5, 2, 1};
    static const double w[4] = {1, -2, 0.5, 3}, b[4] = {0, 0.5, 1, -1};
    TtOpCheck k = {"group_norm",
                   build,
                   &c,
                   3,
                   {{TT_SHAPE(2, 2, 1, 4), .values = x}, {TT_SHAPE(4), .values = w}, {TT_SHAPE(4), .values = b}}};
    tt_op_expect(&k, y, 16, 1e-6);
    tt_op_expect_grad(&k, 0, dy, dx, 16, 1e-6);
    tt_op_expect_grad(&k, 1, dy, dw, 4, 1e-6);
    tt_op_expect_grad(&k, 2, dy, db, 4, 1e-6);
}

/* Expected: torch.nn.functional.group_norm and instance_norm in float64, on (N,C,H,W). */
void tt_test_op_group_norm(void **state)
{
    check("group_norm", (Case){2, 1e-5}, TT_SHAPE(3, 5, 3, 8), TT_F32);
    check("group_norm, one group", (Case){1, 1e-5}, TT_SHAPE(2, 7, 5), TT_F32);
    check("group_norm of single rows", (Case){3, 1e-5}, TT_SHAPE(4, 12), TT_F32);
    check("instance_norm", (Case){0, 1e-3}, TT_SHAPE(3, 4, 3, 5), TT_F32);
    check("group_norm without weights", (Case){2, 1e-5, true, true}, TT_SHAPE(2, 5, 6), TT_F32);
    check("group_norm without bias", (Case){2, 1e-5, false, true}, TT_SHAPE(2, 5, 6), TT_F32);
    check("group_norm without weight", (Case){2, 1e-5, true, false}, TT_SHAPE(2, 5, 6), TT_F32);
    check("group_norm of no samples", (Case){2, 1e-5}, TT_SHAPE(0, 5, 4), TT_F32);
    check("group_norm of no pixels", (Case){2, 1e-5}, TT_SHAPE(2, 0, 3, 4), TT_F32);
    check("group_norm, bfloat16", (Case){4, 1e-5}, TT_SHAPE(3, 9, 20), TT_BF16);
    static const double db[4] = {3, 4.5, 0, 4.5};
    static const double y2[16] = {-0.169030465, -0.514182788, 0.735061353, -5.1330429, -1.52127418, -1.8664265,
                                  1.46175021,   1.9521735,    1.27000086,  3.54800206, 0.638551489, 3.57834781,
                                  0.254000172,  0.5,          1.12048284,  -4.13255377};
    static const double dx2[16] = {0.75339412,    -1.5840605,  -0.295500154, 0.20061808,   0.019328497,  0.811337885,
                                   -0.436601811,  0.531483885, 0.0286775842, 0.0163869334, -0.339943327, 0.36067195,
                                   -0.0450645176, 0,           -0.636356545, 0.615627921};
    static const double dw2[4] = {-4.98685318, 0.673395007, -1.55808924, 2.30326464};
    check_torch((Case){2, 1e-5}, y2, dx2, dw2, db);
    static const double y1[16] = {-0.685932821, 1.36727138,   1.03547928,  -3.43624416, -1.19052708, 0.862677123,
                                  1.79237067,   3.94344688,   1.60736548,  3.30433978,  0.57250918,  2.1805317,
                                  0.512988984,  0.0212102816, 0.982900367, -4.38572729};
    static const double dx1[16] = {0.219566098,  -1.04148042,  -0.1575622,   0.345495097,  0.723282093,  -0.536447026,
                                   -0.281075973, 0.728222327,  -0.473269649, -0.550548341, 0.0479988693, 1.2537332,
                                   -0.575987571, -0.533268521, 0.0566387797, 0.774703232};
    static const double dw1[4] = {-4.77050304, -2.3310824, -4.16382143, 2.23355364};
    check_torch((Case){1, 1e-5}, y1, dx1, dw1, db);
    static const double y0[16] = {0.999995,    2.49996,     0.500000278, -3.99999937, -0.999995,   -1.49996,
                                  1.49999972,  1.99999937,  0.99999875,  2.49999889,  0.500001111, 1.99999906,
                                  -0.99999875, -1.49999889, 1.49999889,  -3.99999906};
    /* of two values each becomes about +-1 whatever they are, so hardly a gradient is left */
    static const double dx0[16] = {-9.99985e-06,    -7.99952002e-05, 9.25924383e-08,  -6.47346984e-08,
                                   9.99985e-06,     7.99952002e-05,  -9.25924383e-08, 6.47346985e-08,
                                   6.24997656e-07,  -1.85184877e-07, -7.40735803e-07, 2.3437478e-07,
                                   -6.24997656e-07, 1.85184877e-07,  7.40735802e-07,  -2.3437478e-07};
    static const double dw0[4] = {-0.99999125, -1.49997972, -1.66665972e-06, 1.49999958};
    check_torch((Case){0, 1e-5}, y0, dx0, dw0, db);
    check_torch((Case){4, 1e-5}, y0, dx0, dw0, db);
}

static void refuse(TtShape x, int64_t groups, const char *what)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    TtVal v = tt_input(g, "x", TT_F32, x);
    if (groups)
        tt_group_norm_op(g, v, TT_NONE, TT_NONE, groups, 1e-5);
    else
        tt_instance_norm_op(g, v, TT_NONE, TT_NONE, 1e-5);
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    assert_non_null(strstr(tt_error_message(), what));
    tt_graph_free(g);
    tt_params_free(params);
}

void tt_test_op_group_norm_bwd(void **state)
{
    check("group_norm of many rows", (Case){2, 1e-5}, TT_SHAPE(2, 301, 34), TT_F32);
    check("group_norm of a long sequence", (Case){1, 1e-8}, TT_SHAPE(2, 700, 33), TT_F32);
    check("group_norm of a long sequence, bfloat16", (Case){1, 1e-8}, TT_SHAPE(2, 700, 33), TT_BF16);
    check("group_norm of many channels", (Case){5, 1e-5}, TT_SHAPE(2, 3, 11, 300), TT_F32);
    check("instance_norm of many rows", (Case){0, 1e-5}, TT_SHAPE(2, 40, 33, 7), TT_F32);
    check("instance_norm without weights", (Case){0, 1e-5, true, true}, TT_SHAPE(2, 40, 33, 7), TT_F32);
    check("group_norm of many rows, bfloat16", (Case){2, 1e-5}, TT_SHAPE(2, 301, 34), TT_BF16);
    /* Values beside a mean a thousand times larger than their spread (exact in float32): the variance must survive. */
    double x[2 * 300], y[2 * 300];
    for (int i = 0; i < 600; i++) x[i] = 1024 + (i * 7 % 11 - 5) / 8.0;
    for (int s = 0; s < 2; s++) {
        double mean = 0, var = 0;
        for (int i = 0; i < 300; i++) mean += x[s * 300 + i] / 300;
        for (int i = 0; i < 300; i++) var += (x[s * 300 + i] - mean) * (x[s * 300 + i] - mean) / 300;
        for (int i = 0; i < 300; i++) y[s * 300 + i] = (x[s * 300 + i] - mean) / sqrt(var + 1e-5);
    }
    Case one = {1, 1e-5, true, true};
    tt_op_expect(&(TtOpCheck){"group_norm, large mean", build, &one, 1, {{TT_SHAPE(2, 150, 2), .values = x}}}, y, 600,
                 2e-4);
    refuse(TT_SHAPE(2, 3, 4), 3, "4 channels into 3 groups");
    refuse(TT_SHAPE(4), 2, "batch axis");
    refuse(TT_SHAPE(1, 1, 4), 4, "more than one value");
    refuse(TT_SHAPE(2, 1, 1, 4), 0, "more than one value");
}
