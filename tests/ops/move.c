/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/move.c - concat, pad and the ops that choose by index. */
#include "tests/support/op_check.h"

#include "kernels/ops/binary.h"
#include "kernels/ops/concat.h"
#include "kernels/ops/index.h"
#include "kernels/ops/pad.h"

/* ---- concat */

static TtVal build_concat(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_concat(g, in, 3, *(const int *)user);
}

static TtVal build_many(TtGraph *g, const TtVal *in, const void *user)
{
    TtVal xs[40];
    for (int i = 0; i < 40; i++) xs[i] = in[i % 2];
    return *(const int *)user ? tt_stack(g, xs, 40, 1) : tt_concat(g, xs, 40, 1);
}

/* Take apart and put together in another order. */
static TtVal build_split(TtGraph *g, const TtVal *in, const void *user)
{
    TtVal a[3], b[2];
    tt_split(g, in[0], (int64_t[]){1, 4, 2}, 3, -1, a);
    tt_chunk(g, a[1], 2, -1, b);
    return tt_concat(g, (TtVal[]){b[1], a[2], b[0], a[0]}, 4, -1);
}

void tt_test_op_concat(void **state)
{
    int zero = 0, one = 1, last = -1;
    tt_op_check(&(TtOpCheck){
        "concat, first axis", build_concat, &zero, 3, {{TT_SHAPE(2, 3, 5)}, {TT_SHAPE(1, 3, 5)}, {TT_SHAPE(4, 3, 5)}}});
    tt_op_check(
        &(TtOpCheck){"concat", build_concat, &one, 3, {{TT_SHAPE(2, 3, 5)}, {TT_SHAPE(2, 0, 5)}, {TT_SHAPE(2, 4, 5)}}});
    tt_op_check(&(TtOpCheck){"concat, channels",
                             build_concat,
                             &last,
                             3,
                             {{TT_SHAPE(70, 90, 5)}, {TT_SHAPE(70, 90, 3)}, {TT_SHAPE(70, 90, 1)}},
                             .numeric = -1});
    tt_op_check(&(TtOpCheck){"concat of labels",
                             build_concat,
                             &zero,
                             3,
                             {{TT_SHAPE(2), TT_I64, 0, 9}, {TT_SHAPE(3), TT_I64, 0, 9}, {TT_SHAPE(1), TT_I64, 0, 9}}});
    tt_op_check(&(TtOpCheck){"concat, bfloat16",
                             build_concat,
                             &one,
                             3,
                             {{TT_SHAPE(2, 3), TT_BF16}, {TT_SHAPE(2, 1), TT_BF16}, {TT_SHAPE(2, 4), TT_BF16}},
                             .numeric = -1});
    tt_op_check(&(TtOpCheck){"concat of 40", build_many, &zero, 2, {{TT_SHAPE(2, 3, 2)}, {TT_SHAPE(2, 1, 2)}}});
    tt_op_check(&(TtOpCheck){"stack of 40", build_many, &one, 2, {{TT_SHAPE(2, 3)}, {TT_SHAPE(2, 3)}}});
    tt_op_check(&(TtOpCheck){"split", build_split, NULL, 1, {{TT_SHAPE(2, 3, 7)}}});
    double x[7] = {0, 1, 2, 3, 4, 5, 6}, y[7] = {3, 4, 5, 6, 1, 2, 0};
    TtOpCheck c = {"split", build_split, NULL, 1, {{TT_SHAPE(1, 7), .values = x}}};
    tt_op_expect(&c, y, 7, 0);
}

/* ---- pad */

static TtVal build_pad(TtGraph *g, const TtVal *in, const void *user)
{
    const TtPadAttrs *a = user;
    return tt_pad(g, in[0], a->mode, a->value, a->before, a->after);
}

static TtVal build_roll(TtGraph *g, const TtVal *in, const void *user)
{
    const int64_t *shift_axis = user;
    return tt_roll(g, in[0], shift_axis[0], (int)shift_axis[1]);
}

