/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/recurrent.c - recurrent and recurrent_bwd. */
#include "kernels/ops/recurrent.h"

#include "kernels/ops/matmul.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/shape.h"

static bool has_shape(const TtInfer *i, int k, TtShape s)
{
    return !i->present[k] || (tt_shape_equal(&i->in[k].shape, &s) && i->in[k].dtype == i->in[0].dtype);
}

static TtStatus recurrent_infer(TtInfer *i)
{
    const TtRecurrentAttrs *a = i->attrs;
    const TtShape *x = &i->in[TT_REC_GATES].shape;
    const TtTensor *lengths = &i->in[TT_REC_LENGTHS];
    int gates = tt_cell_gates(a->cell);
    char text[TT_SHAPE_TEXT];
    if (x->rank != 3 || x->dims[2] % gates || x->dims[2] == 0)
        return TT_INFER_FAIL(i, "recurrent: gates %s; (samples, steps, %d * hidden size) is needed",
                             tt_shape_text(x, text), gates);
    int64_t n = x->dims[0], t = x->dims[1], h = x->dims[2] / gates;
    TtShape state = TT_SHAPE(n, h);
    if (!has_shape(i, TT_REC_W_HH, TT_SHAPE(gates * h, h)) || !has_shape(i, TT_REC_B_HH, TT_SHAPE(gates * h)))
        return TT_INFER_FAIL(i, "recurrent: w_hh or b_hh does not fit a hidden size of %lld", (long long)h);
    if (!has_shape(i, TT_REC_H0, state) || !has_shape(i, TT_REC_C0, state))
        return TT_INFER_FAIL(i, "recurrent: an initial state is not %s", tt_shape_text(&state, text));
    if (i->present[TT_REC_LENGTHS] &&
        (lengths->dtype != TT_I64 || lengths->shape.rank != 1 || lengths->shape.dims[0] != n))
        return TT_INFER_FAIL(i, "recurrent: lengths are not %lld int64", (long long)n);
    i->out[TT_REC_Y].shape = TT_SHAPE(n, t, h);
    i->out[TT_REC_H].shape = state;
    i->out[TT_REC_C].shape = a->cell == TT_CELL_LSTM ? state : TT_SHAPE(0);
    i->out[TT_REC_SAVE].shape = TT_SHAPE(n, t, tt_cell_saved(a->cell), h);
    return TT_OK;
}

/* What the loop gives is the gradient of the gates and of the initial state; that of w_hh is one product over all
 * steps of all samples. */
static void recurrent_grad(TtGraph *g, TtGradArgs *a)
{
    TtVal in[TT_REC_BWD_INPUTS] = {
        [TT_REC_BWD_Y] = a->out[TT_REC_Y],      [TT_REC_BWD_SAVE] = a->out[TT_REC_SAVE],
        [TT_REC_BWD_W_HH] = a->in[TT_REC_W_HH], [TT_REC_BWD_H0] = a->in[TT_REC_H0],
        [TT_REC_BWD_C0] = a->in[TT_REC_C0],     [TT_REC_BWD_LENGTHS] = a->in[TT_REC_LENGTHS],
        [TT_REC_BWD_DY] = a->dout[TT_REC_Y],    [TT_REC_BWD_DH] = a->dout[TT_REC_H],
        [TT_REC_BWD_DC] = a->dout[TT_REC_C],
    };
    TtVal out[TT_REC_BWD_OUTPUTS];
    tt_emit(g, &tt_op_recurrent_bwd, a->attrs, in, TT_REC_BWD_INPUTS, out);
    if (!tt_graph_ok(g)) return;
    a->din[TT_REC_GATES] = out[TT_REC_BWD_DGATES];
    a->din[TT_REC_H0] = out[TT_REC_BWD_DH0];
    a->din[TT_REC_C0] = out[TT_REC_BWD_DC0];
    bool gru = ((const TtRecurrentAttrs *)a->attrs)->cell == TT_CELL_GRU;
    TtShape s = tt_shape(g, out[TT_REC_BWD_DGATES]), h = tt_shape(g, out[TT_REC_BWD_H_PREV]);
    int64_t rows = s.dims[0] * s.dims[1];
    TtVal dh = tt_reshape(g, out[gru ? TT_REC_BWD_DGATES_H : TT_REC_BWD_DGATES], TT_SHAPE(rows, s.dims[2]));
    if (a->need[TT_REC_W_HH]) {
        TtVal before = tt_reshape(g, out[TT_REC_BWD_H_PREV], TT_SHAPE(rows, h.dims[2]));
        a->din[TT_REC_W_HH] = tt_matmul_op(g, dh, before, TT_NONE, (TtMatmulAttrs){.trans_a = true});
    }
    if (a->need[TT_REC_B_HH]) a->din[TT_REC_B_HH] = tt_sum_to(g, dh, TT_SHAPE(s.dims[2]));
}

