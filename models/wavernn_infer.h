/* SPDX-License-Identifier: Apache-2.0 */
/* models/wavernn_infer.h - sound from a spectrogram by a trained WaveRNN: torchaudio's WaveRNN.infer.
 *
 * Not through the graph: a sample is a few products of vectors with matrices, thousands of times a second. Utterances of
 * one call go together, and the weights are read once for all of them; each has its own random stream, so that its
 * samples depend neither on the others nor on the number of threads. */
#ifndef TT_MODELS_WAVERNN_INFER_H
#define TT_MODELS_WAVERNN_INFER_H

#include "models/wavernn.h"
#include "tensor/rng.h"

typedef struct TtWaveRnnUtterance {
    const float *spec; /* (frames,n_freq); padded inside as infer pads it, with zeros at both ends */
    int64_t frames;    /* at least 1 */
    TtRng rng;         /* one number is drawn for each sample */
    int32_t *classes;  /* (frames * hop_length), written */
} TtWaveRnnUtterance;

typedef struct TtWaveRnnInfer {
    TtParamSet *params; /* allocated and filled; names as tt_wavernn_forward gives them */
    bool bf16;          /* weights of the loop over samples rounded to bfloat16: half the memory to read */
} TtWaveRnnInfer;

/* Draw each sample from softmax(logits), given those before it: class c is fed back as 2 c / (n_classes - 1) - 1 (which
 * is infer's for powers of two, and what training feeds for all), the first step gets 0. Options are checked as
 * tt_wavernn_forward checks them (TT_ECONFIG); no memory is TT_EINTERNAL. */
TtStatus tt_wavernn_generate(const TtWaveRnn *o, const TtWaveRnnInfer *with, const TtWaveRnnUtterance *u,
                             int n) TT_NODISCARD;

#endif
