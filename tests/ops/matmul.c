/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/matmul.c - matrix products: transposed, batched, broadcast, with bias, bfloat16, empty. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/matmul.h"
#include "kernels/ops/shape.h"

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

/* q k^T and its product with v, of heads that are views of one (N,T,3,H,D) tensor, as attention has them. */
static TtVal build_heads(TtGraph *g, const TtVal *in, const void *user)
{
    static const int heads[5] = {2, 0, 3, 1, 4}; /* (3,N,H,T,D) */
    TtVal x = tt_permute(g, in[0], heads), part[3];
    for (int k = 0; k < 3; k++) part[k] = tt_slice(g, x, 0, k, 1, 1);
    TtVal scores = tt_matmul_op(g, part[0], part[1], TT_NONE, (TtMatmulAttrs){.trans_b = true});
    return tt_matmul(g, scores, part[2]);
}

/* A matrix repeated by a view, times its transpose's repetition. */
static TtVal build_repeated(TtGraph *g, const TtVal *in, const void *user)
{
    TtShape s = TT_SHAPE(3, tt_dim(g, in[0], 0), tt_dim(g, in[0], 1));
    TtVal x = tt_expand(g, in[0], s);
    return tt_matmul_op(g, x, x, TT_NONE, (TtMatmulAttrs){.trans_b = true});
}

static void check_copies(TtVal (*f)(TtGraph *, const TtVal *, const void *), TtShape shape, int copies)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    TtVal x = tt_input(g, "x", TT_F32, shape);
    f(g, &x, NULL);
    char *text = NULL;
    size_t size;
    FILE *m = open_memstream(&text, &size);
    tt_graph_print(m, g);
    fclose(m);
    int n = 0;
    for (const char *p = text; (p = strstr(p, "contiguous(")); p++) n++;
    assert_int_equal(n, copies);
    free(text);
    tt_graph_free(g);
    tt_params_free(params);
}

/* The gradient of a float32 weight behind a bfloat16 product is not rounded to bfloat16: 256 + 1 stays 257. */
static void check_weight_gradient(void)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params, .training = true});
    TtVal x = tt_input(g, "x", TT_BF16, TT_SHAPE(2, 1)), dy = tt_input(g, "dy", TT_BF16, TT_SHAPE(2, 3));
    TtVal w = tt_param(g, "w", TT_SHAPE(3, 1), (TtInit){TT_INIT_CONST, 1, 0});
    TtVal b = tt_param(g, "b", TT_SHAPE(3), (TtInit){TT_INIT_ZEROS, 0, 0});
    TtVal y = tt_linear_op(g, x, tt_cast(g, w, TT_BF16), tt_cast(g, b, TT_BF16));
    tt_grad(g, y, dy, NULL, 0, NULL);
    TtProgram *p;
    assert_int_equal(tt_params_allocate(params), TT_OK);
    assert_int_equal(tt_program_build(g, NULL, &p), TT_OK);
    uint16_t xs[2] = {tt_f32_to_bf16(256), tt_f32_to_bf16(1)}, ones[6];
    for (int i = 0; i < 6; i++) ones[i] = tt_f32_to_bf16(i < 3 ? 1 : 0.00390625f); /* a bias gradient of 1 + 2^-8 */
    ones[3] = tt_f32_to_bf16(1);
    tt_program_bind(p, x, xs);
    tt_program_bind(p, dy, ones);
    assert_int_equal(tt_program_run(p, &(TtStepInfo){0}), TT_OK);
    assert_float_equal(tt_params_find(params, "w")->grad[0], 257, 0);
    assert_float_equal(tt_params_find(params, "b")->grad[1], 1.00390625, 0);
    tt_program_free(p);
    tt_graph_free(g);
    tt_params_free(params);
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
    check("matmul of columns", false, false, TT_SHAPE(7, 1), TT_SHAPE(1, 6));
    check("matmul of rows", true, true, TT_SHAPE(9, 1), TT_SHAPE(1, 9));
    TtShape packed = TT_SHAPE(2, 7, 3, 4, 5);
    tt_op_check(&(TtOpCheck){"heads", build_heads, NULL, 1, {{packed}}, .tolerance = 2e-5, .threads = 1e-5});
    tt_op_check(&(TtOpCheck){"heads, bfloat16",
                             build_heads,
                             NULL,
                             1,
                             {{packed, TT_BF16}},
                             .tolerance = 3e-2,
                             .threads = 2e-2,
                             .numeric = -1});
    tt_op_check(
        &(TtOpCheck){"repeated", build_repeated, NULL, 1, {{TT_SHAPE(4, 5)}}, .tolerance = 2e-5, .threads = 1e-5});
    check_weight_gradient();
    check_copies(build_heads, packed, 0);
    check_copies(build_repeated, TT_SHAPE(4, 5), 2);
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