void tt_test_op_pad(void **state)
{
    /* torch.nn.functional.pad of 1 2 3 4 by (2, 1), of the four modes, and by (-1, 2) */
    static const double x[4] = {1, 2, 3, 4},
                        y[4][7] = {
                            {9, 9, 1, 2, 3, 4, 9}, {3, 2, 1, 2, 3, 4, 3}, {1, 1, 1, 2, 3, 4, 4}, {3, 4, 1, 2, 3, 4, 1}};
    static const double cut[4][5] = {{2, 3, 4, 9, 9}, {2, 3, 4, 3, 2}, {2, 3, 4, 4, 4}, {2, 3, 4, 1, 2}};
    for (int mode = 0; mode < 4; mode++) {
        TtPadAttrs a = {.mode = mode, .value = 9, .before = {2}, .after = {1}};
        TtOpCheck c = {"pad", build_pad, &a, 1, {{TT_SHAPE(4), .values = x}}};
        tt_op_expect(&c, y[mode], 7, 0);
        a.before[0] = -1, a.after[0] = 2;
        tt_op_expect(&c, cut[mode], 5, 0);
    }
    double rolled[4] = {4, 1, 2, 3}, back[4] = {3, 4, 1, 2};
    TtOpCheck c = {"roll", build_roll, (int64_t[]){1, 0}, 1, {{TT_SHAPE(4), .values = x}}};
    tt_op_expect(&c, rolled, 4, 0);
    c.user = (int64_t[]){-6, -1};
    tt_op_expect(&c, back, 4, 0);
    TtPadAttrs seven = {.value = 7, .before = {1}, .after = {1}};
    double label[1] = {3}, framed[3] = {7, 3, 7};
    c = (TtOpCheck){"pad of labels", build_pad, &seven, 1, {{TT_SHAPE(1), TT_I64, .values = label}}};
    tt_op_expect(&c, framed, 3, 0);
}

void tt_test_op_pad_bwd(void **state)
{
    static const TtPadAttrs pads[] = {
        {.before = {0, 1, 2, 0}, .after = {0, 2, 1, 0}},   {.before = {0, 0, 0, 2}, .after = {0, 0, 0, 1}},
        {.before = {1, 0, 3, 0}, .after = {0, 0, -2, 0}},  {.before = {-1, -1, -1, -1}, .after = {1, 2, 0, 3}},
        {.before = {0, -2, 0, 0}, .after = {0, -1, 0, 0}},
    };
    for (int mode = 0; mode < 4; mode++)
        for (int i = 0; i < TT_COUNT(pads); i++) {
            TtPadAttrs a = pads[i];
            a.mode = mode, a.value = 0.5;
            TtOpCheck c = {"pad", build_pad, &a, 1, {{TT_SHAPE(3, 4, 5, 6)}}};
            tt_op_check(&c);
            c.numeric = -1, c.in[0].shape = TT_SHAPE(5, 13, 17, 19);
            tt_op_check(&c);
            c.in[0] = (TtCheckInput){.shape = TT_SHAPE(3, 4, 5, 6), .dtype = TT_BF16}, c.tolerance = 0.02;
            tt_op_check(&c);
        }
    tt_op_check(&(TtOpCheck){"pad of nothing", build_pad, &pads[0], 1, {{TT_SHAPE(0, 4, 5, 6)}}});
    tt_op_check(&(TtOpCheck){
        "pad to something", build_pad, &(TtPadAttrs){.before = {1}, .after = {1}, .value = 2}, 1, {{TT_SHAPE(0, 4)}}});
    for (int64_t axis = 0; axis < 3; axis++)
        tt_op_check(&(TtOpCheck){"roll", build_roll, (int64_t[]){2, axis}, 1, {{TT_SHAPE(4, 5, 6)}}});
}

/* ---- by index */

static TtVal build_select(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_index_select(g, in[0], *(const int *)user, in[1]);
}

static TtVal build_embedding(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_embedding(g, in[0], in[1], *(const int64_t *)user);
}

static TtVal build_flip(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_flip(g, in[0], *(const int *)user);
}

/* An index below 0 or beyond the axis, among good ones. */
static void expect_data_error(const char *what, TtVal (*build)(TtGraph *, const TtVal *, const void *),
                              const void *user)
{
    static const double bad[2][4] = {{0, 1, -1, 0}, {0, 1, 1, 3}};
    for (int i = 0; i < 2; i++) {
        TtOpCheck c = {.what = what, .build = build, .user = user, .n = 2};
        c.in[0].shape = TT_SHAPE(2, 3);
        c.in[1] = (TtCheckInput){.shape = TT_SHAPE(2, 2), .dtype = TT_I64, .values = bad[i]};
        tt_op_expect_error(&c, TT_EDATA);
    }
}

void tt_test_op_index_select(void **state)
{
    int axis = 1, zero = 0;
    double x[6] = {1, 2, 3, 4, 5, 6}, ids[4] = {2, 0, 0, 1}, y[8] = {3, 1, 1, 2, 6, 4, 4, 5},
           dx[6] = {2, 1, 1, 2, 1, 1};
    TtOpCheck c = {
        "index_select", build_select, &axis, 2, {{TT_SHAPE(2, 3), .values = x}, {TT_SHAPE(4), TT_I64, .values = ids}}};
    tt_op_expect(&c, y, 8, 0);
    tt_op_expect_grad(&c, 0, NULL, dx, 6, 0);
    double reversed[6] = {3, 2, 1, 6, 5, 4};
    c = (TtOpCheck){"flip", build_flip, &axis, 1, {{TT_SHAPE(2, 3), .values = x}}};
    tt_op_expect(&c, reversed, 6, 0);
    tt_op_check(&(TtOpCheck){"flip", build_flip, &zero, 1, {{TT_SHAPE(5, 3)}}});
    expect_data_error("index_select", build_select, &axis);
}

