/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/reduce.c - reduce, argreduce and cumsum. */
#include "kernels/ops/reduce.h"

#include "kernels/ops/binary.h"
#include "kernels/ops/shape.h"
#include "kernels/ops/unary.h"

static const char *const names[TT_REDUCE_COUNT] = {"sum", "mean", "amax", "amin", "var", "logsumexp"};

int tt_axis(TtGraph *g, const char *op, TtVal x, int axis)
{
    int rank = tt_rank(g, x);
    if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
    tt_graph_fail(g, TT_ECONFIG, "%s: axis %d of a tensor with %d", op, axis, rank);
    return 0;
}

/* ---- plan */

static void add_group(TtReducePlan *p, int64_t dim, bool reduced)
{
    if (p->groups && p->reduced[p->groups - 1] == reduced)
        p->dims[p->groups - 1] *= dim;
    else
        p->dims[p->groups] = dim, p->reduced[p->groups++] = reduced;
}

/* Add the stage that removes the last reduced group of the first N groups' DIMS; return the groups left. */
static int add_stage(TtReducePlan *p, int64_t *dims, const bool *reduced, int n)
{
    int at = n - 1;
    while (!reduced[at]) at--;
    TtReduceStage s = {.outer = 1, .reduced = dims[at], .inner = at + 1 < n ? dims[at + 1] : 1};
    for (int k = 0; k < at; k++) s.outer *= dims[k];
    s.chunk = s.inner == 1 ? TT_REDUCE_RUN : TT_REDUCE_ROWS;
    s.chunks = TT_MAX(1, (s.reduced + s.chunk - 1) / s.chunk); /* of nothing: one, which gives 0 */
    if (s.chunks > 1) p->partials = TT_MAX(p->partials, (size_t)(s.outer * s.chunks * s.inner));
    p->stage[p->n++] = s;
    /* The kept groups around it become one. */
    if (at > 0) dims[at - 1] *= s.inner;
    return at > 0 ? at : 0;
}

TtReducePlan tt_reduce_plan(const TtShape *shape, unsigned axes)
{
    TtReducePlan p = {.outputs = 1, .count = 1};
    for (int k = 0; k < shape->rank; k++) {
        bool reduced = axes >> k & 1;
        *(reduced ? &p.count : &p.outputs) *= shape->dims[k];
        if (shape->dims[k] != 1) add_group(&p, shape->dims[k], reduced);
    }
    int64_t dims[TT_MAX_RANK];
    for (int k = 0; k < p.groups; k++) dims[k] = p.dims[k];
    bool more = false;
    for (int k = 0; k < p.groups; k++) more |= p.reduced[k];
    if (!more) { /* nothing is summed: a stage that copies */
        p.stage[p.n++] = (TtReduceStage){.outer = p.outputs, .reduced = 1, .inner = 1, .chunk = 1, .chunks = 1};
        return p;
    }
    for (int n = p.groups; more;) {
        n = add_stage(&p, dims, p.reduced, n);
        more = false;
        for (int k = 0; k < n; k++) more |= p.reduced[k];
        const TtReduceStage *s = &p.stage[p.n - 1];
        if (more) p.temporary += (size_t)(s->outer * s->inner);
    }
    return p;
}

/* ---- reduce */

static TtShape reduced_shape(const TtShape *from, unsigned axes, bool keepdim)
{
    TtShape s = {0};
    for (int k = 0; k < from->rank; k++) {
        if (!(axes >> k & 1))
            s.dims[s.rank++] = from->dims[k];
        else if (keepdim)
            s.dims[s.rank++] = 1;
    }
    return s;
}

static TtStatus reduce_infer(TtInfer *i)
{
    const TtReduceAttrs *a = i->attrs;
    const TtTensor *x = &i->in[0];
    if (!tt_dtype_is_float(x->dtype))
        return TT_INFER_FAIL(i, "%s takes floating-point input, not %s", names[a->kind], tt_dtype_name(x->dtype));
    i->out[0].shape = reduced_shape(&x->shape, a->axes, a->keepdim);
    bool nothing = tt_shape_count(&x->shape) == 0 && tt_shape_count(&i->out[0].shape) > 0;
    if (nothing && (a->kind == TT_REDUCE_MAX || a->kind == TT_REDUCE_MIN))
        return TT_INFER_FAIL(i, "%s: there is no element to choose from", names[a->kind]);
    return TT_OK;
}

