/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/concat.c - concat; its gradient is slices of dy. */
#include "kernels/ops/concat.h"

#include "kernels/ops/reduce.h"
#include "kernels/ops/shape.h"

static TtStatus infer(TtInfer *i)
{
    int axis = ((const TtConcatAttrs *)i->attrs)->axis;
    TtShape s = i->in[0].shape;
    for (int k = 1; k < i->nin; k++) {
        TtShape other = i->in[k].shape;
        char a[TT_SHAPE_TEXT], b[TT_SHAPE_TEXT];
        int64_t length = other.rank > axis ? other.dims[axis] : 0;
        if (other.rank > axis) other.dims[axis] = s.dims[axis];
        if (!tt_shape_equal(&other, &s) || i->in[k].dtype != i->in[0].dtype)
            return TT_INFER_FAIL(i, "cannot concatenate %s %s and %s %s along axis %d", tt_dtype_name(i->in[0].dtype),
                                 tt_shape_text(&i->in[0].shape, a), tt_dtype_name(i->in[k].dtype),
                                 tt_shape_text(&i->in[k].shape, b), axis);
        s.dims[axis] += length;
    }
    i->out[0].shape = s;
    return TT_OK;
}

static void grad(TtGraph *g, TtGradArgs *a)
{
    int axis = ((const TtConcatAttrs *)a->attrs)->axis;
    int64_t start = 0;
    for (int k = 0; k < a->nin; k++) {
        int64_t length = tt_dim(g, a->in[k], axis);
        if (a->need[k]) a->din[k] = tt_slice(g, a->dout[0], axis, start, length, 1);
        start += length;
    }
}

const TtOpDef tt_op_concat = {
    .name = "concat",
    .help = "tensors one behind the other along an axis",
    .id = TT_OP_concat,
    .nin_min = 1,
    .nin_max = TT_MAX_IN,
    .nout = 1,
    .attrs_size = sizeof(TtConcatAttrs),
    .flags = TT_OP_STRIDED,
    .infer = infer,
    .grad = grad,
};

TtVal tt_concat(TtGraph *g, const TtVal *xs, int n, int axis)
{
    TT_ASSERT(n >= 1);
    if (!tt_graph_ok(g)) return TT_NONE;
    if (n == 1) return xs[0];
    TtConcatAttrs a = {.axis = tt_axis(g, "concat", xs[0], axis)};
    if (n <= TT_MAX_IN) return tt_emit1(g, &tt_op_concat, &a, xs, n);
    /* In groups, so that an element is copied once for each power of 16. */
    TtVal parts[TT_MAX_IN];
    int size = (n + TT_MAX_IN - 1) / TT_MAX_IN, groups = 0;
    for (int k = 0; k < n; k += size) parts[groups++] = tt_concat(g, xs + k, TT_MIN(size, n - k), a.axis);
    return tt_concat(g, parts, groups, a.axis);
}

TtVal tt_stack(TtGraph *g, const TtVal *xs, int n, int axis)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    TtShape s = tt_shape(g, xs[0]);
    if (axis < 0) axis += s.rank + 1;
    if (axis < 0 || axis > s.rank || s.rank == TT_MAX_RANK) {
        tt_graph_fail(g, TT_ECONFIG, "stack: no place for a new axis %d among %d", axis, s.rank);
        return TT_NONE;
    }
    for (int k = s.rank++; k > axis; k--) s.dims[k] = s.dims[k - 1];
    s.dims[axis] = 1;
    TtVal *rows = TT_NEWN(tt_graph_arena(g), TtVal, n);
    for (int k = 0; k < n; k++) rows[k] = tt_reshape(g, xs[k], s);
    return tt_concat(g, rows, n, axis);
}

void tt_split(TtGraph *g, TtVal x, const int64_t *lengths, int n, int axis, TtVal *outs)
{
    int64_t start = 0;
    for (int k = 0; k < n; k++) outs[k] = TT_NONE;
    if (!tt_graph_ok(g)) return;
    axis = tt_axis(g, "split", x, axis);
    for (int k = 0; k < n; k++) start += lengths[k];
    if (start != tt_dim(g, x, axis)) {
        tt_graph_fail(g, TT_ECONFIG, "split: lengths add up to %lld on an axis of %lld", (long long)start,
                      (long long)tt_dim(g, x, axis));
        return;
    }
    start = 0;
    for (int k = 0; k < n; k++) {
        outs[k] = tt_slice(g, x, axis, start, lengths[k], 1);
        start += lengths[k];
    }
}

void tt_chunk(TtGraph *g, TtVal x, int n, int axis, TtVal *outs)
{
    for (int k = 0; k < n; k++) outs[k] = TT_NONE;
    if (!tt_graph_ok(g)) return;
    axis = tt_axis(g, "chunk", x, axis);
    int64_t length = tt_dim(g, x, axis) / n;
    if (length * n != tt_dim(g, x, axis))
        tt_graph_fail(g, TT_ECONFIG, "chunk: an axis of %lld does not divide into %d", (long long)tt_dim(g, x, axis),
                      n);
    for (int k = 0; k < n && tt_graph_ok(g); k++) outs[k] = tt_slice(g, x, axis, k * length, length, 1);
}
