/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/reduce.c - reductions over every choice of axes, argmax and running sums. */
#include "tests/support/op_check.h"

#include <math.h>

#include "kernels/ops/reduce.h"

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_emit1(g, &tt_op_reduce, user, in, 1);
}

static TtVal build_sum_to(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_sum_to(g, in[0], *(const TtShape *)user);
}

static TtVal build_by_axes(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_mean(g, in[0], TT_AXES(-1, 0), true);
}

static void check_every_axes(void)
{
    static const char *const names[TT_REDUCE_COUNT] = {"sum", "mean", "amax", "amin", "var", "logsumexp"};
    for (int kind = 0; kind < TT_REDUCE_COUNT; kind++)
        for (unsigned axes = 0; axes < 16; axes++) {
            TtReduceAttrs a = {.kind = kind, .axes = axes, .keepdim = axes & 1, .correction = 1};
            if (kind == TT_REDUCE_VAR && axes == 0) continue; /* NaN */
            TtOpCheck c = {.what = names[kind], .build = build, .user = &a, .n = 1};
            c.in[0].shape = TT_SHAPE(2, 3, 4, 5);
            tt_op_check(&c);
            c.in[0] = (TtCheckInput){.shape = TT_SHAPE(2, 3, 4, 5), .dtype = TT_BF16}, c.numeric = -1;
            c.tolerance = 0.02;
            tt_op_check(&c);
        }
}

static void check_large(void)
{
    static const struct {
        TtShape shape;
        unsigned axes;
    } cases[] = {
        {{1, {20001}}, 1},
        {{2, {3, 4501}}, 2},
        {{2, {1031, 33}}, 1},
        {{2, {260, 1030}}, 1},
        {{4, {2, 20, 20, 24}}, 6},
        {{4, {3, 5, 300, 3}}, 5},
        {{3, {260, 2, 5}}, 5},
        {{6, {2, 3, 2, 3, 2, 30}}, 42},
        {{6, {2, 3, 2, 3, 2, 30}}, 21},
    };
    for (int kind = 0; kind < TT_REDUCE_COUNT; kind++)
        for (int i = 0; i < TT_COUNT(cases); i++) {
            TtReduceAttrs a = {.kind = kind, .axes = cases[i].axes};
            TtOpCheck c = {
                .what = "large reduction", .build = build, .user = &a, .n = 1, .numeric = -1, .tolerance = 3e-6};
            c.in[0] = (TtCheckInput){.shape = cases[i].shape, .lo = 1e-3, .hi = 1};
            tt_op_check(&c);
        }
}

static void check_edges(void)
{
    /* Of nothing: sum 0, mean NaN, logsumexp -inf, as torch. */
    TtOpCheck c = {.what = "reduction of nothing", .build = build, .n = 1, .in = {{TT_SHAPE(2, 0, 3)}}, .numeric = -1};
    double zero[6] = {0}, nan[6] = {NAN, NAN, NAN, NAN, NAN, NAN}, none[6];
    for (int i = 0; i < 6; i++) none[i] = -INFINITY;
    c.user = &(TtReduceAttrs){.kind = TT_REDUCE_SUM, .axes = 2};
    tt_op_expect(&c, zero, 6, 0);
    c.user = &(TtReduceAttrs){.kind = TT_REDUCE_MEAN, .axes = 2};
    tt_op_expect(&c, nan, 6, 0);
    c.user = &(TtReduceAttrs){.kind = TT_REDUCE_LOGSUMEXP, .axes = 2};
    tt_op_expect(&c, none, 6, 0);
    c.user = &(TtReduceAttrs){.kind = TT_REDUCE_MAX, .axes = 1};
    tt_op_check(&c);
    /* PyTorch: infinities in logsumexp, NaN and ties in amax, unbiased variance. */
    double inf[6] = {-INFINITY, -INFINITY, 1, INFINITY, 1000, 1001}, lse[3] = {-INFINITY, INFINITY, 1001.3132616875183};
    c = (TtOpCheck){"logsumexp",
                    build,
                    &(TtReduceAttrs){.kind = TT_REDUCE_LOGSUMEXP, .axes = 2},
                    1,
                    {{TT_SHAPE(3, 2), .values = inf}}};
    tt_op_expect(&c, lse, 3, 1e-6);
    double x[6] = {3, 3, 1, NAN, 2, 5}, top[2] = {3, NAN}, dx[6] = {0.5, 0.5, 0, NAN, NAN, NAN};
    c = (TtOpCheck){
        "amax", build, &(TtReduceAttrs){.kind = TT_REDUCE_MAX, .axes = 2}, 1, {{TT_SHAPE(2, 3), .values = x}}};
    tt_op_expect(&c, top, 2, 0);
    tt_op_expect_grad(&c, 0, NULL, dx, 6, 0);
    double v[4] = {1, 2, 4, 8}, var[1] = {9.5833333333333333}, var0[1] = {7.1875};
    c = (TtOpCheck){"var",
                    build,
                    &(TtReduceAttrs){.kind = TT_REDUCE_VAR, .axes = 1, .correction = 1},
                    1,
                    {{TT_SHAPE(4), .values = v}}};
    tt_op_expect(&c, var, 1, 1e-6);
    c.user = &(TtReduceAttrs){.kind = TT_REDUCE_VAR, .axes = 1};
    tt_op_expect(&c, var0, 1, 1e-6);
}

