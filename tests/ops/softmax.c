/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/softmax.c - softmax and log_softmax along every axis. */
#include "tests/support/op_check.h"

#include "kernels/ops/softmax.h"

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    const TtSoftmaxAttrs *a = user;
    return a->log ? tt_log_softmax(g, in[0], a->axis) : tt_softmax(g, in[0], a->axis);
}

void tt_test_op_softmax(void **state)
{
    /* torch: rows (1, 2, 3) and (1000, 0, -1000) */
    double x[6] = {1, 2, 3, 1000, 0, -1000};
    double y[6] = {0.09003057317038046, 0.24472847105479767, 0.6652409557748219, 1, 0, 0};
    double z[6] = {-2.4076059644443806, -1.4076059644443804, -0.40760596444438035, 0, -1000, -2000};
    TtOpCheck c = {"softmax", build, &(TtSoftmaxAttrs){.axis = 1}, 1, {{TT_SHAPE(2, 3), .values = x}}};
    tt_op_expect(&c, y, 6, 1e-7);
    c.user = &(TtSoftmaxAttrs){.axis = -1, .log = true};
    tt_op_expect(&c, z, 6, 1e-7);
    tt_op_check(&(TtOpCheck){"softmax, bfloat16",
                             build,
                             &(TtSoftmaxAttrs){.axis = 1},
                             1,
                             {{TT_SHAPE(3, 70), TT_BF16}},
                             .tolerance = 1e-2,
                             .numeric = -1});
}

void tt_test_op_softmax_bwd(void **state)
{
    for (int log_ = 0; log_ < 2; log_++)
        for (int axis = 0; axis < 3; axis++) {
            TtSoftmaxAttrs a = {.axis = axis, .log = log_};
            tt_op_check(&(TtOpCheck){"softmax", build, &a, 1, {{TT_SHAPE(5, 7, 3), .lo = -8, .hi = 8}}});
            tt_op_check(&(TtOpCheck){
                "softmax, large", build, &a, 1, {{TT_SHAPE(33, 21, 75), .lo = -8, .hi = 8}}, .numeric = -1});
            tt_op_check(&(TtOpCheck){"softmax of nothing", build, &a, 1, {{TT_SHAPE(2, 0, 3)}}});
        }
}
