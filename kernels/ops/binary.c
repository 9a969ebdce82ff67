/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/binary.c - binary, compare and where. Gradients are sums of the broadcast product over the axes that
 * were repeated; they are built from the same ops, so that planning and fusion see them. */
#include "kernels/ops/binary.h"

#include "kernels/ops/reduce.h"
#include "kernels/ops/shape.h"
#include "kernels/ops/unary.h"

static const char *const binary_names[TT_BINARY_COUNT] = {"add", "sub", "mul", "div", "maximum", "minimum", "pow"};
static const char *const compare_names[TT_COMPARE_COUNT] = {"eq", "ne", "lt", "le", "gt", "ge"};

bool tt_broadcast_shapes(const TtShape *a, const TtShape *b, TtShape *out)
{
    TtShape s = {.rank = TT_MAX(a->rank, b->rank)};
    for (int k = 0; k < s.rank; k++) {
        int ka = k - (s.rank - a->rank), kb = k - (s.rank - b->rank);
        int64_t da = ka < 0 ? 1 : a->dims[ka], db = kb < 0 ? 1 : b->dims[kb];
        if (da != db && da != 1 && db != 1) return false;
        s.dims[k] = da == 1 ? db : da;
    }
    *out = s;
    return true;
}

static TtStatus infer_pair(TtInfer *i, const char *name, int first)
{
    const TtTensor *a = &i->in[first], *b = &i->in[first + 1];
    char ta[TT_SHAPE_TEXT], tb[TT_SHAPE_TEXT];
    if (a->dtype != b->dtype)
        return TT_INFER_FAIL(i, "%s: types differ, %s and %s", name, tt_dtype_name(a->dtype), tt_dtype_name(b->dtype));
    if (!tt_broadcast_shapes(&a->shape, &b->shape, &i->out[0].shape))
        return TT_INFER_FAIL(i, "%s: shapes %s and %s do not broadcast", name, tt_shape_text(&a->shape, ta),
                             tt_shape_text(&b->shape, tb));
    i->out[0].dtype = a->dtype;
    return TT_OK;
}

/* Mixed floating-point inputs are widened: bfloat16 with float32 gives float32. */
static TtVal emit_pair(TtGraph *g, const TtOpDef *op, const void *attrs, TtVal a, TtVal b)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    TtDType ta = tt_dtype(g, a), tb = tt_dtype(g, b);
    if (ta != tb && tt_dtype_is_float(ta) && tt_dtype_is_float(tb)) {
        TtDType wide = ta == TT_F64 || tb == TT_F64 ? TT_F64 : TT_F32;
        a = tt_cast(g, a, wide), b = tt_cast(g, b, wide);
    }
    return tt_emit1(g, op, attrs, (TtVal[]){a, b}, 2);
}

TtVal tt_scalar_of(TtGraph *g, TtDType dtype, double v)
{
    union {
        float f32;
        double f64;
        uint16_t half;
        int64_t i64;
        int32_t i32;
        uint8_t u8;
    } c;
    switch (dtype) {
    case TT_F32: c.f32 = (float)v; break;
    case TT_F64: c.f64 = v; break;
    case TT_BF16: c.half = tt_f32_to_bf16((float)v); break;
    case TT_F16: c.half = tt_f32_to_f16((float)v); break;
    case TT_I64: c.i64 = (int64_t)v; break;
    case TT_I32: c.i32 = (int32_t)v; break;
    case TT_U16: c.half = (uint16_t)v; break;
    default: c.u8 = (uint8_t)v; break;
    }
    return tt_const_data(g, dtype, (TtShape){0}, &c);
}

/* ---- arithmetic */

static TtStatus binary_infer(TtInfer *i)
{
    const TtBinaryAttrs *a = i->attrs;
    TT_TRY(infer_pair(i, binary_names[a->kind], 0));
    bool integer = !tt_dtype_is_float(i->in[0].dtype);
    if (integer && (a->kind == TT_BINARY_DIV || a->kind == TT_BINARY_POW))
        return TT_INFER_FAIL(i, "%s takes floating-point input, not %s", binary_names[a->kind],
                             tt_dtype_name(i->in[0].dtype));
    return TT_OK;
}

/* The part of dy that goes to the larger (smaller) of two: all of it, half at a tie. */
static TtVal winner(TtGraph *g, TtVal dy, TtVal mine, TtVal other, bool larger)
{
    TtVal zero = tt_scalar_of(g, tt_dtype(g, dy), 0);
    TtVal tie = tt_where(g, tt_eq(g, mine, other), tt_mul_scalar(g, dy, 0.5), zero);
    return tt_where(g, larger ? tt_gt(g, mine, other) : tt_lt(g, mine, other), dy, tie);
}

/* d(a^b)/db = a^b log a, taken as 0 where a is 0 and b >= 0, as torch does. */
static TtVal pow_exponent(TtGraph *g, TtVal dy, TtVal y, TtVal a, TtVal b)
{
    TtVal zero = tt_scalar_of(g, tt_dtype(g, dy), 0), one = tt_scalar_of(g, tt_dtype(g, dy), 1);
    TtVal base = tt_where(g, tt_eq(g, a, zero), tt_where(g, tt_ge(g, b, zero), one, a), a);
    return tt_mul(g, dy, tt_mul(g, y, tt_log(g, base)));
}

