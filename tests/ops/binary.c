/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/binary.c - binary, compare and where under broadcasting. */
#include "tests/support/op_check.h"

#include <math.h>

#include "kernels/ops/binary.h"

static const char *const names[TT_BINARY_COUNT] = {"add", "sub", "mul", "div", "maximum", "minimum", "pow"};

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    static TtVal (*const emit[TT_BINARY_COUNT])(TtGraph *, TtVal, TtVal) = {tt_add,     tt_sub,     tt_mul, tt_div,
                                                                            tt_maximum, tt_minimum, tt_pow};
    return emit[*(const TtBinaryKind *)user](g, in[0], in[1]);
}

void tt_test_op_binary(void **state)
{
    static const TtShape shapes[][2] = {
        {{3, {2, 5, 7}}, {3, {2, 5, 7}}},
        {{3, {2, 5, 7}}, {1, {7}}},
        {{3, {2, 5, 7}}, {0}},
        {{3, {2, 1, 7}}, {3, {1, 5, 1}}},
        {{2, {5, 1}}, {3, {3, 5, 6}}},
        {{4, {2, 3, 4, 6}}, {4, {2, 1, 1, 6}}},
        {{2, {3, 300}}, {2, {3, 1}}},
        {{2, {4, 1500}}, {1, {1500}}},
        {{2, {0, 3}}, {1, {3}}},
        {{0}, {0}},
    };
    for (int kind = 0; kind < TT_BINARY_COUNT; kind++)
        for (int i = 0; i < TT_COUNT(shapes); i++) {
            TtBinaryKind k = (TtBinaryKind)kind;
            TtOpCheck c = {.what = names[kind], .build = build, .user = &k, .n = 2, .numeric = i >= 6 ? -1 : 0};
            for (int j = 0; j < 2; j++) c.in[j] = (TtCheckInput){.shape = shapes[i][j], .lo = 0.5, .hi = 2};
            tt_op_check(&c);
            if (kind == TT_BINARY_POW) continue;
            c.numeric = -1, c.tolerance = 0.05;
            c.in[0].dtype = TT_BF16; /* with a float32 partner, then with another bfloat16 */
            tt_op_check(&c);
            c.in[1].dtype = TT_BF16;
            tt_op_check(&c);
            if (kind == TT_BINARY_DIV) continue;
            c.in[0].dtype = c.in[1].dtype = TT_I64;
            c.in[0].lo = c.in[1].lo = -5, c.in[0].hi = c.in[1].hi = 6;
            tt_op_check(&c);
        }
    TtBinaryKind add = TT_BINARY_ADD;
    TtShape large = TT_SHAPE(9, 33, 130);
    tt_op_check(
        &(TtOpCheck){"add, large", build, &add, 2, {{large}, {TT_SHAPE(130)}}, .numeric = -1, .grad_tolerance = 1e-5});
    /* Ties share the gradient; NaN wins: PyTorch's maximum. */
    TtBinaryKind max = TT_BINARY_MAXIMUM, power = TT_BINARY_POW;
    double a[4] = {1, 2, NAN, 3}, b[4] = {1, 4, 0, NAN}, y[4] = {1, 4, NAN, NAN}, da[4] = {0.5, 0, 0, 0};
    TtOpCheck c = {"maximum", build, &max, 2, {{TT_SHAPE(4), .values = a}, {TT_SHAPE(4), .values = b}}};
    tt_op_expect(&c, y, 4, 0);
    tt_op_expect_grad(&c, 0, NULL, da, 2 + 2, 0);
    /* PyTorch's pow at 0: d/da 0^2 = 0, d/db 0^2 = 0; (-2)^3. */
    double p[3] = {0, -2, 3}, q[3] = {2, 3, 0.5}, r[3] = {0, -8, 1.7320508075688772},
           dp[3] = {0, 12, 0.28867513459481287};
    c = (TtOpCheck){"pow", build, &power, 2, {{TT_SHAPE(3), .values = p}, {TT_SHAPE(3), .values = q, .no_grad = true}}};
    tt_op_expect(&c, r, 3, 1e-6);
    tt_op_expect_grad(&c, 0, NULL, dp, 3, 1e-6);
    double base[2] = {0, 3}, dq[2] = {0, 1.9028522505937424};
    c = (TtOpCheck){"pow",
                    build,
                    &power,
                    2,
                    {{TT_SHAPE(2), .values = base, .no_grad = true}, {TT_SHAPE(2), .values = (double[]){2, 0.5}}}};
    tt_op_expect_grad(&c, 1, NULL, dq, 2, 1e-6);
}

static TtVal build_compare(TtGraph *g, const TtVal *in, const void *user)
{
    static TtVal (*const emit[TT_COMPARE_COUNT])(TtGraph *, TtVal, TtVal) = {tt_eq, tt_ne, tt_lt, tt_le, tt_gt, tt_ge};
    return emit[*(const int *)user](g, in[0], in[1]);
}

void tt_test_op_compare(void **state)
{
    double a[6] = {1, 2, 3, -0.0, NAN, 5}, b[6] = {2, 2, 2, 0, NAN, -5};
    static const double expected[TT_COMPARE_COUNT][6] = {{0, 1, 0, 1, 0, 0}, {1, 0, 1, 0, 1, 1}, {1, 0, 0, 0, 0, 0},
                                                         {1, 1, 0, 1, 0, 0}, {0, 0, 1, 0, 0, 1}, {0, 1, 1, 1, 0, 1}};
    for (int kind = 0; kind < TT_COMPARE_COUNT; kind++) {
        TtOpCheck c = {"compare", build_compare, &kind, 2, {{TT_SHAPE(6), .values = a}, {TT_SHAPE(6), .values = b}}};
        tt_op_expect(&c, expected[kind], 6, 0);
        for (int i = 0; i < 2; i++) {
            TtDType t = i ? TT_I64 : TT_F32;
            c = (TtOpCheck){
                "compare", build_compare, &kind, 2, {{TT_SHAPE(3, 1, 41), t, 0, 3}, {TT_SHAPE(5, 41), t, 0, 3}}};
            tt_op_check(&c);
            c.in[0].shape = TT_SHAPE(0, 1, 41);
            tt_op_check(&c);
        }
    }
}

static TtVal build_where(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_where(g, in[0], in[1], in[2]);
}

void tt_test_op_where(void **state)
{
    TtCheckInput cond = {TT_SHAPE(4, 1, 7), TT_BOOL, 0, 2};
    tt_op_check(&(TtOpCheck){"where", build_where, NULL, 3, {cond, {TT_SHAPE(5, 7)}, {TT_SHAPE(4, 1, 1)}}});
    tt_op_check(&(TtOpCheck){"where with a scalar", build_where, NULL, 3, {cond, {.shape = {0}}, {TT_SHAPE(4, 3, 7)}}});
    tt_op_check(&(TtOpCheck){"where, bfloat16",
                             build_where,
                             NULL,
                             3,
                             {cond, {TT_SHAPE(5, 7), TT_BF16}, {TT_SHAPE(4, 1, 1)}},
                             .tolerance = 1e-2,
                             .numeric = -1});
    tt_op_check(&(TtOpCheck){"where of labels",
                             build_where,
                             NULL,
                             3,
                             {cond, {TT_SHAPE(5, 7), TT_I64, 0, 9}, {TT_SHAPE(4, 1, 1), TT_I64, 0, 9}}});
    cond.shape = TT_SHAPE(0, 3);
    tt_op_check(&(TtOpCheck){"where of nothing", build_where, NULL, 3, {cond, {TT_SHAPE(0, 3)}, {TT_SHAPE(3)}}});
}
