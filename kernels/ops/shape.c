/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/shape.c - reshape, permute, slice, expand (views); contiguous, cast, slice_grad, add_n. */
#include "kernels/ops/shape.h"

#include "kernels/ops/reduce.h"

/* ---- reshape */

static TtStatus reshape_infer(TtInfer *i)
{
    const TtReshapeAttrs *a = i->attrs;
    char from[TT_SHAPE_TEXT], to[TT_SHAPE_TEXT];
    if (tt_shape_count(&a->shape) != tt_shape_count(&i->in[0].shape))
        return TT_INFER_FAIL(i, "cannot view %s as %s", tt_shape_text(&i->in[0].shape, from),
                             tt_shape_text(&a->shape, to));
    i->out[0].shape = a->shape;
    tt_strides_contiguous(&a->shape, i->out[0].strides);
    return TT_OK;
}

static void reshape_grad(TtGraph *g, TtGradArgs *a)
{
    a->din[0] = tt_reshape(g, a->dout[0], tt_shape(g, a->in[0]));
}

const TtOpDef tt_op_reshape = {
    .name = "reshape",
    .help = "view with another shape",
    .id = TT_OP_reshape,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtReshapeAttrs),
    .flags = TT_OP_VIEW,
    .infer = reshape_infer,
    .grad = reshape_grad,
};

TtVal tt_reshape(TtGraph *g, TtVal x, TtShape shape)
{
    TtShape from = tt_shape(g, x);
    if (tt_shape_equal(&from, &shape)) return x;
    int64_t known = 1;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] >= 0) known *= shape.dims[i];
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] < 0) shape.dims[i] = known ? tt_shape_count(&from) / known : 0;
    return tt_emit1(g, &tt_op_reshape, &(TtReshapeAttrs){shape}, &x, 1);
}

TtVal tt_flatten(TtGraph *g, TtVal x, int start, int end)
{
    TtShape s = tt_shape(g, x), to = {0};
    if (start < 0) start += s.rank;
    if (end < 0) end += s.rank;
    for (int i = 0; i < s.rank; i++) {
        if (i > start && i <= end)
            to.dims[to.rank - 1] *= s.dims[i];
        else
            to.dims[to.rank++] = s.dims[i];
    }
    return tt_reshape(g, x, to);
}

/* ---- permute */

static TtStatus permute_infer(TtInfer *i)
{
    const TtPermuteAttrs *a = i->attrs;
    i->out[0].shape.rank = i->in[0].shape.rank;
    for (int k = 0; k < i->in[0].shape.rank; k++) {
        i->out[0].shape.dims[k] = i->in[0].shape.dims[a->axes[k]];
        i->out[0].strides[k] = i->in[0].strides[a->axes[k]];
    }
    return TT_OK;
}

static void permute_grad(TtGraph *g, TtGradArgs *a)
{
    const TtPermuteAttrs *p = a->attrs;
    int inverse[TT_MAX_RANK];
    for (int k = 0; k < tt_rank(g, a->in[0]); k++) inverse[p->axes[k]] = k;
    a->din[0] = tt_permute(g, a->dout[0], inverse);
}

const TtOpDef tt_op_permute = {
    .name = "permute",
    .help = "view with axes in another order",
    .id = TT_OP_permute,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtPermuteAttrs),
    .flags = TT_OP_VIEW | TT_OP_STRIDED,
    .infer = permute_infer,
    .grad = permute_grad,
};

TtVal tt_permute(TtGraph *g, TtVal x, const int *axes)
{
    TtPermuteAttrs a = {{0}};
    int rank = tt_rank(g, x), seen = 0;
    for (int k = 0; k < rank; k++) {
        a.axes[k] = axes[k] < 0 ? axes[k] + rank : axes[k];
        TT_ASSERT(a.axes[k] >= 0 && a.axes[k] < rank);
        seen |= 1 << a.axes[k];
    }
    TT_ASSERT(seen == (1 << rank) - 1);
    return tt_emit1(g, &tt_op_permute, &a, &x, 1);
}

