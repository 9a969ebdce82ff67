/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/layer_norm.c - layer norm over one and more axes, with and without weights, long rows, bfloat16, nothing. */
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/layer_norm.h"

typedef struct Case {
    int axes;
    double eps;
    bool no_weight, no_bias;
} Case;

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    const Case *c = user;
    return tt_layer_norm_op(g, in[0], c->no_weight ? TT_NONE : in[1], c->no_bias ? TT_NONE : in[2], c->axes, c->eps);
}

static void check(const char *what, Case c, TtShape x, TtDType t)
{
    TtShape w = {.rank = c.axes};
    for (int k = 0; k < c.axes; k++) w.dims[k] = x.dims[x.rank - c.axes + k];
    TtOpCheck k = {what,
                   build,
                   &c,
                   c.no_weight && c.no_bias ? 1 : 3,
                   {{x, t}, {w, .lo = 0.5, .hi = 2, .no_grad = c.no_weight}, {w, .no_grad = c.no_bias}},
                   .tolerance = t == TT_BF16 ? 3e-2 : 2e-5,
                   .numeric = t == TT_BF16 || tt_shape_count(&x) > 4000 ? -1 : 1e-5};
    tt_op_check(&k);
}

static void check_torch(Case c, TtShape w, const double *y, const double *dx, const double *dw, const double *db)
{
    double x[12] = {1, 2, 4, 0.5, -1, 3, 10, 10.25, 9, -2, 0, 7}, weight[3] = {1, -2, 0.5}, bias[3] = {0, 0.5, 1};
    double dy[12] = {1, 2, -1, 0.5, 3, 1, -2, 1, 0, 1, 1, 2};
    TtOpCheck k = {"layer_norm",
                   build,
                   &c,
                   dw ? 3 : 1,
                   {{TT_SHAPE(2, 2, 3), .values = x}, {w, .values = weight}, {w, .values = bias}}};
    tt_op_expect(&k, y, 12, 1e-6);
    tt_op_expect_grad(&k, 0, dy, dx, 12, 1e-6);
    if (!dw) return;
    tt_op_expect_grad(&k, 1, dy, dw, 3, 1e-6);
    tt_op_expect_grad(&k, 2, dy, db, 3, 1e-6);
}

void tt_test_op_layer_norm(void **state)
{
    check("layer_norm", (Case){1, 1e-5}, TT_SHAPE(3, 5, 7), TT_F32);
    check("layer_norm over two axes", (Case){2, 1e-3}, TT_SHAPE(5, 3, 33), TT_F32);
    check("layer_norm over everything", (Case){2, 1e-5}, TT_SHAPE(9, 16), TT_F32);
    check("layer_norm without weights", (Case){1, 1e-5, true, true}, TT_SHAPE(5, 17), TT_F32);
    check("layer_norm without bias", (Case){1, 1e-5, false, true}, TT_SHAPE(5, 17), TT_F32);
    check("layer_norm without weight", (Case){1, 1e-5, true, false}, TT_SHAPE(5, 17), TT_F32);
    check("layer_norm of single values", (Case){1, 1e-2}, TT_SHAPE(6, 1), TT_F32);
    check("layer_norm of no rows", (Case){1, 1e-5}, TT_SHAPE(0, 4), TT_F32);
    check("layer_norm of empty rows", (Case){1, 1e-5}, TT_SHAPE(4, 0), TT_F32);
    check("layer_norm, bfloat16", (Case){1, 1e-5}, TT_SHAPE(9, 35), TT_BF16);
    /* torch.nn.functional.layer_norm in float64: (x, (3,), weight, bias), (x, (2, 3), eps=1e-3) */
    static const double y[12] = {-1.06904153, 1.03452077,  1.66815096,  -0.202030138, 2.72233152, 1.65659795,
                                 0.462902114, -1.35160846, 0.305646828, -0.950254949, 1.36386814, 1.69109451};
    static const double dx[12] = {1.54629344,   -2.31943802, 0.773144574,  1.60799389,  -1.00500282,  -0.602991076,
                                  -0.440886363, 0.352632913, 0.0882534505, 0.365532192, -0.469970085, 0.104437893};
    static const double dw[3] = {-3.04611578, -3.37414788, 2.74127202}, db[3] = {0.5, 7, 2};
    check_torch((Case){1, 1e-5}, TT_SHAPE(3), y, dx, dw, db);
    static const double y2[12] = {-0.354848416, 0.253463154, 1.47008629,  -0.659004201, -1.57147156, 0.861774724,
                                  0.877380105,  0.928489626, 0.672942023, -1.57587689,  -1.16700072, 0.264065857};
    static const double dx2[12] = {-0.24856824,  0.69895866,  -0.447545388,  -0.722331691,  0.289624238,   0.429862421,
                                   -0.420184067, 0.198425976, -0.0324910794, -0.0610679583, -0.0187016016, 0.33401873};
    check_torch((Case){2, 1e-3, true, true}, TT_SHAPE(2, 3), y2, dx2, NULL, NULL);
}

static void refuse(TtShape x, TtShape w, int axes)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    tt_layer_norm_op(g, tt_input(g, "x", TT_F32, x), tt_input(g, "w", TT_F32, w), TT_NONE, axes, 1e-5);
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    assert_non_null(strstr(tt_error_message(), "layer_norm"));
    tt_graph_free(g);
    tt_params_free(params);
}

/* Rows longer than a tile, and enough of them for several chunks and threads. */
void tt_test_op_layer_norm_bwd(void **state)
{
    check("layer_norm of long rows", (Case){2, 1e-5}, TT_SHAPE(19, 7, 301), TT_F32);
    check("layer_norm of very long rows", (Case){1, 1e-5}, TT_SHAPE(3, 9000), TT_F32);
    check("layer_norm of many rows", (Case){1, 1e-5}, TT_SHAPE(331, 65), TT_F32);
    check("layer_norm of many rows without weights", (Case){1, 1e-5, true, true}, TT_SHAPE(331, 65), TT_F32);
    check("layer_norm of many rows, bfloat16", (Case){1, 1e-5}, TT_SHAPE(201, 130), TT_BF16);
    refuse(TT_SHAPE(2, 3), TT_SHAPE(2), 1);
    refuse(TT_SHAPE(2, 3), TT_SHAPE(2, 3), 1);
    refuse(TT_SHAPE(2, 3), TT_SHAPE(2, 3), 3);
    refuse(TT_SHAPE(2, 3), TT_SHAPE(2, 3), 0);
}