/* A reduced value as it lies in the space of x: repeated along the reduced axes. */
static TtVal spread(TtGraph *g, TtVal v, TtVal x, unsigned axes)
{
    TtShape s = tt_shape(g, x);
    return tt_expand(g, tt_reshape(g, v, reduced_shape(&s, axes, true)), s);
}

static TtVal emit(TtGraph *g, TtReduceKind kind, TtVal x, unsigned axes, bool keepdim, double correction)
{
    TtReduceAttrs a = {.kind = kind, .axes = axes, .keepdim = keepdim, .correction = correction};
    return tt_emit1(g, &tt_op_reduce, &a, &x, 1);
}

/* Of amax and amin: dy shared among the elements that equal y. */
static TtVal share(TtGraph *g, TtVal dy, TtVal x, TtVal y, unsigned axes)
{
    TtVal hit = tt_cast(g, tt_eq(g, x, spread(g, y, x, axes)), tt_dtype(g, dy));
    TtVal number = emit(g, TT_REDUCE_SUM, hit, axes, true, 0);
    TtShape kept = tt_shape(g, number);
    return tt_mul(g, hit, tt_div(g, tt_reshape(g, dy, kept), number));
}

static void reduce_grad(TtGraph *g, TtGradArgs *q)
{
    const TtReduceAttrs *a = q->attrs;
    TtVal x = q->in[0], y = q->out[0], dy = q->dout[0];
    TtShape s = tt_shape(g, x);
    double n = (double)tt_reduce_plan(&s, a->axes).count;
    switch (a->kind) {
    case TT_REDUCE_SUM: q->din[0] = spread(g, dy, x, a->axes); break;
    case TT_REDUCE_MEAN: q->din[0] = spread(g, tt_mul_scalar(g, dy, 1 / n), x, a->axes); break;
    case TT_REDUCE_MAX:
    case TT_REDUCE_MIN: q->din[0] = share(g, dy, x, y, a->axes); break;
    case TT_REDUCE_VAR: {
        TtVal d = tt_sub(g, x, emit(g, TT_REDUCE_MEAN, x, a->axes, true, 0));
        TtVal scale = tt_mul_scalar(g, dy, 2 / (n - a->correction > 0 ? n - a->correction : 0));
        q->din[0] = tt_mul(g, d, spread(g, scale, x, a->axes));
        break;
    }
    case TT_REDUCE_LOGSUMEXP: {
        TtVal p = tt_exp(g, tt_sub(g, x, spread(g, y, x, a->axes)));
        q->din[0] = tt_mul(g, p, spread(g, dy, x, a->axes));
        break;
    }
    case TT_REDUCE_COUNT: break;
    }
}

/* Partial results, results of all but the last stage, and two arrays of the outputs (a centre, and a float copy of
 * a bfloat16 output). */
static size_t reduce_scratch(const TtKernelArgs *k)
{
    const TtReduceAttrs *a = k->attrs;
    TtReducePlan p = tt_reduce_plan(&k->in[0].shape, a->axes);
    return (p.partials + p.temporary + 2 * (size_t)p.outputs) * sizeof(float);
}

const TtOpDef tt_op_reduce = {
    .name = "reduce",
    .help = "sum, mean, amax, amin, var, logsumexp over axes",
    .id = TT_OP_reduce,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtReduceAttrs),
    .infer = reduce_infer,
    .grad = reduce_grad,
    .cpu_scratch = reduce_scratch,
};

static TtVal over_axes(TtGraph *g, TtReduceKind kind, TtVal x, const int *axes, int n, bool keepdim, double correction)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    unsigned mask = n == 0 ? (1u << tt_rank(g, x)) - 1 : 0;
    for (int k = 0; k < n; k++) mask |= 1u << tt_axis(g, names[kind], x, axes[k]);
    return emit(g, kind, x, mask, keepdim, correction);
}

TtVal tt_sum(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim)
{
    return over_axes(g, TT_REDUCE_SUM, x, axes, n, keepdim, 0);
}

TtVal tt_mean(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim)
{
    return over_axes(g, TT_REDUCE_MEAN, x, axes, n, keepdim, 0);
}

TtVal tt_amax(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim)
{
    return over_axes(g, TT_REDUCE_MAX, x, axes, n, keepdim, 0);
}