TtVal tt_transpose(TtGraph *g, TtVal x, int a, int b)
{
    int axes[TT_MAX_RANK], rank = tt_rank(g, x);
    for (int k = 0; k < rank; k++) axes[k] = k;
    if (rank == 0) return x;
    a = a < 0 ? a + rank : a, b = b < 0 ? b + rank : b;
    axes[a] = b, axes[b] = a;
    return tt_permute(g, x, axes);
}

/* ---- slice */

static TtStatus slice_infer(TtInfer *i)
{
    const TtSliceAttrs *a = i->attrs;
    int64_t size = i->in[0].shape.dims[a->axis];
    if (a->start < 0 || a->length < 0 || a->step < 1 || (a->length > 0 && a->start + (a->length - 1) * a->step >= size))
        return TT_INFER_FAIL(i, "a slice of %lld from %lld in steps of %lld leaves an axis of length %lld",
                             (long long)a->length, (long long)a->start, (long long)a->step, (long long)size);
    i->out[0].shape = i->in[0].shape;
    i->out[0].shape.dims[a->axis] = a->length;
    for (int k = 0; k < i->in[0].shape.rank; k++) i->out[0].strides[k] = i->in[0].strides[k];
    i->out[0].strides[a->axis] *= a->step;
    i->view_offset = a->start * i->in[0].strides[a->axis];
    return TT_OK;
}

static void slice_grad(TtGraph *g, TtGradArgs *a)
{
    const TtSliceAttrs *s = a->attrs;
    TtSliceGradAttrs attrs = {.slice = *s, .size = tt_dim(g, a->in[0], s->axis)};
    a->din[0] = tt_emit1(g, &tt_op_slice_grad, &attrs, &a->dout[0], 1);
}

const TtOpDef tt_op_slice = {
    .name = "slice",
    .help = "view of a range along an axis",
    .id = TT_OP_slice,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtSliceAttrs),
    .flags = TT_OP_VIEW | TT_OP_STRIDED,
    .infer = slice_infer,
    .grad = slice_grad,
};

TtVal tt_slice(TtGraph *g, TtVal x, int axis, int64_t start, int64_t length, int64_t step)
{
    if (axis < 0) axis += tt_rank(g, x);
    if (start == 0 && step == 1 && length == tt_dim(g, x, axis)) return x;
    return tt_emit1(g, &tt_op_slice, &(TtSliceAttrs){axis, start, length, step}, &x, 1);
}

static TtStatus slice_grad_infer(TtInfer *i)
{
    const TtSliceGradAttrs *a = i->attrs;
    i->out[0].shape = i->in[0].shape;
    i->out[0].shape.dims[a->slice.axis] = a->size;
    return TT_OK;
}

static void slice_grad_grad(TtGraph *g, TtGradArgs *a)
{
    const TtSliceAttrs *s = &((const TtSliceGradAttrs *)a->attrs)->slice;
    a->din[0] = tt_slice(g, a->dout[0], s->axis, s->start, s->length, s->step);
}

const TtOpDef tt_op_slice_grad = {
    .name = "slice_grad",
    .help = "zeros with the input put into a range of an axis",
    .id = TT_OP_slice_grad,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtSliceGradAttrs),
    .flags = TT_OP_STRIDED,
    .infer = slice_grad_infer,
    .grad = slice_grad_grad,
};

/* ---- expand */

static TtStatus expand_infer(TtInfer *i)
{
    const TtReshapeAttrs *a = i->attrs;
    const TtShape *from = &i->in[0].shape;
    int lead = a->shape.rank - from->rank;
    i->out[0].shape = a->shape;
    for (int k = 0; k < a->shape.rank; k++) {
        int64_t have = k < lead ? 1 : from->dims[k - lead];
        char f[TT_SHAPE_TEXT], t[TT_SHAPE_TEXT];
        if (lead < 0 || (have != 1 && have != a->shape.dims[k]))
            return TT_INFER_FAIL(i, "cannot expand %s to %s", tt_shape_text(from, f), tt_shape_text(&a->shape, t));
        i->out[0].strides[k] = have == 1 ? 0 : i->in[0].strides[k - lead];
    }
    return TT_OK;
}

