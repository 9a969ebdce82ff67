/* SPDX-License-Identifier: Apache-2.0 */
/* audio/audio.h - sound in memory: waveforms, and the features that transforms make of them. */
#ifndef TT_AUDIO_AUDIO_H
#define TT_AUDIO_AUDIO_H

#include "tensor/types.h"

/* A clip: float32 (channels, frames, bins), contiguous. A waveform has bins == 1, so that channel c is the plane at
 * data + c * frames; a spectrogram has one row of bins a frame. That is torchaudio's (channel, freq, time) with the last
 * two axes exchanged: sequences are (T,C) everywhere here. A complex clip holds (re, im) pairs, 2 * bins floats a frame.
 * It owns its buffer, which is reused by what is put into it next. Zero-initialise, free once. */
typedef struct TtAudio {
    int channels;
    int64_t frames;
    int bins;
    bool is_complex;
    int sample_rate; /* Hz, of the waveform it came from */
    float *data;
    size_t capacity; /* floats behind data */
} TtAudio;

/* Set the shape and make room; the content is undefined. TT_EINTERNAL when there is no memory. */
TtStatus tt_audio_resize(TtAudio *a, int channels, int64_t frames, int bins, bool is_complex) TT_NODISCARD;
size_t tt_audio_floats(const TtAudio *a);
/* The transform WHO takes waveforms only, or real spectrograms only: else TT_ECONFIG says so, with the sample's NAME. */
TtStatus tt_audio_check_wave(const TtAudio *a, const char *who, const char *name) TT_NODISCARD;
TtStatus tt_audio_check_real(const TtAudio *a, const char *who, const char *name) TT_NODISCARD;
void tt_audio_swap(TtAudio *a, TtAudio *b);
void tt_audio_free(TtAudio *a);

#endif
