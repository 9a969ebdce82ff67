/* SPDX-License-Identifier: Apache-2.0 */
/* audio/filter.h - recursive filters of second order, as torchaudio.functional.biquad. */
#ifndef TT_AUDIO_FILTER_H
#define TT_AUDIO_FILTER_H

#include "audio/audio.h"

/* a0 y[i] = b0 x[i] + b1 x[i-1] + b2 x[i-2] - a1 y[i-1] - a2 y[i-2]. */
typedef struct TtBiquad {
    double b0, b1, b2, a0, a1, a2;
} TtBiquad;

/* R. Bristow-Johnson's audio EQ cookbook: high-pass and high-shelf (GAIN in dB). */
TtBiquad tt_biquad_highpass(double sample_rate, double cutoff, double q);
TtBiquad tt_biquad_treble(double sample_rate, double gain, double centre, double q);
/* In place over each channel of a waveform, computed in double; the output is limited to [-1, 1], as lfilter's. */
void tt_biquad(const TtBiquad *f, TtAudio *a);

/* ITU-R BS.1770-4 in LKFS: K-weighting, blocks of 0.4 s that overlap by three quarters, gates at -70 LKFS and 10 below
 * the mean. Changes the waveform. At most 5 channels, in the order L R C Ls Rs. TT_EDATA when it is shorter than a
 * block. */
TtStatus tt_loudness(TtAudio *a, int64_t sample_rate, const char *name, double *lkfs) TT_NODISCARD;

#endif