/* d/d input k, not yet summed over repeated axes. */
static TtVal partial(TtGraph *g, const TtGradArgs *q, TtBinaryKind kind, int k)
{
    TtVal dy = q->dout[0], a = q->in[0], b = q->in[1];
    switch (kind) {
    case TT_BINARY_ADD: return dy;
    case TT_BINARY_SUB: return k == 0 ? dy : tt_neg(g, dy);
    case TT_BINARY_MUL: return tt_mul(g, dy, q->in[1 - k]);
    case TT_BINARY_DIV: return k == 0 ? tt_div(g, dy, b) : tt_neg(g, tt_div(g, tt_mul(g, dy, q->out[0]), b));
    case TT_BINARY_MAXIMUM: return winner(g, dy, q->in[k], q->in[1 - k], true);
    case TT_BINARY_MINIMUM: return winner(g, dy, q->in[k], q->in[1 - k], false);
    case TT_BINARY_POW:
        if (k == 1) return pow_exponent(g, dy, q->out[0], a, b);
        return tt_mul(g, dy, tt_mul(g, b, tt_pow(g, a, tt_add_scalar(g, b, -1))));
    case TT_BINARY_COUNT: break;
    }
    return TT_NONE;
}

static void binary_grad(TtGraph *g, TtGradArgs *a)
{
    const TtBinaryAttrs *attrs = a->attrs;
    for (int k = 0; k < 2; k++)
        if (a->need[k]) a->din[k] = tt_sum_to(g, partial(g, a, attrs->kind, k), tt_shape(g, a->in[k]));
}

const TtOpDef tt_op_binary = {
    .name = "binary",
    .help = "add, sub, mul, div, maximum, minimum, pow with broadcasting",
    .id = TT_OP_binary,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtBinaryAttrs),
    .flags = TT_OP_STRIDED | TT_OP_INPLACE,
    .infer = binary_infer,
    .grad = binary_grad,
};

#define BINARY(name, kind)                                                            \
    TtVal tt_##name(TtGraph *g, TtVal a, TtVal b)                                     \
    {                                                                                 \
        return emit_pair(g, &tt_op_binary, &(TtBinaryAttrs){TT_BINARY_##kind}, a, b); \
    }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(div, DIV)
BINARY(maximum, MAXIMUM)
BINARY(minimum, MINIMUM)
BINARY(pow, POW)

/* ---- comparison */

static TtStatus compare_infer(TtInfer *i)
{
    const TtCompareAttrs *a = i->attrs;
    TT_TRY(infer_pair(i, compare_names[a->kind], 0));
    i->out[0].dtype = TT_BOOL;
    return TT_OK;
}

const TtOpDef tt_op_compare = {
    .name = "compare",
    .help = "eq, ne, lt, le, gt, ge with broadcasting",
    .id = TT_OP_compare,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtCompareAttrs),
    .flags = TT_OP_STRIDED,
    .infer = compare_infer,
};

#define COMPARE(name, kind)                                                              \
    TtVal tt_##name(TtGraph *g, TtVal a, TtVal b)                                        \
    {                                                                                    \
        return emit_pair(g, &tt_op_compare, &(TtCompareAttrs){TT_COMPARE_##kind}, a, b); \
    }
COMPARE(eq, EQ)
COMPARE(ne, NE)
COMPARE(lt, LT)
COMPARE(le, LE)
COMPARE(gt, GT)
COMPARE(ge, GE)

/* ---- where */

static TtStatus where_infer(TtInfer *i)
{
    char text[TT_SHAPE_TEXT];
    TT_TRY(infer_pair(i, "where", 1));
    if (i->in[0].dtype != TT_BOOL && i->in[0].dtype != TT_U8)
        return TT_INFER_FAIL(i, "where: the condition is %s, not bool", tt_dtype_name(i->in[0].dtype));
    TtShape both = i->out[0].shape;
    if (!tt_broadcast_shapes(&both, &i->in[0].shape, &i->out[0].shape))
        return TT_INFER_FAIL(i, "where: condition %s does not broadcast", tt_shape_text(&i->in[0].shape, text));
    return TT_OK;
}

static void where_grad(TtGraph *g, TtGradArgs *a)
{
    TtVal dy = a->dout[0], zero = tt_scalar_of(g, tt_dtype(g, dy), 0);
    if (a->need[1]) a->din[1] = tt_sum_to(g, tt_where(g, a->in[0], dy, zero), tt_shape(g, a->in[1]));
    if (a->need[2]) a->din[2] = tt_sum_to(g, tt_where(g, a->in[0], zero, dy), tt_shape(g, a->in[2]));
}

const TtOpDef tt_op_where = {
    .name = "where",
    .help = "cond ? a : b with broadcasting",
    .id = TT_OP_where,
    .nin_min = 3,
    .nin_max = 3,
    .nout = 1,
    .flags = TT_OP_STRIDED,
    .infer = where_infer,
    .grad = where_grad,
};

TtVal tt_where(TtGraph *g, TtVal cond, TtVal a, TtVal b)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    TtDType ta = tt_dtype(g, a), tb = tt_dtype(g, b);
    if (ta != tb && tt_dtype_is_float(ta) && tt_dtype_is_float(tb)) {
        TtDType wide = ta == TT_F64 || tb == TT_F64 ? TT_F64 : TT_F32;
        a = tt_cast(g, a, wide), b = tt_cast(g, b, wide);
    }
    return tt_emit1(g, &tt_op_where, NULL, (TtVal[]){cond, a, b}, 3);
}
