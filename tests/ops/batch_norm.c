/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/batch_norm.c - batch norm in training and evaluation, with residual and relu, float32 and bfloat16. */
#include <math.h>
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/batch_norm.h"

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    TtBatchNormIn b = {in[0], in[1], in[2], in[3], in[4], in[5], in[6]};
    return tt_batch_norm_op(g, &b, user);
}

static TtVal build_plain(TtGraph *g, const TtVal *in, const void *user)
{
    TtBatchNormIn b = {in[0], in[1], in[2], in[3], in[4], in[5], TT_NONE};
    return tt_batch_norm_op(g, &b, user);
}

static void check(const char *what, TtBatchNormAttrs a, TtShape x, TtDType t)
{
    TtShape c = TT_SHAPE(x.dims[x.rank - 1]);
    double tolerance = t == TT_BF16 ? 3e-2 : 3e-5, numeric = t == TT_BF16 ? -1 : 1e-5;
    /* among many values cut by relu some lie so close to the cut that a difference crosses it */
    if (a.relu && tt_shape_count(&x) > 500) numeric = -1;
    TtOpCheck k = {what,
                   build,
                   &a,
                   7,
                   {{x, t},
                    {c, .lo = 0.5, .hi = 2},
                    {c},
                    {c, .no_grad = true},
                    {c, .lo = 0.5, .hi = 2, .no_grad = true},
                    {(TtShape){0}, TT_I64, 3, 4},
                    {x, t}},
                   .tolerance = tolerance,
                   .numeric = numeric,
                   .no_strided = true};
    tt_op_check(&k);
    k.build = build_plain, k.n = 6;
    tt_op_check(&k);
}

void tt_test_op_batch_norm(void **state)
{
    TtBatchNormAttrs train = {1e-5, 0.1, true, false}, eval = {1e-5, 0.1, false, false};
    check("batch_norm", train, TT_SHAPE(3, 5, 7, 4), TT_F32);
    check("batch_norm, many rows", train, TT_SHAPE(301, 3), TT_F32);
    check("batch_norm, many channels", train, TT_SHAPE(2, 3, 300), TT_F32);
    check("batch_norm, evaluation", eval, TT_SHAPE(3, 5, 4), TT_F32);
    check("batch_norm of nothing", eval, TT_SHAPE(0, 5, 4), TT_F32);
    check("batch_norm, bfloat16", train, TT_SHAPE(6, 5, 7), TT_BF16);
    /* torch.nn.functional.batch_norm(training=True) of x (3,2) with weight (2,1), bias (0,0.5) */
    double x[6] = {1, 2, 3, 5, 8, -1}, w[2] = {2, 1}, b[2] = {0, 0.5}, zero[2] = {0, 0}, one[2] = {1, 1}, n[1] = {0};
    double y[6] = {-2.0380974, 0.5, -0.67936581, 1.7247438, 2.7174633, -0.72474384};
    TtOpCheck k = {"batch_norm",
                   build_plain,
                   &train,
                   6,
                   {{TT_SHAPE(3, 2), .values = x},
                    {TT_SHAPE(2), .values = w},
                    {TT_SHAPE(2), .values = b},
                    {TT_SHAPE(2), .no_grad = true, .values = zero},
                    {TT_SHAPE(2), .no_grad = true, .values = one},
                    {(TtShape){0}, TT_I64, .values = n}}};
    tt_op_expect(&k, y, 6, 1e-6);
}

/* Where relu is cut the function has no slope: no differences, but the reference kernel's mask. */
void tt_test_op_batch_norm_bwd(void **state)
{
    TtBatchNormAttrs train = {1e-3, -1, true, true}, eval = {1e-3, 0.3, false, true};
    check("batch_norm + residual + relu", train, TT_SHAPE(3, 5, 7, 4), TT_F32);
    check("batch_norm + residual + relu, evaluation", eval, TT_SHAPE(9, 33), TT_F32);
    check("batch_norm + residual + relu, bfloat16", train, TT_SHAPE(9, 33), TT_BF16);
    check("batch_norm of one channel", train, TT_SHAPE(1000, 1), TT_F32);
}
