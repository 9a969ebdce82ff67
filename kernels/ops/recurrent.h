/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/recurrent.h - one layer, one direction of a recurrent network: a loop over time in one operation.
 *
 * The product of the input with weight_ih is no part of it: that is one matrix product over all steps of all samples,
 * made before (tt_linear_op), and its gradient follows from the gradient of `gates`. What is left is h w_hh^T and the
 * cell, formulas and gate order torch.nn's. With a = gates[t] and b = h[t-1] w_hh^T + b_hh:
 *   rnn   h = act(a + b), act tanh or relu (Elman 1990)
 *   lstm  i,f,g,o = a + b; c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c) (Hochreiter and Schmidhuber
 *         1997, Gers et al. 2000)
 *   gru   r = sigmoid(a_r + b_r), z = sigmoid(a_z + b_z), n = tanh(a_n + r b_n); h = (1 - z) n + z h (Cho et al. 2014)
 * float32 (float64 in gradient checks). */
#ifndef TT_KERNELS_OPS_RECURRENT_H
#define TT_KERNELS_OPS_RECURRENT_H

#include "tensor/op.h"

typedef enum TtCell { TT_CELL_TANH, TT_CELL_RELU, TT_CELL_LSTM, TT_CELL_GRU } TtCell;

typedef struct TtRecurrentAttrs {
    TtCell cell;
    bool reverse; /* from a sample's last step to its first */
} TtRecurrentAttrs;

typedef struct TtRecurrentIn {
    TtVal gates;   /* (N,T,G*H): x weight_ih^T + bias_ih; G is 1, LSTM 4, GRU 3 */
    TtVal w_hh;    /* (G*H,H) */
    TtVal b_hh;    /* (G*H) or TT_NONE */
    TtVal h0, c0;  /* (N,H) or TT_NONE for zeros; c0 of the LSTM only */
    TtVal lengths; /* (N) int64, 0..T each (TT_EDATA otherwise), or TT_NONE for T */
} TtRecurrentIn;

typedef struct TtRecurrentOut {
    TtVal y;    /* (N,T,H), 0 from a sample's length on, as torch's pad_packed_sequence */
    TtVal h, c; /* (N,H): the state after a sample's last step (h0 where there is none); c of the LSTM only */
} TtRecurrentOut;

void tt_recurrent(TtGraph *g, const TtRecurrentIn *in, TtRecurrentAttrs a, TtRecurrentOut *out);

/* The ops' inputs and outputs by number. SAVE (N,T,S,H) is what the gradient needs besides y: GRU r, z, n, b_n; LSTM
 * i, f, g, o, c; nothing of the others. DGATES_H is the gradient of h w_hh^T + b_hh where it differs from that of the
 * gates (GRU), H_PREV (N,T,H) the state before each step: the gradient of w_hh is one product of the two. */
enum { TT_REC_GATES, TT_REC_W_HH, TT_REC_B_HH, TT_REC_H0, TT_REC_C0, TT_REC_LENGTHS, TT_REC_INPUTS };
enum { TT_REC_Y, TT_REC_H, TT_REC_C, TT_REC_SAVE, TT_REC_OUTPUTS };
enum {
    TT_REC_BWD_Y,
    TT_REC_BWD_SAVE,
    TT_REC_BWD_W_HH,
    TT_REC_BWD_H0,
    TT_REC_BWD_C0,
    TT_REC_BWD_LENGTHS,
    TT_REC_BWD_DY,
    TT_REC_BWD_DH,
    TT_REC_BWD_DC,
    TT_REC_BWD_INPUTS
};
enum { TT_REC_BWD_DGATES, TT_REC_BWD_DGATES_H, TT_REC_BWD_DH0, TT_REC_BWD_DC0, TT_REC_BWD_H_PREV, TT_REC_BWD_OUTPUTS };

/* Gates of a cell, and values saved for each unit and step. */
static inline int tt_cell_gates(TtCell c)
{
    return c == TT_CELL_LSTM ? 4 : c == TT_CELL_GRU ? 3 : 1;
}

static inline int tt_cell_saved(TtCell c)
{
    return c == TT_CELL_LSTM ? 5 : c == TT_CELL_GRU ? 4 : 0;
}

/* How the kernels pack w_hh: panels of columns (kernels/cpu/panel.h), forward all gates of 16 units (of 64 where there
 * is but one gate), backward 64 units. */
enum { TT_REC_LANES = 16, TT_REC_VECTORS = 4 };
static inline int tt_rec_vectors(TtCell c) /* of 16 columns in a forward panel */
{
    return c == TT_CELL_GRU ? 3 : TT_REC_VECTORS;
}

static inline int64_t tt_rec_units(TtCell c) /* of a forward panel */
{
    return TT_REC_LANES * tt_rec_vectors(c) / tt_cell_gates(c);
}

static inline int64_t tt_rec_panels(int64_t h, int64_t units)
{
    return (h + units - 1) / units;
}

/* From one row of N values of state to the next, in floats: room for whole panels, and no multiple of a power of two,
 * so that the rows do not all fall into the same sets of the cache. */
static inline int64_t tt_rec_row(int64_t n)
{
    return (n + 63) / 64 * 64 + TT_REC_LANES;
}

#endif
