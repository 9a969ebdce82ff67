/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/index.c - index_select and its gradient, gather, scatter_add, one_hot. */
#include "kernels/ops/index.h"

#include "kernels/ops/reduce.h"
#include "kernels/ops/shape.h"

static TtStatus need_int64(TtInfer *i, const char *name, int k)
{
    if (i->in[k].dtype == TT_I64) return TT_OK;
    return TT_INFER_FAIL(i, "%s: the index is %s, not int64", name, tt_dtype_name(i->in[k].dtype));
}

/* ---- index_select */

static TtStatus select_infer(TtInfer *i)
{
    const TtIndexAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape, *index = &i->in[1].shape;
    TT_TRY(need_int64(i, "index_select", 1));
    TtShape s = {0};
    if (x->rank - 1 + index->rank > TT_MAX_RANK)
        return TT_INFER_FAIL(i, "index_select: the result has more than %d axes", TT_MAX_RANK);
    for (int k = 0; k < a->axis; k++) s.dims[s.rank++] = x->dims[k];
    for (int k = 0; k < index->rank; k++) s.dims[s.rank++] = index->dims[k];
    for (int k = a->axis + 1; k < x->rank; k++) s.dims[s.rank++] = x->dims[k];
    i->out[0].shape = s;
    return TT_OK;
}

static void select_grad(TtGraph *g, TtGradArgs *q)
{
    TtIndexAttrs a = *(const TtIndexAttrs *)q->attrs;
    TtDType t = tt_dtype(g, q->in[0]), wide = t == TT_F64 ? TT_F64 : TT_F32;
    a.size = tt_dim(g, q->in[0], a.axis);
    if (!q->need[0]) return;
    TtVal ins[2] = {tt_cast(g, q->dout[0], wide), q->in[1]}; /* sums of bfloat16 are made in float32 */
    q->din[0] = tt_cast(g, tt_emit1(g, &tt_op_index_select_bwd, &a, ins, 2), t);
}

const TtOpDef tt_op_index_select = {
    .name = "index_select",
    .help = "slices of an axis by index (embedding)",
    .id = TT_OP_index_select,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtIndexAttrs),
    .infer = select_infer,
    .grad = select_grad,
};

static TtStatus select_bwd_infer(TtInfer *i)
{
    const TtIndexAttrs *a = i->attrs;
    const TtShape *dy = &i->in[0].shape;
    TtShape s = {0};
    for (int k = 0; k < a->axis; k++) s.dims[s.rank++] = dy->dims[k];
    s.dims[s.rank++] = a->size;
    for (int k = a->axis + i->in[1].shape.rank; k < dy->rank; k++) s.dims[s.rank++] = dy->dims[k];
    i->out[0].shape = s;
    return TT_OK;
}

const TtOpDef tt_op_index_select_bwd = {
    .name = "index_select_bwd",
    .help = "gradient of index_select",
    .id = TT_OP_index_select_bwd,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtIndexAttrs),
    .infer = select_bwd_infer,
};

TtVal tt_index_select(TtGraph *g, TtVal x, int axis, TtVal index)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    TtIndexAttrs a = {.axis = tt_axis(g, "index_select", x, axis), .padding = -1};
    return tt_emit1(g, &tt_op_index_select, &a, (TtVal[]){x, index}, 2);
}

TtVal tt_embedding(TtGraph *g, TtVal weight, TtVal index, int64_t padding_index)
{
    return tt_emit1(g, &tt_op_index_select, &(TtIndexAttrs){.padding = padding_index}, (TtVal[]){weight, index}, 2);
}

TtVal tt_flip(TtGraph *g, TtVal x, int axis)
{
    int64_t n = tt_dim(g, x, axis);
    if (n < 2) return x;
    int64_t *order = TT_NEWN(tt_graph_arena(g), int64_t, n);
    for (int64_t i = 0; i < n; i++) order[i] = n - 1 - i;
    return tt_index_select(g, x, axis, tt_const_data(g, TT_I64, TT_SHAPE(n), order));
}

/* ---- gather and scatter_add: each is the other's gradient */

static TtStatus gather_infer(TtInfer *i)
{
    const TtIndexAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape, *index = &i->in[1].shape;
    char tx[TT_SHAPE_TEXT], ti[TT_SHAPE_TEXT];
    TT_TRY(need_int64(i, "gather", 1));
    bool fits = x->rank == index->rank;
    for (int k = 0; fits && k < x->rank; k++) fits = k == a->axis || index->dims[k] <= x->dims[k];
    if (!fits)
        return TT_INFER_FAIL(i, "gather: index %s does not fit %s", tt_shape_text(index, ti), tt_shape_text(x, tx));
    i->out[0].shape = *index;
    return TT_OK;
}

