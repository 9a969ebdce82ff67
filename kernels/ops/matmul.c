/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/matmul.c - batched matrix product with broadcasting, transposition and bias. */
#include "kernels/ops/matmul.h"

#include "kernels/cpu/dnnl_matmul.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/shape.h"
#include "tensor/graph_impl.h"

static TtStatus matmul_infer(TtInfer *i)
{
    const TtMatmulAttrs *t = i->attrs;
    const TtShape *a = &i->in[0].shape, *b = &i->in[1].shape;
    char as[TT_SHAPE_TEXT], bs[TT_SHAPE_TEXT];
    int rank = TT_MAX(a->rank, b->rank);
    bool ok = a->rank >= 2 && b->rank >= 2;
    if (ok) ok = a->dims[a->rank - (t->trans_a ? 2 : 1)] == b->dims[b->rank - (t->trans_b ? 1 : 2)];
    TtShape y = {.rank = rank};
    for (int k = 0; ok && k < rank - 2; k++) {
        int ka = k - (rank - a->rank), kb = k - (rank - b->rank);
        int64_t da = ka < 0 ? 1 : a->dims[ka], db = kb < 0 ? 1 : b->dims[kb];
        ok = da == db || da == 1 || db == 1;
        y.dims[k] = da == 1 ? db : da;
    }
    if (!ok)
        return TT_INFER_FAIL(i, "matmul of %s%s and %s%s", tt_shape_text(a, as), t->trans_a ? "^T" : "",
                             tt_shape_text(b, bs), t->trans_b ? "^T" : "");
    y.dims[rank - 2] = a->dims[a->rank - (t->trans_a ? 1 : 2)];
    y.dims[rank - 1] = b->dims[b->rank - (t->trans_b ? 2 : 1)];
    if (i->present[2] && (i->in[2].shape.rank != 1 || i->in[2].shape.dims[0] != y.dims[rank - 1]))
        return TT_INFER_FAIL(i, "matmul with a bias %s for %lld columns", tt_shape_text(&i->in[2].shape, as),
                             (long long)y.dims[rank - 1]);
    i->out[0].shape = y;
    if (t->wide && i->in[0].dtype == TT_BF16) i->out[0].dtype = TT_F32;
    return TT_OK;
}

/* Whether V is a parameter or a bfloat16 copy of one: its gradient stays in float32. */
static bool is_parameter(const TtGraph *g, TtVal v)
{
    const TtValue *x = &g->values[g->values[v.id].base];
    if (x->node >= 0 && g->nodes[x->node].op == &tt_op_cast) x = &g->values[g->values[g->nodes[x->node].in[0].id].base];
    return x->param != NULL;
}

/* The gradient of an operand, D, in the operand's shape and type. Broadcast axes are summed in at least float32. */
static TtVal sum_back(TtGraph *g, TtVal d, TtVal like)
{
    TtShape to = tt_shape(g, like), from = tt_shape(g, d);
    if (!tt_shape_equal(&to, &from)) d = tt_sum_to(g, tt_dtype(g, d) == TT_BF16 ? tt_cast(g, d, TT_F32) : d, to);
    return is_parameter(g, like) ? d : tt_cast(g, d, tt_dtype(g, like));
}

/* With y = A B: dA = dy B^T, dB = A^T dy; transposed operands get the transposed expression. */
static void matmul_grad(TtGraph *g, TtGradArgs *a)
{
    const TtMatmulAttrs *t = a->attrs;
    TtVal dy = a->dout[0], x = a->in[0], w = a->in[1];
    if (tt_dtype(g, dy) != tt_dtype(g, x)) dy = tt_cast(g, dy, tt_dtype(g, x)); /* behind a wide product */
    if (a->need[0]) {
        TtVal d = t->trans_a ? tt_matmul_op(g, w, dy, TT_NONE, (TtMatmulAttrs){t->trans_b, true, false})
                             : tt_matmul_op(g, dy, w, TT_NONE, (TtMatmulAttrs){false, !t->trans_b, false});
        a->din[0] = sum_back(g, d, x);
    }
    if (a->need[1]) {
        bool wide = is_parameter(g, w);
        TtVal d = t->trans_b ? tt_matmul_op(g, dy, x, TT_NONE, (TtMatmulAttrs){true, t->trans_a, wide})
                             : tt_matmul_op(g, x, dy, TT_NONE, (TtMatmulAttrs){!t->trans_a, false, wide});
        a->din[1] = sum_back(g, d, w);
    }
    if (a->nin > 2 && a->need[2]) a->din[2] = sum_back(g, dy, a->in[2]);
}

static double matmul_flops(const TtKernelArgs *a)
{
    const TtShape *s = &a->in[0].shape;
    return 2.0 * (double)tt_tensor_count(&a->out[0]) *
           (double)s->dims[s->rank - (((const TtMatmulAttrs *)a->attrs)->trans_a ? 2 : 1)];
}

const TtOpDef tt_op_matmul = {
    .name = "matmul",
    .help = "matrix product, batched",
    .id = TT_OP_matmul,
    .nin_min = 2,
    .nin_max = 3,
    .nout = 1,
    .attrs_size = sizeof(TtMatmulAttrs),
    .flags = TT_OP_STRIDED,
    .infer = matmul_infer,
    .grad = matmul_grad,
    .cpu_prepare = tt_dnnl_matmul_prepare,
    .cpu_release = tt_dnnl_state_release,
    .cpu_scratch = tt_dnnl_state_scratch,
    .flops = matmul_flops,
};

void tt_matmul_strides(const TtTensor *t, int64_t strides[TT_MAX_RANK])
{
    tt_strides_contiguous(&t->shape, strides);
    for (int k = 0; k < t->shape.rank; k++)
        if (t->shape.dims[k] != 1) strides[k] = t->strides[k];
}

/* The heads of attention, say, are views whose matrices oneDNN reads as they lie: it wants one of the last two axes
 * without gaps and nothing repeated. Others are copied. */
static TtVal operand(TtGraph *g, TtVal v)
{
    const TtTensor *t = &g->values[v.id].t;
    int64_t strides[TT_MAX_RANK], least = 1;
    int rank = t->shape.rank;
    tt_matmul_strides(t, strides);
    for (int k = 0; k < rank; k++) least = TT_MIN(least, strides[k]);
    bool readable = rank < 2 || (least > 0 && (strides[rank - 1] == 1 || strides[rank - 2] == 1));
    return readable ? v : tt_contiguous(g, v);
}

TtVal tt_matmul_op(TtGraph *g, TtVal a, TtVal b, TtVal bias, TtMatmulAttrs attrs)
{
    return tt_emit1(g, &tt_op_matmul, &attrs, (TtVal[]){operand(g, a), operand(g, b), tt_contiguous(g, bias)},
                    bias.id ? 3 : 2);
}

TtVal tt_matmul(TtGraph *g, TtVal a, TtVal b)
{
    return tt_matmul_op(g, a, b, TT_NONE, (TtMatmulAttrs){0});
}

TtVal tt_linear_op(TtGraph *g, TtVal x, TtVal w, TtVal b)
{
    TtShape s = tt_shape(g, x);
    if (s.rank < 1) return TT_NONE;
    int64_t in = s.dims[s.rank - 1], rows = 1;
    for (int k = 0; k < s.rank - 1; k++) rows *= s.dims[k];
    TtVal y = tt_matmul_op(g, tt_reshape(g, x, TT_SHAPE(rows, in)), w, b, (TtMatmulAttrs){false, true, false});
    s.dims[s.rank - 1] = tt_channels(g, y);
    return tt_val_ok(y) ? tt_reshape(g, y, s) : y;
}
