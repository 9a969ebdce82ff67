/* SPDX-License-Identifier: Apache-2.0 */
/* audio/reader_impl.h - what the sound reader's own files share. */
#ifndef TT_AUDIO_READER_IMPL_H
#define TT_AUDIO_READER_IMPL_H

#include "audio/reader.h"
#include "audio/source.h"

/* One way to decode. What open() has set in the reader's STATE when it fails is given to close() too. */
typedef struct TtAudioBackend {
    /* Put the next frames, at most MAX, into channel planes at OUT, STRIDE floats apart; *N is 0 only at the end. */
    TtStatus (*read)(TtAudioReader *r, float *out, int64_t stride, int64_t max, int64_t *n);
    TtStatus (*seek)(TtAudioReader *r, int64_t frame); /* at most info.frames where that is known */
    void (*close)(TtAudioReader *r);
} TtAudioBackend;

struct TtAudioReader {
    char *name;
    TtAudioSource source; /* tags around the sound are taken off */
    TtAudioInfo info;
    int64_t position;  /* of the next frame */
    bool frames_exist; /* info.frames is bounded by the file's size: a buffer for all of it may be allocated */
    const TtAudioBackend *backend;
    void *state;
};

/* A format that we know: what it is called here, and the name of FFmpeg's reader of it. */
typedef struct TtAudioFormat {
    const char *name, *demuxer;
} TtAudioFormat;
/* By the bytes that the sound begins with; raw formats by the extension of NAME. NULL: unknown. */
const TtAudioFormat *tt_audio_sniff(const uint8_t *bytes, size_t size, const char *name);
/* Length of the ID3v2 tag that these 10 bytes begin; 0: none. */
uint64_t tt_id3v2_size(const uint8_t bytes[10]);

/* Set r->backend, state and info. tt_wav_open leaves the backend NULL when the samples need another decoder. */
TtStatus tt_wav_open(TtAudioReader *r) TT_NODISCARD;
TtStatus tt_ffmpeg_open(TtAudioReader *r, const TtAudioFormat *format) TT_NODISCARD;

/* Containers whose damage FFmpeg passes over are gone through before it sees them. */

/* A frame header of MPEG audio (ISO/IEC 11172-3, 2.4.1.3 and 13818-3) or ADTS (14496-3, 1.A.2.2). */
enum { TT_MPEG_HEADER = 7 }; /* bytes that are looked at */
typedef struct TtMpegFrame {
    size_t size;   /* bytes, header included */
    int samples;   /* of each channel */
    int side_info; /* Layer III: bytes between the header and the main data, a checksum not counted */
} TtMpegFrame;
bool tt_mpeg_header(const uint8_t p[TT_MPEG_HEADER], TtMpegFrame *out);
bool tt_adts_header(const uint8_t p[TT_MPEG_HEADER], TtMpegFrame *out);

/* Frames lie side by side to the end; MPEG audio has as many as its Xing header says, with the checksum that LAME's tag
 * has. Takes zeros in front and tags behind off the source. *FRAMES: samples of a channel, the delay and padding of
 * LAME's tag taken off. */
TtStatus tt_mpeg_check(TtAudioSource *s, bool adts, int64_t *frames) TT_NODISCARD;

/* Ogg: every page is there, in order, with the right checksum, to the one that ends its stream. */
typedef struct TtOggLink {
    uint64_t offset, size; /* its pages */
    int64_t granule;       /* the first audio stream's last granule position */
    bool one_page;         /* all of its sound is in one page */
} TtOggLink;
/* *LINKS to be freed with free(). */
TtStatus tt_ogg_check(const TtAudioSource *s, TtOggLink **links, int *n) TT_NODISCARD;

/* Containers made of boxes with sizes: what they say is there is there. */
TtStatus tt_boxes_check(const TtAudioSource *s, const char *format) TT_NODISCARD;

#endif
