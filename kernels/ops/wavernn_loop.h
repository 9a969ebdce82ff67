/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/wavernn_loop.h - the loop over samples of WaveRNN's generation; models/wavernn_infer.c prepares it.
 *
 * What does not depend on the sample before is computed ahead: with the first linear layer put into the first GRU's
 * input product, the spectrogram's part of both is one projection of every frame to 4 R values (3 R gates of the first
 * GRU, R of the linear layer), stretched to samples as the spectrogram would be (stretching is linear and works on each
 * channel alone); the other features change by frame. Left in the loop are
 *     g = row + x wx                                  4 R values: gates, u
 *     h1 = GRU1(g, h1);              x1 = h1 + u
 *     h2 = GRU2(w_ih2 x1 + aux2, h2); x2 = h2 + x1
 *     f1 = relu(fc1 x2 + aux3); f2 = relu(fc2 f1 + aux4); logits = fc3 f2 + b
 * and the draw of the next x. R is n_rnn. */
#ifndef TT_KERNELS_OPS_WAVERNN_LOOP_H
#define TT_KERNELS_OPS_WAVERNN_LOOP_H

#include <stdatomic.h>

#include "tensor/rng.h"

enum { TT_WAVERNN_LEVELS = 8, TT_WAVERNN_RING = 4 };

/* The packed matrices: panels (kernels/cpu/panel.h) of 16 units of each of 3 gates, or of 64 outputs. */
typedef struct TtWaveRnnMatrix {
    void *panels; /* float32 or bfloat16 */
    float *bias;  /* by packed column; zeros where it is added elsewhere */
    int64_t k, n_panels;
    int columns;
} TtWaveRnnMatrix;

enum { TT_WR_HH1, TT_WR_IH2, TT_WR_HH2, TT_WR_FC1, TT_WR_FC2, TT_WR_FC3, TT_WR_MATRICES };

/* One stretch by SCALE: output SCALE * i + p is the sum of w[3 p + d] times input i - 1 + d. */
typedef struct TtWaveRnnLevel {
    int64_t scale;
    const float *w;
} TtWaveRnnLevel;

/* One utterance on its way. Rows of CHANNELS = 4 R floats. */
typedef struct TtWaveRnnVoice {
    int64_t samples, frames, first;         /* FIRST: place of sample 0 in the stretched signal */
    const float *spec;                      /* (frames,4R) projected spectrogram */
    const float *aux1, *aux2, *aux3, *aux4; /* by frame of HOP samples: (4R), (3R), (fc), (fc), biases included */
    float *rows;                            /* (levels,TT_WAVERNN_RING,4R) the stretched rows last computed */
    int64_t have[TT_WAVERNN_LEVELS][TT_WAVERNN_RING];
    float x; /* the sample before */
    TtRng rng;
    int32_t *classes;
} TtWaveRnnVoice;

typedef struct TtWaveRnnLoop {
    int64_t rnn, fc, classes, hop;
    bool bf16;
    TtWaveRnnMatrix m[TT_WR_MATRICES];
    const float *wx; /* (4R) */
    int levels;
    TtWaveRnnLevel level[TT_WAVERNN_LEVELS];
    int voices; /* longest first */
    TtWaveRnnVoice *voice;
    /* (voices,row) each: states by parity of the sample's number, and what is between the layers */
    int64_t rnn_row, fc_row, class_row;
    float *h1[2], *h2[2], *x1, *x2, *f1, *f2, *logits;
    const float *zeros; /* (4R) */
    /* the threads' meeting point */
    int threads;
    bool by_voices;
    _Alignas(64) atomic_int arrived;
    _Alignas(64) atomic_uint round;
} TtWaveRnnLoop;

/* kernels/cpu/wavernn_loop.c has tt_cpu_wavernn_loop_<isa>(l, thread): the work of one of l->threads threads, all of
 * which must be running. */

#endif