void tt_test_op_reduce(void **state)
{
    check_every_axes();
    check_large();
    check_edges();
    tt_op_check(&(TtOpCheck){"mean over the last and first axes", build_by_axes, NULL, 1, {{TT_SHAPE(2, 3, 5)}}});
    TtShape rows = TT_SHAPE(5), all = {0}, last = TT_SHAPE(2, 3, 1), apart = TT_SHAPE(1, 3, 1), none = TT_SHAPE(1, 3);
    tt_op_check(&(TtOpCheck){"sum_to a row", build_sum_to, &rows, 1, {{TT_SHAPE(2, 3, 5)}}});
    tt_op_check(&(TtOpCheck){"sum_to a scalar", build_sum_to, &all, 1, {{TT_SHAPE(2, 3, 5)}}});
    tt_op_check(&(TtOpCheck){"sum_to over the last axis", build_sum_to, &last, 1, {{TT_SHAPE(2, 3, 5)}}});
    tt_op_check(&(TtOpCheck){"sum_to over axes apart", build_sum_to, &apart, 1, {{TT_SHAPE(2, 3, 5)}}});
    tt_op_check(&(TtOpCheck){"sum_to of nothing", build_sum_to, &none, 1, {{TT_SHAPE(0, 3)}}});
}

static TtVal build_argreduce(TtGraph *g, const TtVal *in, const void *user)
{
    const TtArgReduceAttrs *a = user;
    return a->smallest ? tt_argmin(g, in[0], a->axis, a->keepdim) : tt_argmax(g, in[0], a->axis, a->keepdim);
}

void tt_test_op_argreduce(void **state)
{
    for (int axis = -3; axis < 3; axis++)
        for (int smallest = 0; smallest < 2; smallest++) {
            TtArgReduceAttrs a = {.axis = axis, .smallest = smallest, .keepdim = axis == 1};
            tt_op_check(&(TtOpCheck){"argmax", build_argreduce, &a, 1, {{TT_SHAPE(4, 7, 11)}}});
            tt_op_check(&(TtOpCheck){"argmax, bfloat16", build_argreduce, &a, 1, {{TT_SHAPE(4, 7, 11), TT_BF16}}});
            if (axis % 3 != 0) tt_op_check(&(TtOpCheck){"argmax", build_argreduce, &a, 1, {{TT_SHAPE(0, 7, 11)}}});
        }
    double x[9] = {1, 5, 5, 2, NAN, 9, -1, -1, -1}, largest[3] = {1, 1, 0}, least[3] = {0, 1, 0};
    TtOpCheck c = {"argmax", build_argreduce, &(TtArgReduceAttrs){.axis = 1}, 1, {{TT_SHAPE(3, 3), .values = x}}};
    tt_op_expect(&c, largest, 3, 0);
    c.user = &(TtArgReduceAttrs){.axis = 1, .smallest = true};
    tt_op_expect(&c, least, 3, 0);
}

static TtVal build_cumsum(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_cumsum(g, in[0], *(const int *)user);
}

void tt_test_op_cumsum(void **state)
{
    for (int axis = -1; axis < 3; axis++) {
        tt_op_check(&(TtOpCheck){"cumsum", build_cumsum, &axis, 1, {{TT_SHAPE(4, 7, 11)}}});
        tt_op_check(&(TtOpCheck){"cumsum, wide", build_cumsum, &axis, 1, {{TT_SHAPE(4, 17, 301)}}, .numeric = -1});
        tt_op_check(&(TtOpCheck){"cumsum of nothing", build_cumsum, &axis, 1, {{TT_SHAPE(4, 0, 11)}}});
    }
    double x[4] = {1, 2, 3, 4}, y[4] = {1, 3, 6, 10}, dx[4] = {4, 3, 2, 1};
    int axis = 0;
    TtOpCheck c = {"cumsum", build_cumsum, &axis, 1, {{TT_SHAPE(4), .values = x}}};
    tt_op_expect(&c, y, 4, 0);
    tt_op_expect_grad(&c, 0, NULL, dx, 4, 0);
}