static void gather_grad(TtGraph *g, TtGradArgs *q)
{
    const TtIndexAttrs *a = q->attrs;
    TtScatterAttrs s = {.axis = a->axis, .shape = tt_shape(g, q->in[0])};
    TtDType t = tt_dtype(g, q->in[0]), wide = t == TT_F64 ? TT_F64 : TT_F32;
    if (!q->need[0]) return;
    TtVal ins[3] = {tt_cast(g, q->dout[0], wide), q->in[1], TT_NONE};
    q->din[0] = tt_cast(g, tt_emit1(g, &tt_op_scatter_add, &s, ins, 3), t);
}

const TtOpDef tt_op_gather = {
    .name = "gather",
    .help = "elements by index along an axis",
    .id = TT_OP_gather,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtIndexAttrs),
    .infer = gather_infer,
    .grad = gather_grad,
};

/* src, index, base or nothing */
static TtStatus scatter_infer(TtInfer *i)
{
    const TtScatterAttrs *a = i->attrs;
    const TtShape *y = i->present[2] ? &i->in[2].shape : &a->shape, *index = &i->in[1].shape;
    char ty[TT_SHAPE_TEXT], ti[TT_SHAPE_TEXT], ts[TT_SHAPE_TEXT];
    TT_TRY(need_int64(i, "scatter_add", 1));
    bool fits = y->rank == index->rank && tt_shape_equal(index, &i->in[0].shape);
    for (int k = 0; fits && k < y->rank; k++) fits = k == a->axis || index->dims[k] <= y->dims[k];
    if (!fits || (i->present[2] && i->in[2].dtype != i->in[0].dtype))
        return TT_INFER_FAIL(i, "scatter_add: index %s, source %s and base %s do not fit", tt_shape_text(index, ti),
                             tt_shape_text(&i->in[0].shape, ts), tt_shape_text(y, ty));
    i->out[0].shape = *y;
    return TT_OK;
}

static void scatter_grad(TtGraph *g, TtGradArgs *q)
{
    const TtScatterAttrs *a = q->attrs;
    if (q->need[0]) q->din[0] = tt_gather(g, q->dout[0], a->axis, q->in[1]);
    if (q->need[2]) q->din[2] = q->dout[0];
}

const TtOpDef tt_op_scatter_add = {
    .name = "scatter_add",
    .help = "add elements at places given by index along an axis",
    .id = TT_OP_scatter_add,
    .nin_min = 3,
    .nin_max = 3,
    .nout = 1,
    .attrs_size = sizeof(TtScatterAttrs),
    .infer = scatter_infer,
    .grad = scatter_grad,
};

TtVal tt_gather(TtGraph *g, TtVal x, int axis, TtVal index)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    TtIndexAttrs a = {.axis = tt_axis(g, "gather", x, axis), .padding = -1};
    return tt_emit1(g, &tt_op_gather, &a, (TtVal[]){x, index}, 2);
}

TtVal tt_scatter_add(TtGraph *g, TtVal base, int axis, TtVal index, TtVal src)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    TtScatterAttrs a = {.axis = tt_axis(g, "scatter_add", base, axis)};
    return tt_emit1(g, &tt_op_scatter_add, &a, (TtVal[]){src, index, base}, 3);
}

/* ---- one_hot */

static TtStatus one_hot_infer(TtInfer *i)
{
    const TtOneHotAttrs *a = i->attrs;
    TT_TRY(need_int64(i, "one_hot", 0));
    if (i->in[0].shape.rank == TT_MAX_RANK) return TT_INFER_FAIL(i, "one_hot: no room for another axis");
    i->out[0].shape = i->in[0].shape;
    i->out[0].shape.dims[i->out[0].shape.rank++] = a->classes;
    i->out[0].dtype = a->dtype;
    return TT_OK;
}

const TtOpDef tt_op_one_hot = {
    .name = "one_hot",
    .help = "rows with a 1 at the index",
    .id = TT_OP_one_hot,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtOneHotAttrs),
    .infer = one_hot_infer,
};

TtVal tt_one_hot(TtGraph *g, TtVal index, int64_t classes)
{
    return tt_emit1(g, &tt_op_one_hot, &(TtOneHotAttrs){.classes = classes, .dtype = tt_graph_ftype(g)}, &index, 1);
}
