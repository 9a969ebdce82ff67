/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/pool.c - max and average pooling: strides, padding, ceil mode, dilation, adaptive, bfloat16, nothing. */
#include <math.h>

#include "tests/support/op_check.h"

#include "kernels/ops/pool.h"
#include "tests/ops/pool_torch.inc"

static TtVal build_max(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_max_pool2d_op(g, in[0], user);
}

static TtVal build_avg(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_avg_pool2d_op(g, in[0], user);
}

static const TtPoolAttrs
    resnet = {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .dilation = {1, 1}},
    plain = {.kernel = {2, 3}, .stride = {2, 1}, .dilation = {1, 1}},
    ceiled = {.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 0}, .dilation = {1, 1}, .ceil_mode = true},
    dilated = {.kernel = {2, 3}, .stride = {1, 2}, .padding = {1, 1}, .dilation = {3, 2}},
    shrunk = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .adaptive = true, .out = {3, 2}},
    grown = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .adaptive = true, .out = {6, 11}},
    global = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .adaptive = true, .out = {1, 1}};

static void check(const char *what, TtVal (*build)(TtGraph *, const TtVal *, const void *), const TtPoolAttrs *a,
                  TtShape x)
{
    tt_op_check(&(TtOpCheck){what, build, a, 1, {{x}}});
    tt_op_check(
        &(TtOpCheck){what, build, a, 1, {{x, TT_BF16}}, .tolerance = 1e-2, .grad_tolerance = 5e-2, .numeric = -1});
}

static void check_torch(const char *what, TtVal (*build)(TtGraph *, const TtVal *, const void *), const TtPoolAttrs *a,
                        TtShape xs, const double *y, int64_t n, const double *dx)
{
    double x[512], dy[512];
    int64_t nx = tt_shape_count(&xs);
    TtOpCheck c = {what, build, a, 1, {{xs, .values = tt_op_pattern(x, nx, 7)}}};
    tt_op_expect(&c, y, n, 1e-6);
    tt_op_expect_grad(&c, 0, tt_op_pattern(dy, n, 5), dx, nx, 1e-6);
}

#define CHECK_TORCH(name, build, a, x) check_torch(#name, build, a, x, name##_y, TT_COUNT(name##_y), name##_dx)

void tt_test_op_max_pool2d(void **state)
{
    check("max_pool2d 3x3", build_max, &resnet, TT_SHAPE(2, 7, 8, 5));
    check("max_pool2d 2x3", build_max, &plain, TT_SHAPE(1, 5, 6, 300));
    check("max_pool2d of nothing", build_max, &plain, TT_SHAPE(0, 5, 6, 3));
    double x[4] = {1, NAN, 3, 3}, y[1] = {NAN};
    TtPoolAttrs two = {.kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}};
    TtOpCheck c = {"max_pool2d", build_max, &two, 1, {{TT_SHAPE(1, 2, 2, 1), .values = x}}};
    tt_op_expect(&c, y, 1, 0);
    /* of equal maxima the first gets the gradient */
    double tie[4] = {1, 3, 3, 2}, dx[4] = {0, 1, 0, 0};
    c.in[0].values = tie;
    tt_op_expect_grad(&c, 0, NULL, dx, 4, 0);
    /* a window with no pixel inside: its taps stand left and right of the picture */
    TtPoolAttrs wide = {.kernel = {1, 2}, .stride = {1, 1}, .padding = {0, 1}, .dilation = {1, 3}};
    double none[1] = {-INFINITY}, zero[2] = {0, 0};
    TtOpCheck empty = {"max_pool2d, empty window", build_max, &wide, 1, {{TT_SHAPE(1, 1, 2, 1), .values = x}}};
    tt_op_expect(&empty, none, 1, 0);
    tt_op_expect_grad(&empty, 0, NULL, zero, 2, 0);
}

