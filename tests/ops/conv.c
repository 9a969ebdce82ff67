/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/conv.c - convolutions: odd sizes, strides, dilation, groups, bias, bfloat16, nothing. */
#include "tests/support/op_check.h"

#include "kernels/ops/conv.h"
#include "tests/ops/conv_torch.inc"

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_conv2d_op(g, in[0], in[1], TT_NONE, user);
}

static TtVal build_bias(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_conv2d_op(g, in[0], in[1], in[2], user);
}

static const TtConv2dAttrs plain = {{1, 1}, {0, 0}, {1, 1}, 1}, padded = {{1, 1}, {1, 1}, {1, 1}, 1},
                           strided = {{2, 2}, {1, 1}, {1, 1}, 1}, uneven = {{3, 2}, {2, 0}, {1, 1}, 1},
                           dilated = {{1, 2}, {2, 3}, {2, 3}, 1}, grouped = {{1, 1}, {1, 1}, {1, 1}, 3},
                           depthwise = {{2, 1}, {1, 1}, {1, 1}, 8};

static void check(const char *what, const TtConv2dAttrs *a, TtShape x, TtShape w)
{
    TtShape b = TT_SHAPE(w.dims[0]);
    tt_op_check(&(TtOpCheck){what, build, a, 2, {{x}, {w}}, .tolerance = 2e-5, .threads = 1e-5});
    tt_op_check(&(TtOpCheck){what, build_bias, a, 3, {{x}, {w}, {b}}, .tolerance = 2e-5, .threads = 1e-5});
}

static void check_torch(const char *what, const TtConv2dAttrs *a, TtShape xs, TtShape ws, const double *y, int64_t n,
                        const double *dx, const double *dw, const double *db)
{
    double x[512], w[512], b[16], dy[512];
    int64_t nx = tt_shape_count(&xs), nw = tt_shape_count(&ws);
    TtOpCheck c = {what,
                   build_bias,
                   a,
                   3,
                   {{xs, .values = tt_op_pattern(x, nx, 7)},
                    {ws, .values = tt_op_pattern(w, nw, 3)},
                    {TT_SHAPE(ws.dims[0]), .values = tt_op_pattern(b, ws.dims[0], 2)}}};
    tt_op_pattern(dy, n, 5);
    tt_op_expect(&c, y, n, 1e-6);
    tt_op_expect_grad(&c, 0, dy, dx, nx, 1e-6);
    tt_op_expect_grad(&c, 1, dy, dw, nw, 1e-6);
    tt_op_expect_grad(&c, 2, dy, db, ws.dims[0], 1e-6);
}

#define CHECK_TORCH(name, a, x, w) \
    check_torch("conv2d, " #name, a, x, w, name##_y, TT_COUNT(name##_y), name##_dx, name##_dw, name##_db)

/* The three ops are one function and its derivatives: every check runs them all. */
void tt_test_op_conv2d(void **state)
{
    check("conv2d 3x3", &padded, TT_SHAPE(2, 7, 5, 3), TT_SHAPE(4, 3, 3, 3));
    check("conv2d 1x1", &plain, TT_SHAPE(2, 5, 3, 17), TT_SHAPE(9, 17, 1, 1));
    check("conv2d 1x1, stride 2", &(TtConv2dAttrs){{2, 2}, {0, 0}, {1, 1}, 1}, TT_SHAPE(2, 5, 6, 16),
          TT_SHAPE(32, 16, 1, 1));
    check("conv2d 7x7, stride 2", &(TtConv2dAttrs){{2, 2}, {3, 3}, {1, 1}, 1}, TT_SHAPE(1, 13, 11, 3),
          TT_SHAPE(16, 3, 7, 7));
    check("conv2d of one pixel", &plain, TT_SHAPE(1, 1, 1, 1), TT_SHAPE(1, 1, 1, 1));
    double x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[4] = {1, -1, 2, 0.5}, y[4] = {9.5, 12, 17, 19.5};
    TtOpCheck c = {
        "conv2d", build, &plain, 2, {{TT_SHAPE(1, 3, 3, 1), .values = x}, {TT_SHAPE(1, 1, 2, 2), .values = w}}};
    tt_op_expect(&c, y, 4, 1e-6);
    /* torch.nn.functional.conv2d's gradients of the same, for a gradient of ones */
    double dx[9] = {1, 0, -1, 3, 2.5, -0.5, 2, 2.5, 0.5}, dw[4] = {12, 16, 24, 28};
    tt_op_expect_grad(&c, 0, NULL, dx, 9, 1e-6);
    tt_op_expect_grad(&c, 1, NULL, dw, 4, 1e-6);
}

void tt_test_op_conv2d_dx(void **state)
{
    check("conv2d, stride 2 with a rest", &strided, TT_SHAPE(2, 8, 6, 5), TT_SHAPE(6, 5, 3, 3));
    check("conv2d, uneven", &uneven, TT_SHAPE(2, 9, 8, 4), TT_SHAPE(5, 4, 2, 5));
    check("conv2d, dilated", &dilated, TT_SHAPE(2, 9, 11, 4), TT_SHAPE(5, 4, 3, 2));
    check("conv2d, groups", &grouped, TT_SHAPE(2, 5, 6, 12), TT_SHAPE(6, 4, 3, 3));
    check("conv2d, depthwise", &depthwise, TT_SHAPE(2, 7, 5, 8), TT_SHAPE(8, 1, 3, 3));
    CHECK_TORCH(grouped, (&(TtConv2dAttrs){{2, 1}, {1, 2}, {1, 2}, 2}), TT_SHAPE(2, 5, 6, 4), TT_SHAPE(6, 2, 3, 2));
    CHECK_TORCH(depthwise, (&(TtConv2dAttrs){{2, 2}, {1, 1}, {1, 1}, 3}), TT_SHAPE(1, 6, 5, 3), TT_SHAPE(6, 1, 3, 3));
    CHECK_TORCH(pointwise, (&(TtConv2dAttrs){{2, 2}, {0, 0}, {1, 1}, 1}), TT_SHAPE(2, 3, 2, 5), TT_SHAPE(4, 5, 1, 1));
    check("conv2d, depthwise with a multiplier", &depthwise, TT_SHAPE(1, 7, 5, 8), TT_SHAPE(16, 1, 3, 3));
}

void tt_test_op_conv2d_dw(void **state)
{
    check("conv2d of nothing", &padded, TT_SHAPE(0, 7, 5, 3), TT_SHAPE(4, 3, 3, 3));
    TtCheckInput x = {TT_SHAPE(2, 6, 5, 8), TT_BF16}, w = {TT_SHAPE(4, 8, 3, 3), TT_BF16}, b = {TT_SHAPE(4), TT_BF16};
    tt_op_check(&(TtOpCheck){
        "conv2d, bfloat16", build_bias, &padded, 3, {x, w, b}, .tolerance = 2e-2, .threads = 1e-2, .numeric = -1});
    TtCheckInput dw = {TT_SHAPE(8, 1, 3, 3), TT_BF16};
    tt_op_check(&(TtOpCheck){
        "depthwise, bfloat16", build, &depthwise, 2, {x, dw}, .tolerance = 2e-2, .threads = 1e-2, .numeric = -1});
}
