/* SPDX-License-Identifier: Apache-2.0 */
/* audio/wav_write.c - writing WAV files. */
#include <math.h>
#include <string.h>

#include "audio/reader.h"
#include "tensor/arena.h"
#include "tensor/fs.h"

enum { HEADER = 44, PIECE = 4096 };

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v), put16(p + 2, v >> 16);
}

/* The whole range of 16 bits is [-1, 1 - 2^-15]; the nearest integer, ties to even. */
static void put_sample(uint8_t *p, float v, bool float32)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (float32)
        put32(p, bits);
    else
        put16(p, (uint32_t)lrintf(fminf(fmaxf(v * 32768.0F, -32768.0F), 32767.0F)));
}

static TtStatus put_frames(TtFsWriter *w, const TtAudio *a, bool float32)
{
    size_t sample = float32 ? 4 : 2, n = 0;
    uint8_t buffer[PIECE * 4];
    for (int64_t i = 0; i < a->frames; i++)
        for (int c = 0; c < a->channels; c++) {
            put_sample(buffer + n, a->data[c * a->frames + i], float32);
            n += sample;
            if (n < sizeof buffer) continue;
            TT_TRY(tt_fs_put(w, buffer, n));
            n = 0;
        }
    return tt_fs_put(w, buffer, n);
}

TtStatus tt_wav_write(const char *path, const TtAudio *a, bool float32)
{
    return tt_wav_write_as(path, a, float32, TT_FS_ATOMIC);
}

TtStatus tt_wav_write_as(const char *path, const TtAudio *a, bool float32, TtFsMode mode)
{
    TT_ASSERT(a->bins == 1 && !a->is_complex && a->channels > 0 && a->channels < 65536 / 4);
    uint32_t sample = float32 ? 4 : 2, frame = sample * (uint32_t)a->channels;
    if (a->frames > (0x7FFFF000 - HEADER) / frame)
        return TT_FAIL(TT_EINTERNAL, "%s: %lld frames of %d channels are more than a WAV file can hold", path,
                       (long long)a->frames, a->channels);
    uint32_t size = (uint32_t)a->frames * frame;
    uint8_t h[HEADER] = "RIFF....WAVEfmt ....................data";
    put32(h + 4, HEADER - 8 + size);
    put32(h + 16, 16);
    put16(h + 20, float32 ? 3 : 1);
    put16(h + 22, (uint32_t)a->channels);
    put32(h + 24, (uint32_t)a->sample_rate);
    put32(h + 28, (uint32_t)a->sample_rate * frame);
    put16(h + 32, frame);
    put16(h + 34, sample * 8);
    put32(h + 40, size);
    TtFsWriter w;
    TT_TRY(tt_fs_open(&w, path, mode));
    TtStatus st = tt_fs_put(&w, h, sizeof h);
    if (st == TT_OK) st = put_frames(&w, a, float32);
    if (st == TT_OK) return tt_fs_commit(&w);
    tt_fs_discard(&w);
    return st;
}
