/* SPDX-License-Identifier: Apache-2.0 */
/* models/rnn.h - recurrent layers, named and initialised as torch.nn's RNN, LSTM and GRU with batch_first=True.
 *
 * Sequences are (N,T,C).
 *     x = tt_gru(g, x, "rnn1", .hidden = 512).y;
 * Parameters, of layer k: weight_ih_lk (G*hidden, inputs), weight_hh_lk (G*hidden, hidden), bias_ih_lk and bias_hh_lk
 * (G*hidden), and with _reverse those of the other direction; all uniform on +-1/sqrt(hidden). With autocast the input's
 * products are in bfloat16, the loop over time in float32. */
#ifndef TT_MODELS_RNN_H
#define TT_MODELS_RNN_H

#include "kernels/ops/recurrent.h"

typedef struct TtRnnOptions {
    int hidden; /* required */
    int layers; /* 1 */
    bool bidirectional;
    bool no_bias;
    bool relu;      /* of tt_rnn: relu instead of tanh */
    double dropout; /* 0: of the outputs of every layer but the last, in training */
    TtVal lengths;  /* (N) int64: steps of each sample, as torch's pack_padded_sequence; or TT_NONE */
    TtVal h0, c0;   /* (layers * directions, N, hidden), or TT_NONE for zeros; c0 of tt_lstm only */
} TtRnnOptions;

typedef struct TtRnnOutput {
    TtVal y;    /* (N, T, directions * hidden), of the last layer; 0 behind a sample's length */
    TtVal h, c; /* (layers * directions, N, hidden) after each sample's last step; c of tt_lstm only */
} TtRnnOutput;

TtRnnOutput tt_nn_recurrent(TtGraph *g, TtVal x, const char *name, TtCell cell, TtRnnOptions o);
#define tt_rnn(g, x, name, ...) tt_nn_recurrent((g), (x), (name), TT_CELL_TANH, (TtRnnOptions){__VA_ARGS__})
#define tt_lstm(g, x, name, ...) tt_nn_recurrent((g), (x), (name), TT_CELL_LSTM, (TtRnnOptions){__VA_ARGS__})
#define tt_gru(g, x, name, ...) tt_nn_recurrent((g), (x), (name), TT_CELL_GRU, (TtRnnOptions){__VA_ARGS__})

#endif
