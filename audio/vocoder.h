/* SPDX-License-Identifier: Apache-2.0 */
/* audio/vocoder.h - the phase vocoder: a complex spectrogram stretched in time (torchaudio.functional.phase_vocoder;
 * Flanagan and Golden 1966). */
#ifndef TT_AUDIO_VOCODER_H
#define TT_AUDIO_VOCODER_H

#include "data/transform.h"

/* RATE above 1 is faster: ceil(frames / rate) frames come out. HOP: samples from frame to frame, with
 * n_fft = 2 * (bins - 1). Phases are added up in double. */
TtStatus tt_phase_vocoder(const TtAudio *in, double rate, int64_t hop, TtAudio *out, TtTransformScratch *scratch,
                          const char *who, const char *name) TT_NODISCARD;

#endif
