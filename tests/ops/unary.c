/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/unary.c - every kind of unary, and prelu. */
#include "tests/support/op_check.h"

#include <math.h>
#include <string.h>

#include "kernels/ops/shape.h"
#include "kernels/ops/unary.h"

/* Parameters and a range in which each kind is defined and its kinks are not hit by a difference quotient (random
 * values do not). */
static const struct Case {
    TtUnaryAttrs attrs;
    double lo, hi, tolerance;
} cases[TT_UNARY_COUNT] = {
#define UNARY(name, saves, help) [TT_UNARY_##name] = {{.kind = TT_UNARY_##name, .a = 0.3, .b = 0.7}, -9, 9, 3e-6},
#include "kernels/unary.def"
#undef UNARY
};

static struct Case case_of(int kind)
{
    struct Case c = cases[kind];
    switch (kind) {
    case TT_UNARY_softplus: c.attrs.a = 1.7, c.attrs.b = 8; break;
    case TT_UNARY_clamp: c.attrs.a = -2.5, c.attrs.b = 3.25; break;
    case TT_UNARY_exp: c.lo = -4, c.hi = 4; break;
    case TT_UNARY_log:
    case TT_UNARY_sqrt:
    case TT_UNARY_rsqrt:
    case TT_UNARY_reciprocal:
    case TT_UNARY_pow_scalar: c.lo = 0.1, c.hi = 4, c.attrs.a = 2.7; break;
    case TT_UNARY_log1p: c.lo = -0.9, c.hi = 4; break;
    case TT_UNARY_erf: c.lo = -3, c.hi = 3; break;
    default: break;
    }
    return c;
}

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_emit1(g, &tt_op_unary, user, in, 1);
}

void tt_test_op_unary(void **state)
{
    for (int kind = 0; kind < TT_UNARY_COUNT; kind++) {
        struct Case k = case_of(kind);
        TtOpCheck c = {.what = tt_unary_name(kind), .build = build, .user = &k.attrs, .n = 1, .tolerance = k.tolerance};
        c.in[0] = (TtCheckInput){.shape = TT_SHAPE(3, 5, 37), .lo = k.lo, .hi = k.hi};
        tt_op_check(&c);
        c.in[0].shape = TT_SHAPE(2, 0, 3);
        tt_op_check(&c);
        c.in[0].dtype = TT_BF16, c.in[0].shape = TT_SHAPE(7, 301), c.numeric = -1;
        c.tolerance = 0.05; /* y is stored in 8 bits before the gradient reads it */
        tt_op_check(&c);
    }
    struct Case k = case_of(TT_UNARY_silu);
    tt_op_check(&(TtOpCheck){"silu, large", build, &k.attrs, 1, {{TT_SHAPE(40, 1031), .lo = -9, .hi = 9}}});
    tt_op_check(&(TtOpCheck){"silu of a scalar", build, &k.attrs, 1, {{.shape = {0}}}});
}

/* PyTorch 2.x in float64 at -20.5 -3.5 -1.25 -0.0625 0 0.5 2.75 7 21.25 (where the function is defined). */
static const double points[9] = {-20.5, -3.5, -1.25, -0.0625, 0, 0.5, 2.75, 7, 21.25};
static const struct {
    TtUnaryKind kind;
    double a, b, y[9], dx[9];
} torch_values[] = {
#include "tests/ops/unary_torch.inc"
};

void tt_test_op_unary_bwd(void **state)
{
    for (int i = 0; i < TT_COUNT(torch_values); i++) {
        TtUnaryAttrs a = {.kind = torch_values[i].kind, .a = torch_values[i].a, .b = torch_values[i].b};
        TtOpCheck c = {.what = tt_unary_name(a.kind), .build = build, .user = &a, .n = 1};
        c.in[0] = (TtCheckInput){.shape = TT_SHAPE(9), .values = points};
        tt_op_expect(&c, torch_values[i].y, 9, 1e-6);
        tt_op_expect_grad(&c, 0, NULL, torch_values[i].dx, 9, 1e-6);
    }
    /* NaN must not be hidden: a run that diverges has to be seen. */
    double nan[3] = {NAN, 1, NAN};
    for (int kind = 0; kind < TT_UNARY_COUNT; kind++) {
        struct Case k = case_of(kind);
        TtOpCheck c = {.what = tt_unary_name(kind), .build = build, .user = &k.attrs, .n = 1};
        c.in[0] = (TtCheckInput){.shape = TT_SHAPE(1), .values = nan};
        tt_op_expect(&c, nan, 1, 0);
    }
}

static TtVal build_prelu(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_prelu_op(g, in[0], in[1]);
}

void tt_test_op_prelu(void **state)
{
    tt_op_check(&(TtOpCheck){"prelu", build_prelu, NULL, 2, {{TT_SHAPE(2, 3, 5)}, {TT_SHAPE(5)}}});
    tt_op_check(&(TtOpCheck){"prelu, one weight", build_prelu, NULL, 2, {{TT_SHAPE(2, 3, 5)}, {TT_SHAPE(1)}}});
    tt_op_check(&(TtOpCheck){"prelu of nothing", build_prelu, NULL, 2, {{TT_SHAPE(0, 5)}, {TT_SHAPE(5)}}});
    tt_op_check(&(TtOpCheck){"prelu, bfloat16",
                             build_prelu,
                             NULL,
                             2,
                             {{TT_SHAPE(4, 5), TT_BF16}, {TT_SHAPE(5)}},
                             .tolerance = 1e-2,
                             .numeric = -1});
}

void tt_test_op_prelu_bwd(void **state)
{
    tt_op_check(&(TtOpCheck){"prelu, many rows",
                             build_prelu,
                             NULL,
                             2,
                             {{TT_SHAPE(2100, 17)}, {TT_SHAPE(17)}},
                             .grad_tolerance = 1e-5,
                             .numeric = -1});
    tt_op_check(&(TtOpCheck){"prelu, one weight",
                             build_prelu,
                             NULL,
                             2,
                             {{TT_SHAPE(2100, 17)}, {TT_SHAPE(1)}},
                             .grad_tolerance = 1e-5,
                             .numeric = -1});
    double x[4] = {-2, 0, 3, -0.5}, w[2] = {0.25, 0.5}, dout[4] = {1, 2, 3, 4}, dx[4] = {0.25, 1, 3, 2},
           dw[2] = {-2, -2};
    TtOpCheck c = {"prelu", build_prelu, NULL, 2, {{TT_SHAPE(2, 2), .values = x}, {TT_SHAPE(2), .values = w}}};
    tt_op_expect_grad(&c, 0, dout, dx, 4, 0); /* PyTorch's, also at 0 */
    tt_op_expect_grad(&c, 1, dout, dw, 2, 0);
}
