/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/shape.c - views, copies, casts and sums. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/op_check.h"

#include "kernels/ops/shape.h"

static TtVal build_reshape(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_reshape(g, in[0], *(const TtShape *)user);
}

void tt_test_op_reshape(void **state)
{
    TtShape to = TT_SHAPE(5, -1), empty = TT_SHAPE(3, 0);
    tt_op_check(&(TtOpCheck){"reshape", build_reshape, &to, 1, {{TT_SHAPE(2, 3, 5)}}});
    tt_op_check(&(TtOpCheck){"reshape of nothing", build_reshape, &empty, 1, {{TT_SHAPE(0, 3)}}});
}

static TtVal build_permute(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_permute(g, in[0], user);
}

void tt_test_op_permute(void **state)
{
    tt_op_check(&(TtOpCheck){"permute", build_permute, (int[]){2, 0, -2}, 1, {{TT_SHAPE(2, 3, 5)}}});
    tt_op_check(&(TtOpCheck){"permute of nothing", build_permute, (int[]){1, 0}, 1, {{TT_SHAPE(0, 3)}}});
    double x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {1, 4, 2, 5, 3, 6};
    TtOpCheck c = {"permute", build_permute, (int[]){1, 0}, 1, {{TT_SHAPE(2, 3), .values = x}}};
    tt_op_expect(&c, y, 6, 0);
}

static TtVal build_slice(TtGraph *g, const TtVal *in, const void *user)
{
    const TtSliceAttrs *a = user;
    return tt_slice(g, in[0], a->axis, a->start, a->length, a->step);
}

void tt_test_op_slice(void **state)
{
    tt_op_check(&(TtOpCheck){"slice", build_slice, &(TtSliceAttrs){1, 1, 2, 3}, 1, {{TT_SHAPE(3, 7, 5)}}});
    tt_op_check(
        &(TtOpCheck){"slice of the last axis", build_slice, &(TtSliceAttrs){2, 0, 3, 2}, 1, {{TT_SHAPE(3, 2, 5)}}});
    tt_op_check(&(TtOpCheck){"empty slice", build_slice, &(TtSliceAttrs){0, 2, 0, 1}, 1, {{TT_SHAPE(3, 2)}}});
    double x[6] = {1, 2, 3, 4, 5, 6}, y[4] = {1, 3, 4, 6}, d[6] = {1, 0, 1, 1, 0, 1};
    TtOpCheck c = {"slice", build_slice, &(TtSliceAttrs){1, 0, 2, 2}, 1, {{TT_SHAPE(2, 3), .values = x}}};
    tt_op_expect(&c, y, 4, 0);
    tt_op_expect_grad(&c, 0, NULL, d, 6, 0);
}

/* The gradient of a slice, taken twice: its own gradient is the slice again. */
static TtVal build_slice_grad(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_emit1(g, &tt_op_slice_grad, user, in, 1);
}

void tt_test_op_slice_grad(void **state)
{
    tt_op_check(
        &(TtOpCheck){"slice_grad", build_slice_grad, &(TtSliceGradAttrs){{1, 1, 3, 2}, 7}, 1, {{TT_SHAPE(2, 3, 4)}}});
    tt_op_check(&(TtOpCheck){
        "slice_grad, last axis", build_slice_grad, &(TtSliceGradAttrs){{1, 0, 3, 1}, 5}, 1, {{TT_SHAPE(2, 3)}}});
    tt_op_check(&(TtOpCheck){
        "slice_grad of nothing", build_slice_grad, &(TtSliceGradAttrs){{0, 1, 0, 1}, 5}, 1, {{TT_SHAPE(0, 3)}}});
}

static TtVal build_expand(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_expand(g, in[0], *(const TtShape *)user);
}

void tt_test_op_expand(void **state)
{
    TtShape to = TT_SHAPE(4, 2, 3, 5), none = TT_SHAPE(0, 3);
    tt_op_check(&(TtOpCheck){"expand", build_expand, &to, 1, {{TT_SHAPE(2, 1, 5)}}});
    tt_op_check(&(TtOpCheck){"expand to nothing", build_expand, &none, 1, {{TT_SHAPE(1, 3)}}});
}

static TtVal build_contiguous(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_emit1(g, &tt_op_contiguous, NULL, in, 1);
}

void tt_test_op_contiguous(void **state)
{
    tt_op_check(&(TtOpCheck){"contiguous", build_contiguous, NULL, 1, {{TT_SHAPE(3, 4, 5, 7)}}});
    tt_op_check(&(TtOpCheck){"contiguous scalar", build_contiguous, NULL, 1, {{.shape = {0}}}});
    tt_op_check(&(TtOpCheck){"contiguous, large", build_contiguous, NULL, 1, {{TT_SHAPE(33, 17, 65)}}});
    tt_op_check(&(TtOpCheck){"contiguous bytes", build_contiguous, NULL, 1, {{TT_SHAPE(3, 5), TT_U8, 0, 255}}});
    tt_op_check(&(TtOpCheck){"contiguous nothing", build_contiguous, NULL, 1, {{TT_SHAPE(3, 0, 2)}}});
}

static TtVal build_cast(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_cast(g, in[0], *(const TtDType *)user);
}

void tt_test_op_cast(void **state)
{
    static const TtDType types[] = {TT_F32, TT_F64, TT_BF16, TT_F16, TT_I64, TT_I32, TT_U8, TT_BOOL};
    for (int i = 0; i < TT_COUNT(types); i++)
        for (int k = 0; k < TT_COUNT(types); k++)
            tt_op_check(
                &(TtOpCheck){"cast", build_cast, &types[k], 1, {{TT_SHAPE(3, 1031), types[i], 0, 2}}, .numeric = -1});
    tt_op_check(&(TtOpCheck){"cast nothing", build_cast, &types[2], 1, {{TT_SHAPE(0, 3)}}, .numeric = -1});
    /* round to nearest even: 1 + 2^-8 lies between two bfloat16 values */
    double x[3] = {1.00390625, 1.01171875, 3.0e38}, y[3] = {1.0, 1.015625, 3.00405527047391e+38};
    TtOpCheck c = {"cast", build_cast, &types[2], 1, {{TT_SHAPE(3), .values = x}}};
    tt_op_expect(&c, y, 3, 1e-8);
}

static TtVal build_add_n(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_add_n(g, in, 3);
}

void tt_test_op_add_n(void **state)
{
    TtShape s = TT_SHAPE(5, 7), large = TT_SHAPE(9, 4099), none = TT_SHAPE(0, 3);
    tt_op_check(&(TtOpCheck){"add_n", build_add_n, NULL, 3, {{s}, {s}, {s}}});
    tt_op_check(&(TtOpCheck){"add_n, large", build_add_n, NULL, 3, {{large}, {large}, {large}}});
    tt_op_check(&(TtOpCheck){"add_n of nothing", build_add_n, NULL, 3, {{none}, {none}, {none}}});
    tt_op_check(&(TtOpCheck){"add_n, bfloat16",
                             build_add_n,
                             NULL,
                             3,
                             {{s, TT_BF16}, {s, TT_BF16}, {s, TT_BF16}},
                             .tolerance = 1e-2,
                             .numeric = -1});
}
