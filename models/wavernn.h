/* SPDX-License-Identifier: Apache-2.0 */
/* models/wavernn.h - WaveRNN (Kalchbrenner et al. 2018) as torchaudio.models.WaveRNN: arguments, parameter names and
 * values. */
#ifndef TT_MODELS_WAVERNN_H
#define TT_MODELS_WAVERNN_H

#include "tensor/graph.h"
#include "tensor/options.h"

typedef struct TtWaveRnn {
    TtInts upsample_scales; /* their product is hop_length */
    int64_t n_classes, hop_length;
    int64_t n_res_block;                /* 10 */
    int64_t n_rnn, n_fc;                /* 512 */
    int64_t kernel_size;                /* 5; odd */
    int64_t n_freq, n_hidden, n_output; /* 128 */
} TtWaveRnn;

/* Samples that a spectrogram of FRAMES frames stands for: (frames - kernel_size + 1) * hop_length; 0 when too short. */
int64_t tt_wavernn_samples(const TtWaveRnn *o, int64_t frames);

/* Of SPEC (N,F,n_freq): the residual network's features (N,F - kernel_size + 1,n_output). */
TtVal tt_wavernn_features(TtGraph *g, const TtWaveRnn *o, TtVal spec);
/* The weights (S,1,3,1) of three frames for each of a frame's S samples, from the 2S + 1 of the convolution behind a
 * stretch by S (torchaudio's upsample_layers): sample p is the sum of w[p][d] times frame - 1 + d. */
TtVal tt_wavernn_stretch_weights(TtGraph *g, int which, int64_t s);
/* Of SPEC (N,F,n_freq), with T = tt_wavernn_samples(F): MEL (N,T,n_freq) and AUX (N,T,n_output), torchaudio's
 * UpsampleNetwork. */
void tt_wavernn_upsample(TtGraph *g, const TtWaveRnn *o, TtVal spec, TtVal *mel, TtVal *aux);

/* Logits (N,T,n_classes) of the sample after each of WAVEFORM (N,T,1). */
TtVal tt_wavernn_forward(TtGraph *g, const TtWaveRnn *o, TtVal waveform, TtVal spec);

#endif