TtVal tt_amin(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim)
{
    return over_axes(g, TT_REDUCE_MIN, x, axes, n, keepdim, 0);
}

TtVal tt_var(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim, double correction)
{
    return over_axes(g, TT_REDUCE_VAR, x, axes, n, keepdim, correction);
}

TtVal tt_logsumexp(TtGraph *g, TtVal x, const int *axes, int n, bool keepdim)
{
    return over_axes(g, TT_REDUCE_LOGSUMEXP, x, axes, n, keepdim, 0);
}

TtVal tt_sum_to(TtGraph *g, TtVal x, TtShape shape)
{
    TtShape from = tt_shape(g, x);
    if (!tt_graph_ok(g) || tt_shape_equal(&from, &shape)) return x;
    unsigned axes = 0;
    int lead = from.rank - shape.rank;
    for (int k = 0; k < from.rank; k++)
        if (k < lead || (lead >= 0 && shape.dims[k - lead] == 1 && from.dims[k] != 1)) axes |= 1u << k;
    TtShape got = reduced_shape(&from, axes, true);
    char f[TT_SHAPE_TEXT], t[TT_SHAPE_TEXT];
    for (int k = 0; k < from.rank; k++)
        if (lead < 0 || (k >= lead && got.dims[k] != shape.dims[k - lead])) {
            tt_graph_fail(g, TT_ECONFIG, "cannot sum %s to %s", tt_shape_text(&from, f), tt_shape_text(&shape, t));
            return TT_NONE;
        }
    return tt_reshape(g, emit(g, TT_REDUCE_SUM, x, axes, true, 0), shape);
}

/* ---- argreduce */

static TtStatus argreduce_infer(TtInfer *i)
{
    const TtArgReduceAttrs *a = i->attrs;
    const TtTensor *x = &i->in[0];
    const char *name = a->smallest ? "argmin" : "argmax";
    if (!tt_dtype_is_float(x->dtype))
        return TT_INFER_FAIL(i, "%s takes floating-point input, not %s", name, tt_dtype_name(x->dtype));
    i->out[0].shape = reduced_shape(&x->shape, 1u << a->axis, a->keepdim);
    i->out[0].dtype = TT_I64;
    if (x->shape.dims[a->axis] == 0 && tt_shape_count(&i->out[0].shape) > 0)
        return TT_INFER_FAIL(i, "%s: there is no element to choose from", name);
    return TT_OK;
}

const TtOpDef tt_op_argreduce = {
    .name = "argreduce",
    .help = "argmax, argmin along an axis",
    .id = TT_OP_argreduce,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtArgReduceAttrs),
    .infer = argreduce_infer,
};

static TtVal argreduce(TtGraph *g, TtVal x, int axis, bool keepdim, bool smallest)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    TtArgReduceAttrs a = {.axis = tt_axis(g, smallest ? "argmin" : "argmax", x, axis)};
    a.keepdim = keepdim, a.smallest = smallest;
    return tt_emit1(g, &tt_op_argreduce, &a, &x, 1);
}

TtVal tt_argmax(TtGraph *g, TtVal x, int axis, bool keepdim)
{
    return argreduce(g, x, axis, keepdim, false);
}

TtVal tt_argmin(TtGraph *g, TtVal x, int axis, bool keepdim)
{
    return argreduce(g, x, axis, keepdim, true);
}

/* ---- cumsum */

static TtStatus cumsum_infer(TtInfer *i)
{
    i->out[0].shape = i->in[0].shape;
    return TT_OK;
}

static void cumsum_grad(TtGraph *g, TtGradArgs *q)
{
    TtCumsumAttrs a = *(const TtCumsumAttrs *)q->attrs;
    a.reverse = !a.reverse;
    q->din[0] = tt_emit1(g, &tt_op_cumsum, &a, q->dout, 1);
}

const TtOpDef tt_op_cumsum = {
    .name = "cumsum",
    .help = "running sum along an axis",
    .id = TT_OP_cumsum,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtCumsumAttrs),
    .infer = cumsum_infer,
    .grad = cumsum_grad,
};

TtVal tt_cumsum(TtGraph *g, TtVal x, int axis)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    return tt_emit1(g, &tt_op_cumsum, &(TtCumsumAttrs){.axis = tt_axis(g, "cumsum", x, axis)}, &x, 1);
}
