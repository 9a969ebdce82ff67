/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/unary.c - unary and unary_bwd: every function of one element is a kind of the same op, so that
 * strides, types and fusion are solved once. */
#include "kernels/ops/unary.h"

enum { X, Y, N };
static const struct {
    const char *name, *help;
    int saves;
} kinds[TT_UNARY_COUNT] = {
#define UNARY(n, s, h) [TT_UNARY_##n] = {.name = #n, .help = h, .saves = s},
#include "kernels/unary.def"
#undef UNARY
};

const char *tt_unary_name(TtUnaryKind kind)
{
    return kinds[kind].name;
}

const char *tt_unary_help(TtUnaryKind kind)
{
    return kinds[kind].help;
}

static TtStatus infer(TtInfer *i)
{
    const TtUnaryAttrs *u = i->attrs;
    if (!tt_dtype_is_float(i->in[0].dtype))
        return TT_INFER_FAIL(i, "%s takes floating-point input, not %s", kinds[u->kind].name,
                             tt_dtype_name(i->in[0].dtype));
    i->out[0].shape = i->in[0].shape;
    return TT_OK;
}

static void grad(TtGraph *g, TtGradArgs *a)
{
    const TtUnaryAttrs *u = a->attrs;
    switch (u->kind) {
    case TT_UNARY_neg: a->din[0] = tt_neg(g, a->dout[0]); return;
    case TT_UNARY_add_scalar: a->din[0] = a->dout[0]; return;
    case TT_UNARY_mul_scalar: a->din[0] = tt_mul_scalar(g, a->dout[0], u->a); return;
    default: break;
    }
    TtVal ins[2] = {a->dout[0], kinds[u->kind].saves == Y ? a->out[0] : a->in[0]};
    a->din[0] = tt_emit1(g, &tt_op_unary_bwd, u, ins, 2);
}

const TtOpDef tt_op_unary = {
    .name = "unary",
    .help = "function of one element (see the kinds)",
    .id = TT_OP_unary,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtUnaryAttrs),
    .flags = TT_OP_STRIDED | TT_OP_INPLACE,
    .infer = infer,
    .grad = grad,
};

const TtOpDef tt_op_unary_bwd = {
    .name = "unary_bwd",
    .help = "gradient of unary from dy and x or y",
    .id = TT_OP_unary_bwd,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtUnaryAttrs),
    .flags = TT_OP_STRIDED | TT_OP_INPLACE,
    .infer = infer,
};

static TtVal emit(TtGraph *g, TtUnaryKind kind, TtVal x, double a, double b)
{
    return tt_emit1(g, &tt_op_unary, &(TtUnaryAttrs){.kind = kind, .a = a, .b = b}, &x, 1);
}

#define PLAIN(name)                               \
    TtVal tt_##name(TtGraph *g, TtVal x)          \
    {                                             \
        return emit(g, TT_UNARY_##name, x, 0, 0); \
    }
PLAIN(relu)
PLAIN(relu6)
PLAIN(selu)
PLAIN(silu)
PLAIN(mish)
PLAIN(sigmoid)
PLAIN(tanh)
PLAIN(hardswish)
PLAIN(hardsigmoid)
PLAIN(exp)
PLAIN(log)
PLAIN(log1p)
PLAIN(sqrt)
PLAIN(rsqrt)
PLAIN(square)
PLAIN(abs)
PLAIN(neg)
PLAIN(reciprocal)
PLAIN(sin)
PLAIN(cos)
PLAIN(erf)

TtVal tt_gelu(TtGraph *g, TtVal x, bool tanh_approximation)
{
    return emit(g, tanh_approximation ? TT_UNARY_gelu_tanh : TT_UNARY_gelu, x, 0, 0);
}

/* The gradients of these two are taken from y, whose sign tells x's only if the parameter is not negative. */
TtVal tt_leaky_relu(TtGraph *g, TtVal x, double slope)
{
    if (!(slope >= 0)) tt_graph_fail(g, TT_ECONFIG, "leaky_relu: negative_slope is %g; it must be 0 or more", slope);
    return emit(g, TT_UNARY_leaky_relu, x, slope, 0);
}

TtVal tt_elu(TtGraph *g, TtVal x, double alpha)
{
    if (!(alpha >= 0)) tt_graph_fail(g, TT_ECONFIG, "elu: alpha is %g; it must be 0 or more", alpha);
    return emit(g, TT_UNARY_elu, x, alpha, 0);
}

TtVal tt_softplus(TtGraph *g, TtVal x, double beta, double threshold)
{
    if (!(beta > 0)) tt_graph_fail(g, TT_ECONFIG, "softplus: beta is %g; it must be positive", beta);
    return emit(g, TT_UNARY_softplus, x, beta, threshold);
}

TtVal tt_hardtanh(TtGraph *g, TtVal x, double min, double max)
{
    if (!(min <= max)) tt_graph_fail(g, TT_ECONFIG, "hardtanh: min_val %g is above max_val %g", min, max);
    return emit(g, TT_UNARY_clamp, x, min, max);
}

TtVal tt_clamp(TtGraph *g, TtVal x, double min, double max)
{
    if (!(min <= max)) tt_graph_fail(g, TT_ECONFIG, "clamp: min %g is above max %g", min, max);
    return emit(g, TT_UNARY_clamp, x, min, max);
}

TtVal tt_add_scalar(TtGraph *g, TtVal x, double a)
{
    return a == 0 ? x : emit(g, TT_UNARY_add_scalar, x, a, 0);
}

TtVal tt_mul_scalar(TtGraph *g, TtVal x, double a)
{
    return a == 1 ? x : emit(g, TT_UNARY_mul_scalar, x, a, 0);
}

TtVal tt_pow_scalar(TtGraph *g, TtVal x, double exponent)
{
    if (exponent == 1) return x;
    if (exponent == 2) return tt_square(g, x);
    if (exponent == -1) return tt_reciprocal(g, x);
    if (exponent == 0.5) return tt_sqrt(g, x);
    if (exponent == -0.5) return tt_rsqrt(g, x);
    return emit(g, TT_UNARY_pow_scalar, x, exponent, 0);
}
