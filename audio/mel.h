/* SPDX-License-Identifier: Apache-2.0 */
/* audio/mel.h - filter banks and the cosine transform: torchaudio.functional.melscale_fbanks, linear_fbanks and
 * create_dct, as banded matrices. */
#ifndef TT_AUDIO_MEL_H
#define TT_AUDIO_MEL_H

#include "audio/loops.h"
#include "tensor/arena.h"

typedef enum TtMelScale { TT_MEL_HTK, TT_MEL_SLANEY } TtMelScale;

/* Triangles over n_freqs bins from 0 to sample_rate / 2, peaks evenly spaced in mel (htk: 2595 log10(1 + f/700); slaney:
 * linear to 1 kHz, then log) between f_min and f_max (Hz). NORM: each divided by half its width (slaney's norm).
 * Computed in float32 step by step as torchaudio does. EMPTY, if not NULL, gets how many filters cover no bin at all. */
void tt_mel_bank(TtBands *b, int n_freqs, double f_min, double f_max, int n_mels, int64_t sample_rate, bool norm,
                 TtMelScale scale, int *empty, TtArena *arena);
/* The same with peaks evenly spaced in Hz. */
void tt_linear_bank(TtBands *b, int n_freqs, double f_min, double f_max, int n_filter, int64_t sample_rate,
                    TtArena *arena);
/* DCT-II of n_in values, the first n_out: ORTHO normalised, or times 2. */
void tt_dct_matrix(TtBands *b, int n_in, int n_out, bool ortho, TtArena *arena);
/* From a dense matrix (n_in, n_out). */
void tt_bands_pack(TtBands *b, const float *dense, int n_in, int n_out, TtArena *arena);
double tt_hz_to_mel(double f, TtMelScale scale);

#endif