static double recurrent_flops(const TtKernelArgs *a)
{
    const TtShape *w = &a->in[a->op->id == TT_OP_recurrent ? TT_REC_W_HH : TT_REC_BWD_W_HH].shape;
    const TtShape *y = a->op->id == TT_OP_recurrent ? &a->out[TT_REC_Y].shape : &a->in[TT_REC_BWD_Y].shape;
    return 2.0 * (double)(y->dims[0] * y->dims[1]) * (double)tt_shape_count(w);
}

/* Packed weights and bias, the state before and after a step, the LSTM's cell. */
static size_t recurrent_scratch(const TtKernelArgs *a)
{
    TtCell cell = ((const TtRecurrentAttrs *)a->attrs)->cell;
    const TtShape *y = &a->out[TT_REC_Y].shape;
    int64_t n = y->dims[0], h = y->dims[2], columns = tt_rec_vectors(cell) * TT_REC_LANES;
    int64_t panels = tt_rec_panels(h, tt_rec_units(cell));
    return (size_t)(panels * columns * (h + 1) + 3 * n * tt_rec_row(h)) * sizeof(float);
}

const TtOpDef tt_op_recurrent = {
    .name = "recurrent",
    .help = "the steps of an RNN, LSTM or GRU layer",
    .id = TT_OP_recurrent,
    .nin_min = TT_REC_INPUTS,
    .nin_max = TT_REC_INPUTS,
    .nout = TT_REC_OUTPUTS,
    .attrs_size = sizeof(TtRecurrentAttrs),
    .infer = recurrent_infer,
    .grad = recurrent_grad,
    .cpu_scratch = recurrent_scratch,
    .flops = recurrent_flops,
};

void tt_recurrent(TtGraph *g, const TtRecurrentIn *in, TtRecurrentAttrs a, TtRecurrentOut *out)
{
    TtVal outs[TT_REC_OUTPUTS];
    tt_emit(g, &tt_op_recurrent, &a, (TtVal[]){in->gates, in->w_hh, in->b_hh, in->h0, in->c0, in->lengths},
            TT_REC_INPUTS, outs);
    *out = (TtRecurrentOut){outs[TT_REC_Y], outs[TT_REC_H], a.cell == TT_CELL_LSTM ? outs[TT_REC_C] : TT_NONE};
}

static TtStatus recurrent_bwd_infer(TtInfer *i)
{
    TtCell cell = ((const TtRecurrentAttrs *)i->attrs)->cell;
    const TtShape *y = &i->in[TT_REC_BWD_Y].shape;
    TtShape gates = TT_SHAPE(y->dims[0], y->dims[1], tt_cell_gates(cell) * y->dims[2]);
    TtShape state = TT_SHAPE(y->dims[0], y->dims[2]);
    i->out[TT_REC_BWD_DGATES].shape = gates;
    i->out[TT_REC_BWD_DGATES_H].shape = cell == TT_CELL_GRU ? gates : TT_SHAPE(0);
    i->out[TT_REC_BWD_DH0].shape = state;
    i->out[TT_REC_BWD_DC0].shape = cell == TT_CELL_LSTM ? state : TT_SHAPE(0);
    i->out[TT_REC_BWD_H_PREV].shape = *y;
    return TT_OK;
}

/* Packed weights, and of every sample a row of the gradients of the state, the cell and the gates. */
static size_t recurrent_bwd_scratch(const TtKernelArgs *a)
{
    const TtShape *y = &a->in[TT_REC_BWD_Y].shape;
    int64_t n = y->dims[0], h = y->dims[2], k = tt_cell_gates(((const TtRecurrentAttrs *)a->attrs)->cell) * h;
    int64_t columns = TT_REC_VECTORS * TT_REC_LANES;
    return (size_t)(tt_rec_panels(h, columns) * columns * k + n * (2 * tt_rec_row(h) + tt_rec_row(k))) * sizeof(float);
}

const TtOpDef tt_op_recurrent_bwd = {
    .name = "recurrent_bwd",
    .help = "gradient of recurrent",
    .id = TT_OP_recurrent_bwd,
    .nin_min = TT_REC_BWD_INPUTS,
    .nin_max = TT_REC_BWD_INPUTS,
    .nout = TT_REC_BWD_OUTPUTS,
    .attrs_size = sizeof(TtRecurrentAttrs),
    .infer = recurrent_bwd_infer,
    .cpu_scratch = recurrent_bwd_scratch,
    .flops = recurrent_flops,
};
