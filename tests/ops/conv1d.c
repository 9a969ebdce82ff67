/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/conv1d.c - convolution along time in all its ways, and the transposed one. */
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/conv1d.h"
#include "tests/ops/conv1d_torch.inc"

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_conv1d_op(g, in[0], in[1], TT_NONE, user);
}

static TtVal build_bias(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_conv1d_op(g, in[0], in[1], in[2], user);
}

static TtVal build_transposed(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_conv_transpose1d_op(g, in[0], in[1], TT_NONE, user);
}

static TtVal build_transposed_bias(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_conv_transpose1d_op(g, in[0], in[1], in[2], user);
}

/* THREADS: what oneDNN's sums may differ by. */
static void check(const char *what, TtConv1dAttrs a, TtShape x, TtShape w, double threads)
{
    TtShape b = TT_SHAPE(w.dims[0]);
    double numeric = tt_shape_count(&x) > 3000 ? -1 : 0;
    tt_op_check(
        &(TtOpCheck){what, build, &a, 2, {{x}, {w}}, .tolerance = 2e-5, .threads = threads, .numeric = numeric});
    tt_op_check(&(TtOpCheck){
        what, build_bias, &a, 3, {{x}, {w}, {b}}, .tolerance = 2e-5, .threads = threads, .numeric = numeric});
}

static void check_transposed(const char *what, TtConvTranspose1dAttrs a, TtShape x, TtShape w)
{
    TtShape b = TT_SHAPE(w.dims[1] * a.conv.groups);
    tt_op_check(&(TtOpCheck){what, build_transposed_bias, &a, 3, {{x}, {w}, {b}}, .tolerance = 2e-5, .threads = 1e-5});
    tt_op_check(&(TtOpCheck){what, build_transposed, &a, 2, {{x}, {w}}, .tolerance = 2e-5, .threads = 1e-5});
}

static void check_torch(TtOpCheck c, TtShape xs, TtShape ws, int64_t outputs, const double *y, int64_t n,
                        const double *dx, const double *dw, const double *db)
{
    double x[512], w[512], b[16], dy[512];
    int64_t nx = tt_shape_count(&xs), nw = tt_shape_count(&ws);
    c.n = 3;
    c.in[0] = (TtCheckInput){xs, .values = tt_op_pattern(x, nx, 7)};
    c.in[1] = (TtCheckInput){ws, .values = tt_op_pattern(w, nw, 3)};
    c.in[2] = (TtCheckInput){TT_SHAPE(outputs), .values = tt_op_pattern(b, outputs, 2)};
    tt_op_pattern(dy, n, 5);
    tt_op_expect(&c, y, n, 1e-6);
    tt_op_expect_grad(&c, 0, dy, dx, nx, 1e-6);
    tt_op_expect_grad(&c, 1, dy, dw, nw, 1e-6);
    tt_op_expect_grad(&c, 2, dy, db, outputs, 1e-6);
}

