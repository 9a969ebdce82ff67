/* SPDX-License-Identifier: Apache-2.0 */
/* audio/mix.h - two waveforms into one: torchaudio.functional.add_noise and fftconvolve. */
#ifndef TT_AUDIO_MIX_H
#define TT_AUDIO_MIX_H

#include "data/transform.h"

/* What NOISE of N samples must be multiplied with to lie SNR dB below X: sqrt(sum x^2 / sum noise^2) * 10^(-snr / 20); 0
 * where either is silent. */
double tt_snr_gain(const float *x, const float *noise, int64_t n, double snr);

/* Add NOISE, of the same length and with as many channels or one, to each channel at the signal-to-noise ratio SNR (dB):
 * x + noise * sqrt(sum x^2 / sum noise^2) * 10^(-snr / 20). A channel of silent noise (torchaudio: NaN) stays as it is. */
void tt_add_noise(TtAudio *a, const TtAudio *noise, double snr);

typedef enum TtConvolveMode { TT_CONVOLVE_FULL, TT_CONVOLVE_VALID, TT_CONVOLVE_SAME } TtConvolveMode;
#define TT_CONVOLVE_NAMES "full|valid|same"

/* Convolve each channel of X with that of H, blockwise (overlap-add); one channel stands for as many as the other has,
 * other numbers are TT_EDATA. Lengths n and m make n + m - 1 samples, of which VALID keeps the max(n, m) - min(n, m) + 1
 * in the middle and SAME n. Empty input is TT_EDATA. */
TtStatus tt_fft_convolve(const TtAudio *x, const TtAudio *h, TtConvolveMode mode, TtAudio *out,
                         TtTransformScratch *scratch, const char *name) TT_NODISCARD;

#endif
