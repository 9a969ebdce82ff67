/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/matmul.c - matrix products: transposed, batched, broadcast, with bias, bfloat16, empty. */
#include "tests/support/op_check.h"

#include "kernels/ops/matmul.h"

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_matmul_op(g, in[0], in[1], TT_NONE, *(const TtMatmulAttrs *)user);
}

static TtVal build_linear(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_linear_op(g, in[0], in[1], user ? TT_NONE : in[2]);
}

static void check(const char *what, bool ta, bool tb, TtShape a, TtShape b)
{
    TtMatmulAttrs t = {ta, tb, false};
    tt_op_check(&(TtOpCheck){what, build, &t, 2, {{a}, {b}}, .tolerance = 2e-5, .threads = 1e-5});
}

void tt_test_op_matmul(void **state)
{
    check("matmul", false, false, TT_SHAPE(3, 5), TT_SHAPE(5, 7));
    check("matmul, a^T", true, false, TT_SHAPE(5, 3), TT_SHAPE(5, 7));
    check("matmul, b^T", false, true, TT_SHAPE(3, 5), TT_SHAPE(7, 5));
    check("matmul, both", true, true, TT_SHAPE(5, 3), TT_SHAPE(7, 5));
    check("matmul, batched", false, true, TT_SHAPE(2, 4, 3, 5), TT_SHAPE(2, 4, 7, 5));
    check("matmul, broadcast a", false, false, TT_SHAPE(1, 3, 5), TT_SHAPE(4, 5, 2));
    check("matmul, broadcast b", true, false, TT_SHAPE(4, 5, 3), TT_SHAPE(5, 2));
    check("matmul of one", false, false, TT_SHAPE(1, 1), TT_SHAPE(1, 1));
    check("matmul of nothing", false, false, TT_SHAPE(0, 5), TT_SHAPE(5, 3));
    check("matmul of an empty sum", false, false, TT_SHAPE(2, 0), TT_SHAPE(0, 3));
    TtShape x = TT_SHAPE(2, 3, 5), w = TT_SHAPE(4, 5), b = TT_SHAPE(4);
    tt_op_check(&(TtOpCheck){"linear", build_linear, NULL, 3, {{x}, {w}, {b}}, .tolerance = 2e-5, .threads = 1e-5});
    tt_op_check(
        &(TtOpCheck){"linear without bias", build_linear, &x, 2, {{x}, {w}}, .tolerance = 2e-5, .threads = 1e-5});
    tt_op_check(&(TtOpCheck){"linear, bfloat16",
                             build_linear,
                             NULL,
                             3,
                             {{x, TT_BF16}, {w, TT_BF16}, {b, TT_BF16}},
                             .tolerance = 2e-2,
                             .threads = 1e-2,
                             .numeric = -1});
    double xv[4] = {1, 2, 3, 4}, wv[4] = {1, 0.5, -1, 2}, bv[2] = {10, 20}, y[4] = {12, 23, 15, 25};
    double dx[4] = {0, 2.5, 0, 2.5}, dw[4] = {4, 6, 4, 6}, db[2] = {2, 2};
    TtOpCheck c = {"linear",
                   build_linear,
                   NULL,
                   3,
                   {{TT_SHAPE(2, 2), .values = xv}, {TT_SHAPE(2, 2), .values = wv}, {TT_SHAPE(2), .values = bv}}};
    tt_op_expect(&c, y, 4, 1e-6);
    tt_op_expect_grad(&c, 0, NULL, dx, 4, 1e-6);
    tt_op_expect_grad(&c, 1, NULL, dw, 4, 1e-6);
    tt_op_expect_grad(&c, 2, NULL, db, 2, 1e-6);
}