void tt_test_op_index_select_bwd(void **state)
{
    for (int axis = 0; axis < 3; axis++)
        for (int large = 0; large < 2; large++) {
            TtShape x = large ? TT_SHAPE(5, 40, 130) : TT_SHAPE(5, 4, 6), ids = large ? TT_SHAPE(70) : TT_SHAPE(3, 2);
            TtOpCheck c = {"index_select",           build_select, &axis, 2, {{x}, {ids, TT_I64, 0, 4}},
                           .numeric = large ? -1 : 0};
            tt_op_check(&c);
            c.in[1].shape = TT_SHAPE(0);
            tt_op_check(&c);
        }
    int64_t none = -1, third = 2;
    tt_op_check(
        &(TtOpCheck){"embedding", build_embedding, &none, 2, {{TT_SHAPE(9, 7)}, {TT_SHAPE(4, 5), TT_I64, 0, 9}}});
    tt_op_check(&(TtOpCheck){"embedding, bfloat16",
                             build_embedding,
                             &none,
                             2,
                             {{TT_SHAPE(9, 7), TT_BF16}, {TT_SHAPE(4, 5), TT_I64, 0, 9}},
                             .numeric = -1,
                             .tolerance = 0.02});
    double w[6] = {1, 2, 3, 4, 5, 6}, ids[3] = {2, 0, 2}, dw[6] = {1, 1, 0, 0, 0, 0};
    TtOpCheck c = {"embedding with padding",
                   build_embedding,
                   &third,
                   2,
                   {{TT_SHAPE(3, 2), .values = w}, {TT_SHAPE(3), TT_I64, .values = ids}}};
    tt_op_expect_grad(&c, 0, NULL, dw, 6, 0);
}

static TtVal build_gather(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_gather(g, in[0], *(const int *)user, in[1]);
}

static TtVal build_scatter(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_scatter_add(g, in[0], *(const int *)user, in[1], in[2]);
}

void tt_test_op_gather(void **state)
{
    for (int axis = -3; axis < 3; axis++) {
        TtOpCheck c = {"gather", build_gather, &axis, 2, {{TT_SHAPE(4, 5, 6)}, {TT_SHAPE(3, 4, 2), TT_I64, 0, 4}}};
        tt_op_check(&c);
        c.in[0].dtype = TT_BF16, c.numeric = -1, c.tolerance = 0.02;
        tt_op_check(&c);
    }
    int axis = 1;
    /* the example of torch.gather's documentation */
    double x[4] = {1, 2, 3, 4}, ids[4] = {0, 0, 1, 0}, y[4] = {1, 1, 4, 3};
    TtOpCheck c = {
        "gather", build_gather, &axis, 2, {{TT_SHAPE(2, 2), .values = x}, {TT_SHAPE(2, 2), TT_I64, .values = ids}}};
    tt_op_expect(&c, y, 4, 0);
    expect_data_error("gather", build_gather, &axis);
}

void tt_test_op_scatter_add(void **state)
{
    for (int axis = 0; axis < 3; axis++)
        tt_op_check(&(TtOpCheck){"scatter_add",
                                 build_scatter,
                                 &axis,
                                 3,
                                 {{TT_SHAPE(4, 5, 6)}, {TT_SHAPE(3, 4, 2), TT_I64, 0, 4}, {TT_SHAPE(3, 4, 2)}}});
    int axis = 0;
    tt_op_check(&(TtOpCheck){"scatter_add, large",
                             build_scatter,
                             &axis,
                             3,
                             {{TT_SHAPE(9, 400)}, {TT_SHAPE(60, 400), TT_I64, 0, 9}, {TT_SHAPE(60, 400)}},
                             .numeric = -1});
}

static TtVal build_one_hot(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_one_hot(g, in[0], 3);
}

static TtVal build_one_hot_second(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_one_hot(g, in[1], 3);
}

void tt_test_op_one_hot(void **state)
{
    double ids[2] = {2, 0}, y[6] = {0, 0, 1, 1, 0, 0};
    TtOpCheck c = {"one_hot", build_one_hot, NULL, 1, {{TT_SHAPE(2), TT_I64, .values = ids}}};
    tt_op_expect(&c, y, 6, 0);
    tt_op_check(&(TtOpCheck){"one_hot", build_one_hot, NULL, 1, {{TT_SHAPE(4, 5), TT_I64, 0, 3}}});
    expect_data_error("one_hot", build_one_hot_second, NULL);
}
