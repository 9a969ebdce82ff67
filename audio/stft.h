/* SPDX-License-Identifier: Apache-2.0 */
/* audio/stft.h - short-time Fourier transforms of clips and their inverse: torch.stft and torch.istft as
 * torchaudio.functional.spectrogram and inverse_spectrogram call them.
 *
 * A clip (C, time, 1) becomes (C, frames, bins); frame t begins at t * hop of the padded waveform. Frames are worked on
 * some at a time, so that spectrum, power and the product with a filter bank stay in the cache. */
#ifndef TT_AUDIO_STFT_H
#define TT_AUDIO_STFT_H

#include "audio/loops.h"
#include "audio/window.h"
#include "data/transform.h"
#include "tensor/fft.h"

typedef enum TtPadMode { TT_PAD_REFLECT, TT_PAD_CONSTANT, TT_PAD_REPLICATE, TT_PAD_CIRCULAR } TtPadMode;
#define TT_PAD_MODE_NAMES "reflect|constant|replicate|circular"

typedef enum TtStftNorm { TT_STFT_PLAIN, TT_STFT_BY_WINDOW, TT_STFT_BY_LENGTH } TtStftNorm;

/* Immutable; used by many threads at a time. */
typedef struct TtAudioStft {
    int n_fft, hop;
    int64_t pad;        /* zeros on both sides, before anything else */
    TtPadMode pad_mode; /* of the n_fft / 2 samples on both sides when centred */
    bool center, onesided;
    float scale;   /* of the spectrum: 1, 1/sqrt(sum of window^2) or 1/sqrt(n_fft) */
    float *window; /* (n_fft): the window of win_length in the middle, zeros around it */
    const TtFft *fft;
} TtAudioStft;

/* Fill in SCALE, WINDOW and FFT; the rest of S is set by the caller. WINDOW has WIN_LENGTH <= n_fft values. */
TtStatus tt_audio_stft_init(TtAudioStft *s, const float *window, int win_length, TtStftNorm norm,
                            TtArena *arena) TT_NODISCARD;
int tt_audio_stft_bins(const TtAudioStft *s);                        /* n_fft / 2 + 1, or n_fft when not one-sided */
int64_t tt_audio_stft_frames(const TtAudioStft *s, int64_t samples); /* 0 when there are too few */

/* What becomes of the spectrum X: |X|^power, or X itself as a complex clip when POWER is NaN; then the product with
 * BANDS (NULL: none; it has tt_audio_stft_bins() inputs). IN must be a waveform (else TT_ECONFIG, in the words of the
 * transform WHO); too short a clip is TT_EDATA naming NAME: where torch refuses to pad or to cut frames. */
TtStatus tt_audio_stft(const TtAudioStft *s, double power, const TtBands *bands, const TtAudio *in, TtAudio *out,
                       TtTransformScratch *scratch, const char *who, const char *name) TT_NODISCARD;

/* The least-squares inverse (torch.istft) of a complex clip: frames are windowed, overlapped, added and divided by the
 * windows' squares. LENGTH: samples that come out, without PAD (which is cut off on both sides only when LENGTH is
 * given, as in torchaudio); TT_NULL_INT for what the frames say. A window that leaves samples uncovered is TT_EDATA. */
TtStatus tt_audio_istft(const TtAudioStft *s, int64_t length, const TtAudio *in, TtAudio *out,
                        TtTransformScratch *scratch, const char *who, const char *name) TT_NODISCARD;

#endif
