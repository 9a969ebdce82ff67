/* SPDX-License-Identifier: Apache-2.0 */
/* audio/reader.h - sound files: WAV by our own reader, everything else through FFmpeg's libraries.
 *
 * The content decides what a file is, not its name (but raw G.722 has no signature: there the extension does).
 * Samples are float32; integers are divided by 2^(bits-1). docs/readers.md has the rules. FFmpeg's libraries are loaded
 * when the first file needs them, so that a job without such files neither needs them nor waits for them.
 * Damaged data is TT_EDATA naming file and byte, never a shorter clip. */
#ifndef TT_AUDIO_READER_H
#define TT_AUDIO_READER_H

#include "audio/audio.h"
#include "tensor/fs.h"

/* What the message of a whole file without any sound ends with; readers fail on one, and so does tt_sound_read. */
#define TT_AUDIO_EMPTY "there are no samples in this file"

typedef struct TtAudioReader TtAudioReader;

typedef struct TtAudioInfo {
    int channels;
    int sample_rate;
    int64_t frames;     /* exact, delay and padding taken off; -1 when only decoding would tell */
    const char *format; /* "wav", "flac", "ogg", ... */
    const char *codec;  /* "pcm_s16le", "vorbis", ... */
} TtAudioInfo;

/* What the first bytes say: "wav" or another container's short name, or NULL when it is no sound file that we know. */
const char *tt_audio_format(const uint8_t *bytes, size_t size, const char *name);

/* Open a file, or bytes in memory that must outlive the reader. NAME is used in messages. A file is read piece by
 * piece: memory does not grow with its length. */
TtStatus tt_audio_open(const char *path, TtAudioReader **out) TT_NODISCARD;
TtStatus tt_audio_open_memory(const void *bytes, size_t size, const char *name, TtAudioReader **out) TT_NODISCARD;
TtAudioInfo tt_audio_reader_info(const TtAudioReader *r);
/* The next frames, at most MAX, put into OUT (channels, n, 1); n == 0 at the end. */
TtStatus tt_audio_read(TtAudioReader *r, int64_t max, TtAudio *out) TT_NODISCARD;
/* Go on at this frame, exactly: what follows is what reading from the start would have given. Beyond the end is TT_EDATA. */
TtStatus tt_audio_seek(TtAudioReader *r, int64_t frame) TT_NODISCARD;
void tt_audio_close(TtAudioReader *r); /* NULL is fine */

/* All of a file in memory. */
TtStatus tt_audio_decode(const void *bytes, size_t size, const char *name, TtAudio *out) TT_NODISCARD;

/* A WAV file: 16-bit PCM (values are clipped to [-1, 1]) or float32; atomic (written aside, renamed). */
TtStatus tt_wav_write(const char *path, const TtAudio *a, bool float32) TT_NODISCARD;
TtStatus tt_wav_write_as(const char *path, const TtAudio *a, bool float32, TtFsMode mode) TT_NODISCARD;

#endif