static void expand_grad(TtGraph *g, TtGradArgs *a)
{
    a->din[0] = tt_sum_to(g, a->dout[0], tt_shape(g, a->in[0]));
}

const TtOpDef tt_op_expand = {
    .name = "expand",
    .help = "view that repeats axes of length 1",
    .id = TT_OP_expand,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtReshapeAttrs),
    .flags = TT_OP_VIEW | TT_OP_STRIDED,
    .infer = expand_infer,
    .grad = expand_grad,
};

TtVal tt_expand(TtGraph *g, TtVal x, TtShape shape)
{
    TtShape from = tt_shape(g, x);
    if (tt_shape_equal(&from, &shape)) return x;
    return tt_emit1(g, &tt_op_expand, &(TtReshapeAttrs){shape}, &x, 1);
}

/* ---- contiguous and cast */

static TtStatus same_infer(TtInfer *i)
{
    i->out[0].shape = i->in[0].shape;
    return TT_OK;
}

static void contiguous_grad(TtGraph *g, TtGradArgs *a)
{
    a->din[0] = a->dout[0];
}

const TtOpDef tt_op_contiguous = {
    .name = "contiguous",
    .help = "copy into row-major order",
    .id = TT_OP_contiguous,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .flags = TT_OP_STRIDED,
    .infer = same_infer,
    .grad = contiguous_grad,
};

static TtStatus cast_infer(TtInfer *i)
{
    i->out[0].shape = i->in[0].shape;
    i->out[0].dtype = ((const TtCastAttrs *)i->attrs)->to;
    return TT_OK;
}

static void cast_grad(TtGraph *g, TtGradArgs *a)
{
    if (tt_dtype_is_float(tt_dtype(g, a->in[0]))) a->din[0] = tt_cast(g, a->dout[0], tt_dtype(g, a->in[0]));
}

const TtOpDef tt_op_cast = {
    .name = "cast",
    .help = "another element type",
    .id = TT_OP_cast,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtCastAttrs),
    .flags = TT_OP_STRIDED,
    .infer = cast_infer,
    .grad = cast_grad,
};

TtVal tt_cast(TtGraph *g, TtVal x, TtDType to)
{
    if (tt_dtype(g, x) == to) return x;
    return tt_emit1(g, &tt_op_cast, &(TtCastAttrs){to}, &x, 1);
}

/* ---- add_n */

static TtStatus add_n_infer(TtInfer *i)
{
    for (int k = 1; k < i->nin; k++) {
        char a[TT_SHAPE_TEXT], b[TT_SHAPE_TEXT];
        if (i->in[k].dtype != i->in[0].dtype || !tt_shape_equal(&i->in[k].shape, &i->in[0].shape))
            return TT_INFER_FAIL(i, "cannot add %s %s and %s %s", tt_dtype_name(i->in[0].dtype),
                                 tt_shape_text(&i->in[0].shape, a), tt_dtype_name(i->in[k].dtype),
                                 tt_shape_text(&i->in[k].shape, b));
    }
    i->out[0].shape = i->in[0].shape;
    return TT_OK;
}

static void add_n_grad(TtGraph *g, TtGradArgs *a)
{
    for (int k = 0; k < a->nin; k++)
        if (a->need[k]) a->din[k] = a->dout[0];
}

const TtOpDef tt_op_add_n = {
    .name = "add_n",
    .help = "sum of several values of one shape",
    .id = TT_OP_add_n,
    .nin_min = 2,
    .nin_max = TT_MAX_IN,
    .nout = 1,
    .flags = TT_OP_INPLACE,
    .infer = add_n_infer,
    .grad = add_n_grad,
};

TtVal tt_add_n(TtGraph *g, const TtVal *xs, int n)
{
    return n == 1 ? xs[0] : tt_emit1(g, &tt_op_add_n, NULL, xs, n);
}
