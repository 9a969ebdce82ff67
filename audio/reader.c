/* SPDX-License-Identifier: Apache-2.0 */
/* audio/reader.c - opening sound of any kind, and what all kinds have in common. */
#include "audio/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audio/reader_impl.h"
#include "tensor/arena.h"
#include "tensor/file.h"

/* STEP: frames asked for at a time while the length is unknown. MOST: floats of a clip in memory, 1 GiB of them. */
enum { HEAD = 1 << 16, STEP = 1 << 16 };
static const int64_t MOST = (int64_t)1 << 28;

/* Leave out ID3v2 tags in front: sound of any format may have one, and a picture in it may be larger than the sound. */
static TtStatus skip_tags(TtAudioReader *r)
{
    for (uint8_t b[10]; r->source.size >= sizeof b;) {
        TT_TRY(tt_source_read(&r->source, b, sizeof b, 0));
        uint64_t n = tt_id3v2_size(b);
        if (n == 0) break;
        if (n > r->source.size) return TT_SOURCE_FAIL(&r->source, 0, "the file is cut inside its ID3 tag");
        r->source = tt_source_part(&r->source, n, r->source.size - n);
    }
    return TT_OK;
}

/* Some programs put an ID3v1 tag behind FLAC, where it would be a damaged frame. */
static TtStatus skip_tail(TtAudioReader *r)
{
    enum { SIZE = 128 };
    uint8_t b[3];
    uint64_t at = r->source.size - SIZE;
    if (r->source.size <= SIZE) return TT_OK;
    TT_TRY(tt_source_read(&r->source, b, sizeof b, at));
    if (memcmp(b, "TAG", 3) == 0) r->source = tt_source_part(&r->source, 0, at);
    return TT_OK;
}

static TtStatus open_source(TtAudioReader *r)
{
    uint8_t *head;
    if (r->source.size == 0) return TT_FAIL(TT_EDATA, "%s: the file is empty", r->name);
    TT_TRY(skip_tags(r));
    size_t n = (size_t)TT_MIN(r->source.size, (uint64_t)HEAD);
    head = tt_realloc(NULL, n + 1);
    TtStatus st = tt_source_read(&r->source, head, n, 0);
    const TtAudioFormat *format = st == TT_OK ? tt_audio_sniff(head, n, r->name) : NULL;
    free(head);
    TT_TRY(st);
    if (!format) return TT_FAIL(TT_EDATA, "%s: unknown format: no sound file by its content", r->name);
    r->info.format = format->name;
    if (strcmp(format->name, "wav") == 0) {
        TT_TRY(tt_wav_open(r));
        if (r->backend) return TT_OK;
    }
    if (strcmp(format->name, "flac") == 0) TT_TRY(skip_tail(r));
    return tt_ffmpeg_open(r, format);
}

static TtStatus open_reader(const TtAudioSource *source, TtAudioReader **out)
{
    TtAudioReader *r = tt_realloc(NULL, sizeof *r);
    *r = (TtAudioReader){.source = *source, .info.frames = -1};
    size_t n = strlen(source->name) + 1;
    r->name = memcpy(tt_realloc(NULL, n), source->name, n);
    r->source.name = r->name;
    TtStatus st = open_source(r);
    if (st != TT_OK) {
        tt_audio_close(r);
        r = NULL;
    }
    *out = r;
    return st;
}

TtStatus tt_audio_open(const char *path, TtAudioReader **out)
{
    TtAudioSource s = {.name = path};
    *out = NULL;
    TT_TRY(tt_file_open(path, &s.fd, &s.size));
    return open_reader(&s, out); /* the descriptor is the reader's now */
}

TtStatus tt_audio_open_memory(const void *bytes, size_t size, const char *name, TtAudioReader **out)
{
    static const uint8_t none[1];
    return open_reader(&(TtAudioSource){.name = name, .bytes = bytes ? bytes : none, .fd = -1, .size = size}, out);
}

TtAudioInfo tt_audio_reader_info(const TtAudioReader *r)
{
    return r->info;
}

void tt_audio_close(TtAudioReader *r)
{
    if (!r) return;
    if (r->backend) r->backend->close(r);
    if (r->source.fd >= 0) close(r->source.fd);
    free(r->name);
    free(r);
}