void tt_test_op_max_pool2d_bwd(void **state)
{
    check("max_pool2d, ceil mode", build_max, &ceiled, TT_SHAPE(2, 6, 7, 3));
    check("max_pool2d, dilated", build_max, &dilated, TT_SHAPE(2, 6, 8, 3));
    CHECK_TORCH(max_resnet, build_max, &resnet, TT_SHAPE(2, 7, 8, 3));
    CHECK_TORCH(max_ceiled, build_max, &ceiled, TT_SHAPE(1, 6, 7, 2));
    CHECK_TORCH(max_dilated, build_max, &dilated, TT_SHAPE(1, 6, 8, 2));
    CHECK_TORCH(max_adaptive, build_max, &shrunk, TT_SHAPE(1, 7, 5, 2));
    check("max_pool2d of many channels", build_max, &resnet, TT_SHAPE(2, 9, 8, 300));
    check("adaptive_max_pool2d", build_max, &shrunk, TT_SHAPE(2, 7, 5, 3));
}

void tt_test_op_avg_pool2d(void **state)
{
    check("avg_pool2d 3x3", build_avg, &resnet, TT_SHAPE(2, 7, 8, 5));
    check("avg_pool2d 2x3", build_avg, &plain, TT_SHAPE(1, 5, 6, 300));
    check("avg_pool2d, ceil mode", build_avg, &ceiled, TT_SHAPE(2, 6, 7, 3));
    check("avg_pool2d of nothing", build_avg, &plain, TT_SHAPE(0, 5, 6, 3));
    TtPoolAttrs excluded = ceiled, divided = resnet;
    excluded.exclude_pad = true, divided.divisor = 5;
    check("avg_pool2d, count_include_pad=False", build_avg, &excluded, TT_SHAPE(2, 6, 7, 3));
    check("avg_pool2d, divisor_override", build_avg, &divided, TT_SHAPE(2, 6, 7, 3));
    /* torch.nn.functional.avg_pool2d(arange(1, 13).view(1,1,4,3), (3,2), (2,2), (1,0), ceil_mode=True) */
    double x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, y[6] = {2.0, 3.0, 7.5, 9.0, 5.25, 6.0};
    TtOpCheck c = {"avg_pool2d", build_avg, &ceiled, 1, {{TT_SHAPE(1, 4, 3, 1), .values = x}}};
    tt_op_expect(&c, y, 6, 1e-6);
}

void tt_test_op_avg_pool2d_bwd(void **state)
{
    TtPoolAttrs excluded = ceiled, divided = resnet;
    excluded.exclude_pad = true, divided.divisor = 5;
    CHECK_TORCH(avg_resnet, build_avg, &resnet, TT_SHAPE(1, 7, 8, 2));
    CHECK_TORCH(avg_ceiled, build_avg, &ceiled, TT_SHAPE(1, 6, 7, 2));
    CHECK_TORCH(avg_excluded, build_avg, &excluded, TT_SHAPE(1, 6, 7, 2));
    CHECK_TORCH(avg_divided, build_avg, &divided, TT_SHAPE(1, 7, 8, 2));
    CHECK_TORCH(avg_adaptive, build_avg, &shrunk, TT_SHAPE(1, 7, 5, 2));
    CHECK_TORCH(avg_grown, build_avg, &grown, TT_SHAPE(1, 4, 5, 2));
    CHECK_TORCH(avg_global, build_avg, &global, TT_SHAPE(2, 3, 5, 3));
    check("avg_pool2d of many channels", build_avg, &resnet, TT_SHAPE(2, 9, 8, 300));
    check("adaptive_avg_pool2d", build_avg, &shrunk, TT_SHAPE(2, 7, 5, 3));
    check("adaptive_avg_pool2d that enlarges", build_avg, &grown, TT_SHAPE(1, 4, 5, 2));
    check("adaptive_avg_pool2d to one", build_avg, &global, TT_SHAPE(3, 7, 5, 9));
}