#define CHECK_TORCH(name, build, attrs, x, w, outputs)                                                                \
    check_torch((TtOpCheck){#name, build, &attrs}, x, w, outputs, name##_y, TT_COUNT(name##_y), name##_dx, name##_dw, \
                name##_db)

/* What a config can ask for and cannot have. */
static void refuse(TtVal (*make)(TtGraph *, const TtVal *, const void *), const void *attrs, TtShape x, TtShape w,
                   TtShape b, const char *text)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    make(g, (TtVal[]){tt_input(g, "x", TT_F32, x), tt_input(g, "w", TT_F32, w), tt_input(g, "b", TT_F32, b)}, attrs);
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    if (!strstr(tt_error_message(), text)) fail_msg("\"%s\" does not say \"%s\"", tt_error_message(), text);
    tt_graph_free(g);
    tt_params_free(params);
}

static void check_general(void)
{
    check("conv1d", (TtConv1dAttrs){1, 1, 1, 1}, TT_SHAPE(2, 7, 5), TT_SHAPE(4, 5, 3), 1e-5);
    check("conv1d, stride 2 with a rest", (TtConv1dAttrs){2, 3, 1, 1}, TT_SHAPE(3, 12, 3), TT_SHAPE(7, 3, 5), 1e-5);
    check("conv1d, dilated, groups", (TtConv1dAttrs){1, 4, 3, 2}, TT_SHAPE(2, 11, 6), TT_SHAPE(4, 3, 4), 1e-5);
    check("conv1d of one channel", (TtConv1dAttrs){8, 8, 1, 1}, TT_SHAPE(2, 61, 1), TT_SHAPE(12, 1, 16), 1e-5);
    check("conv1d of one channel, uneven", (TtConv1dAttrs){8, 2, 1, 1}, TT_SHAPE(2, 61, 1), TT_SHAPE(5, 1, 13), 1e-5);
    check("conv1d of one channel, short kernel", (TtConv1dAttrs){7, 0, 1, 1}, TT_SHAPE(2, 22, 1), TT_SHAPE(5, 1, 3),
          1e-5);
    check("conv1d of two channels, one frame", (TtConv1dAttrs){2, 4, 1, 1}, TT_SHAPE(2, 1, 2), TT_SHAPE(3, 2, 5), 1e-5);
    check("conv1d of one channel, much padding", (TtConv1dAttrs){3, 9, 1, 1}, TT_SHAPE(1, 7, 1), TT_SHAPE(2, 1, 4),
          1e-5);
    check("conv1d of one channel, no samples", (TtConv1dAttrs){2, 1, 1, 1}, TT_SHAPE(0, 7, 1), TT_SHAPE(2, 1, 4), 1e-5);
    check("conv1d 1x1", (TtConv1dAttrs){1, 0, 1, 1}, TT_SHAPE(2, 5, 17), TT_SHAPE(9, 17, 1), 1e-5);
    check("conv1d 1x1, stride 3", (TtConv1dAttrs){3, 0, 1, 1}, TT_SHAPE(2, 5, 4), TT_SHAPE(3, 4, 1), 1e-5);
    check("conv1d of nothing", (TtConv1dAttrs){1, 0, 1, 1}, TT_SHAPE(0, 7, 5), TT_SHAPE(4, 5, 3), 1e-5);
    TtConv1dAttrs wide = {2, 2, 2, 2}, pointwise = {1, 0, 1, 1}, encoder = {4, 3, 1, 1};
    CHECK_TORCH(encoder, build_bias, encoder, TT_SHAPE(2, 21, 1), TT_SHAPE(3, 1, 6), 3);
    CHECK_TORCH(wide, build_bias, wide, TT_SHAPE(2, 9, 4), TT_SHAPE(6, 2, 3), 6);
    CHECK_TORCH(pointwise, build_bias, pointwise, TT_SHAPE(2, 3, 5), TT_SHAPE(4, 5, 1), 4);
    TtCheckInput x = {TT_SHAPE(2, 6, 8), TT_BF16}, w = {TT_SHAPE(4, 8, 3), TT_BF16}, b = {TT_SHAPE(4), TT_BF16};
    tt_op_check(&(TtOpCheck){"conv1d, bfloat16",
                             build_bias,
                             &wide,
                             3,
                             {x, {TT_SHAPE(4, 4, 3), TT_BF16}, b},
                             2e-2,
                             .threads = 1e-2,
                             .numeric = -1});
    TtCheckInput wave = {TT_SHAPE(2, 21, 1), TT_BF16}, few = {TT_SHAPE(4, 1, 6), TT_BF16};
    tt_op_check(&(TtOpCheck){"conv1d of one channel, bfloat16",
                             build_bias,
                             &encoder,
                             3,
                             {wave, few, b},
                             2e-2,
                             .threads = 1e-2,
                             .numeric = -1});
    tt_op_check(
        &(TtOpCheck){"conv1d, bfloat16", build_bias, &pointwise, 3, {x, w, b}, 2e-2, .threads = 1e-2, .numeric = -1});
}

static void check_refusals(void)
{
    TtConv1dAttrs a = {1, 0, 1, 1}, no_stride = {0, 0, 1, 1}, two = {1, 0, 1, 2};
    TtShape x = TT_SHAPE(2, 5, 4), w = TT_SHAPE(3, 4, 3), b = TT_SHAPE(3);
    refuse(build_bias, &a, x, TT_SHAPE(3, 5, 3), b, "conv1d of (2,5,4) with weight (3,5,3)");
    refuse(build_bias, &two, x, TT_SHAPE(3, 2, 3), b, "2 groups");
    refuse(build_bias, &a, x, w, TT_SHAPE(4), "bias (4) for 3 outputs");
    refuse(build_bias, &no_stride, x, w, b, "stride 0");
    refuse(build_bias, &a, TT_SHAPE(2, 2, 4), w, b, "2 frames are too few for a kernel of 3");
    refuse(build_bias, &a, TT_SHAPE(2, 4), w, b, "conv1d of (2,4)");
    TtConvTranspose1dAttrs t = {{2, 0, 1, 1}, 2}, padded = {{2, 9, 1, 1}, 0};
    refuse(build_transposed_bias, &t, x, TT_SHAPE(4, 3, 3), b, "output_padding 2 must be less than the stride 2");
    refuse(build_transposed_bias, &padded, x, TT_SHAPE(4, 3, 3), b, "too few for padding 9");
    refuse(build_transposed_bias, &padded, x, TT_SHAPE(3, 3, 3), b, "conv_transpose1d of (2,5,4)");
}

void tt_test_op_depthwise_conv1d(void **state)
{
    check_general();
    check_refusals();
    check("depthwise", (TtConv1dAttrs){1, 1, 1, 5}, TT_SHAPE(2, 7, 5), TT_SHAPE(5, 1, 3), 0);
    check("depthwise, even kernel", (TtConv1dAttrs){1, 2, 1, 8}, TT_SHAPE(1, 9, 8), TT_SHAPE(8, 1, 4), 0);
    check("depthwise, one tap", (TtConv1dAttrs){1, 0, 1, 4}, TT_SHAPE(2, 3, 4), TT_SHAPE(4, 1, 1), 0);
    check("depthwise, dilated beyond the sequence", (TtConv1dAttrs){1, 64, 64, 4}, TT_SHAPE(2, 10, 4),
          TT_SHAPE(4, 1, 3), 0);
    check("depthwise with a multiplier", (TtConv1dAttrs){1, 1, 1, 4}, TT_SHAPE(2, 7, 4), TT_SHAPE(8, 1, 3), 1e-5);
    TtConv1dAttrs depthwise = {2, 3, 2, 3};
    CHECK_TORCH(depthwise, build_bias, depthwise, TT_SHAPE(2, 7, 3), TT_SHAPE(3, 1, 4), 3);
}

void tt_test_op_depthwise_conv1d_dx(void **state)
{
    check("depthwise, stride 3 with a rest", (TtConv1dAttrs){3, 2, 2, 5}, TT_SHAPE(2, 13, 5), TT_SHAPE(5, 1, 5), 0);
    check("depthwise of no samples", (TtConv1dAttrs){1, 1, 1, 5}, TT_SHAPE(0, 7, 5), TT_SHAPE(5, 1, 3), 0);
    check_transposed("conv_transpose1d", (TtConvTranspose1dAttrs){{2, 1, 1, 1}, 1}, TT_SHAPE(2, 5, 4),
                     TT_SHAPE(4, 3, 3));
    check_transposed("conv_transpose1d to one channel", (TtConvTranspose1dAttrs){{8, 0, 1, 1}, 0}, TT_SHAPE(2, 7, 12),
                     TT_SHAPE(12, 1, 16));
    check_transposed("conv_transpose1d, dilated, groups", (TtConvTranspose1dAttrs){{1, 2, 3, 2}, 0}, TT_SHAPE(1, 6, 4),
                     TT_SHAPE(4, 2, 3));
    check_transposed("conv_transpose1d of nothing", (TtConvTranspose1dAttrs){{2, 1, 1, 1}, 0}, TT_SHAPE(0, 5, 4),
                     TT_SHAPE(4, 3, 3));
    TtConvTranspose1dAttrs transposed = {{3, 2, 2, 2}, 1}, decoder = {{3, 0, 1, 1}, 0};
    CHECK_TORCH(transposed, build_transposed_bias, transposed, TT_SHAPE(2, 4, 4), TT_SHAPE(4, 3, 5), 6);
    CHECK_TORCH(decoder, build_transposed_bias, decoder, TT_SHAPE(1, 3, 4), TT_SHAPE(4, 1, 6), 1);
    TtCheckInput x = {TT_SHAPE(2, 6, 8), TT_BF16}, w = {TT_SHAPE(8, 4, 3), TT_BF16}, b = {TT_SHAPE(4), TT_BF16};
    tt_op_check(&(TtOpCheck){"conv_transpose1d, bfloat16",
                             build_transposed_bias,
                             &(TtConvTranspose1dAttrs){{2, 1, 1, 1}, 0},
                             3,
                             {x, w, b},
                             3e-2,
                             .threads = 1e-2,
                             .numeric = -1});
}

void tt_test_op_depthwise_conv1d_dw(void **state)
{
    check("depthwise, many frames and channels", (TtConv1dAttrs){1, 4, 4, 300}, TT_SHAPE(2, 150, 300),
          TT_SHAPE(300, 1, 3), 0);
    check("depthwise, many frames", (TtConv1dAttrs){2, 3, 1, 7}, TT_SHAPE(1, 700, 7), TT_SHAPE(7, 1, 8), 0);
    TtCheckInput x = {TT_SHAPE(2, 9, 260), TT_BF16}, w = {TT_SHAPE(260, 1, 3), TT_BF16}, b = {TT_SHAPE(260), TT_BF16};
    TtConv1dAttrs a = {1, 2, 2, 260};
    tt_op_check(&(TtOpCheck){"depthwise, bfloat16", build_bias, &a, 3, {x, w, b}, 2e-2, .numeric = -1});
}