static TtStatus check_finite(const TtAudioReader *r, const float *plane, int channel, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(plane[i]))
            return TT_FAIL(TT_EDATA, "%s: sample %lld of channel %d is not finite", r->name,
                           (long long)(r->position + i), channel);
    return TT_OK;
}

/* As many frames as there are, at most MAX, into planes STRIDE floats apart. */
static TtStatus fill(TtAudioReader *r, float *out, int64_t stride, int64_t max, int64_t *got)
{
    for (*got = 0; *got < max;) {
        int64_t n;
        TT_TRY(r->backend->read(r, out + *got, stride, max - *got, &n));
        if (n == 0) break;
        for (int c = 0; c < r->info.channels; c++) TT_TRY(check_finite(r, out + c * stride + *got, c, n));
        *got += n;
        r->position += n;
    }
    return TT_OK;
}

/* At most MAX frames into one buffer of that size; fewer only at the end. */
static TtStatus read_piece(TtAudioReader *r, int64_t max, TtAudio *out)
{
    int64_t n;
    TT_TRY(tt_audio_resize(out, r->info.channels, max, 1, false));
    out->sample_rate = r->info.sample_rate;
    TT_TRY(fill(r, out->data, max, max, &n));
    for (int c = 1; n < max && c < out->channels; c++)
        memmove(out->data + c * n, out->data + c * max, (size_t)n * sizeof(float));
    out->frames = n;
    return TT_OK;
}

static TtStatus too_long(const TtAudioReader *r)
{
    return TT_FAIL(TT_EDATA, "%s: more than 2^28 samples in one clip; read it in pieces", r->name);
}

/* Read pieces until the end or MAX, then put them together: no length that the file only claims is allocated. */
static TtStatus read_pieces(TtAudioReader *r, int64_t max, TtAudio *out)
{
    TtAudio *list = NULL;
    int n = 0;
    int64_t frames = 0;
    TtStatus st = TT_OK;
    while (st == TT_OK && frames < max) {
        if (n % 64 == 0) list = tt_realloc(list, sizeof *list * (size_t)(n + 64));
        list[n] = (TtAudio){0};
        st = read_piece(r, TT_MIN(max - frames, (int64_t)STEP), &list[n]);
        int64_t got = list[n++].frames;
        if (st != TT_OK || got == 0) break;
        frames += got;
        if (frames > MOST / r->info.channels) st = too_long(r);
    }
    if (st == TT_OK) st = tt_audio_resize(out, r->info.channels, frames, 1, false);
    out->sample_rate = r->info.sample_rate;
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        for (int c = 0; st == TT_OK && c < list[i].channels; c++)
            memcpy(out->data + c * frames + at, list[i].data + c * list[i].frames,
                   (size_t)list[i].frames * sizeof(float));
        at += list[i].frames;
        tt_audio_free(&list[i]);
    }
    free(list);
    return st;
}

TtStatus tt_audio_read(TtAudioReader *r, int64_t max, TtAudio *out)
{
    TT_ASSERT(max >= 0);
    if (r->frames_exist) {
        max = TT_MIN(max, r->info.frames - r->position);
        if (max > MOST / r->info.channels) return too_long(r);
        return read_piece(r, max, out);
    }
    return max <= STEP ? read_piece(r, max, out) : read_pieces(r, max, out);
}

TtStatus tt_audio_seek(TtAudioReader *r, int64_t frame)
{
    TT_ASSERT(frame >= 0);
    if (r->info.frames >= 0 && frame > r->info.frames)
        return TT_FAIL(TT_EDATA, "%s: frame %lld is beyond the end: there are %lld", r->name, (long long)frame,
                       (long long)r->info.frames);
    TT_TRY(r->backend->seek(r, frame));
    r->position = frame;
    return TT_OK;
}

TtStatus tt_audio_decode(const void *bytes, size_t size, const char *name, TtAudio *out)
{
    TtAudioReader *r;
    TT_TRY(tt_audio_open_memory(bytes, size, name, &r));
    TtStatus st = tt_audio_read(r, INT64_MAX, out);
    tt_audio_close(r);
    return st;
}
