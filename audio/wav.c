/* SPDX-License-Identifier: Apache-2.0 */
/* audio/wav.c - WAV files: RIFF, RF64 and BW64 around PCM, floats and G.711 (Multimedia Programming Interface and Data
 * Specifications 1.0; EBU Tech 3306; Microsoft's WAVEFORMATEXTENSIBLE). Other codecs in a WAV go to FFmpeg.
 *
 * Writers are careless with sizes, so the rules are: chunks come in any order with pad bytes, the size of the RIFF chunk
 * is not looked at, a data size that only a streaming writer leaves behind means "to the end of the file", and any
 * other size that the file does not hold is damage. */
#include <stdlib.h>
#include <string.h>

#include "audio/reader_impl.h"
#include "tensor/arena.h"

enum { TAG_PCM = 1, TAG_FLOAT = 3, TAG_ALAW = 6, TAG_MULAW = 7, TAG_EXTENSIBLE = 0xFFFE };
/* What streaming writers leave in the size of the data chunk: 0, or some large number near 2^31 or 2^32. */
static const uint64_t STREAMED = 0x7FFFF000, STREAMED_64 = (uint64_t)1 << 63;
enum { BUFFER = 1 << 16, MOST_CHUNKS = 1 << 16 };

typedef enum Coding { U8, S16, S24, S32, F32, F64, G711, CODINGS } Coding;

typedef struct Fmt {
    bool seen;
    unsigned tag, channels, rate, align, bits;
} Fmt;

typedef struct Wav {
    uint64_t data; /* where the samples begin */
    Coding coding;
    float g711[256];
    size_t buffer_size; /* at least one frame */
    uint8_t buffer[];
} Wav;

static const int bytes_of[CODINGS] = {1, 2, 3, 4, 4, 8, 1};

/* ------------------------------------------------------------------ samples */

/* ITU-T G.711: eight bits that hold a sign, three bits of exponent and four of mantissa. The standard's values are 13
 * and 14 bits wide; as usual they are shifted up to 16 bits. */
static int alaw(int code)
{
    code ^= 0x55;
    int exponent = code >> 4 & 7, v = (code & 15) << 4 | 8;
    if (exponent > 0) v = (v | 0x100) << (exponent - 1);
    return code & 0x80 ? v : -v;
}

static int mulaw(int code)
{
    code ^= 0xFF;
    int v = (((code & 15) << 3 | 0x84) << (code >> 4 & 7)) - 0x84;
    return code & 0x80 ? -v : v;
}

/* N samples of one channel, the first at P, STEP bytes apart. */
static void convert(const Wav *w, const uint8_t *p, size_t step, int64_t n, float *out)
{
    switch (w->coding) {
    case U8:
        for (int64_t i = 0; i < n; i++, p += step) out[i] = (float)(*p - 128) / 128.0F;
        break;
    case S16:
        for (int64_t i = 0; i < n; i++, p += step) out[i] = (float)(int16_t)tt_le16(p) / 32768.0F;
        break;
    case S24:
        for (int64_t i = 0; i < n; i++, p += step)
            out[i] = (float)((int32_t)((uint32_t)p[2] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 8) / 256) /
                     8388608.0F;
        break;
    case S32:
        for (int64_t i = 0; i < n; i++, p += step) out[i] = (float)(int32_t)tt_le32(p) / 2147483648.0F;
        break;
    case F32:
        for (int64_t i = 0; i < n; i++, p += step) memcpy(out + i, &(uint32_t){tt_le32(p)}, sizeof *out);
        break;
    case F64:
        for (int64_t i = 0; i < n; i++, p += step) {
            double v;
            memcpy(&v, &(uint64_t){tt_le64(p)}, sizeof v);
            out[i] = (float)v; /* beyond float32's range: infinite, and refused like any infinity */
        }
        break;
    case G711:
        for (int64_t i = 0; i < n; i++, p += step) out[i] = w->g711[*p];
        break;
    case CODINGS: break;
    }
}

static TtStatus wav_read(TtAudioReader *r, float *out, int64_t stride, int64_t max, int64_t *n)
{
    Wav *w = r->state;
    size_t sample = (size_t)bytes_of[w->coding], frame = sample * (size_t)r->info.channels;
    for (*n = 0; *n < max;) {
        int64_t left = TT_MIN(max - *n, r->info.frames - r->position - *n);
        int64_t now = TT_MIN(left, (int64_t)(w->buffer_size / frame));
        if (now == 0) break;
        TT_TRY(
            tt_source_read(&r->source, w->buffer, (size_t)now * frame, w->data + (uint64_t)(r->position + *n) * frame));
        for (int c = 0; c < r->info.channels; c++)
            convert(w, w->buffer + (size_t)c * sample, frame, now, out + c * stride + *n);
        *n += now;
    }
    return TT_OK;
}

static TtStatus wav_seek(TtAudioReader *r, int64_t frame)
{
    return TT_OK; /* reading starts at r->position */
}

static void wav_close(TtAudioReader *r)
{
    free(r->state);
}

static const TtAudioBackend backend = {wav_read, wav_seek, wav_close};

/* ------------------------------------------------------------------ chunks */

/* The last 14 bytes of the sub-formats that stand for a plain format tag: KSDATAFORMAT_SUBTYPE_*, and ambisonic B. */
static bool plain_subformat(const uint8_t *guid)
{
    return memcmp(guid + 2, "\0\0\0\0\x10\0\x80\0\0\xAA\0\x38\x9B\x71", 14) == 0 ||
           memcmp(guid + 2, "\0\0\x21\x07\xD3\x11\x86\x44\xC8\xC1\xCA\0\0\0", 14) == 0;
}

static TtStatus read_fmt(TtAudioReader *r, uint64_t at, uint64_t size, Fmt *f)
{
    uint8_t b[40];
    size_t n = (size_t)TT_MIN(size, (uint64_t)sizeof b);
    if (f->seen) return TT_SOURCE_FAIL(&r->source, at, "a second fmt chunk");
    if (n < 16) return TT_SOURCE_FAIL(&r->source, at, "the fmt chunk has %zu bytes, at least 16 are needed", n);
    TT_TRY(tt_source_read(&r->source, b, n, at));
    *f = (Fmt){true, tt_le16(b), tt_le16(b + 2), tt_le32(b + 4), tt_le16(b + 12), tt_le16(b + 14)};
    if (f->tag == TAG_EXTENSIBLE) {
        if (n < 40) return TT_SOURCE_FAIL(&r->source, at, "an extensible fmt chunk of %zu bytes, 40 are needed", n);
        if (!plain_subformat(b + 24)) return TT_SOURCE_FAIL(&r->source, at + 24, "an unknown sub-format");
        f->tag = tt_le16(b + 24); /* fewer valid bits than the container has are left-justified: nothing to do */
    }
    if (f->channels == 0) return TT_SOURCE_FAIL(&r->source, at + 2, "no channels");
    if (f->rate == 0 || f->rate > INT32_MAX)
        return TT_SOURCE_FAIL(&r->source, at + 4, "a sample rate of %u Hz", f->rate);
    return TT_OK;
}

/* Where the data chunk's content ends. */
static TtStatus data_end(TtAudioReader *r, uint64_t at, uint64_t size, uint64_t streamed, uint64_t *end)
{
    uint64_t left = r->source.size - at;
    if (size > left && size < streamed)
        return TT_SOURCE_FAIL(&r->source, r->source.size, "the file is cut: %llu of %llu bytes of samples are there",
                              (unsigned long long)left, (unsigned long long)size);
    *end = size == 0 || size > left ? r->source.size : at + size;
    return TT_OK;
}

/* RF64: sizes of 64 bits, in the ds64 chunk that comes first: of RIFF, of data, ... */
static TtStatus read_ds64(TtAudioReader *r, uint64_t at, uint64_t *data_size)
{
    uint8_t b[8 + 8 + 16];
    if (r->source.size - at < sizeof b) return TT_SOURCE_FAIL(&r->source, at, "the file is cut inside its header");
    TT_TRY(tt_source_read(&r->source, b, sizeof b, at));
    if (memcmp(b, "ds64", 4) != 0 || tt_le32(b + 4) < 24)
        return TT_SOURCE_FAIL(&r->source, at, "an RF64 file must begin with a ds64 chunk");
    *data_size = tt_le64(b + 16);
    return TT_OK;
}

/* Go through all chunks; *DATA is where samples begin, 0 when there are none, and *END where they end. */
static TtStatus read_chunks(TtAudioReader *r, Fmt *f, uint64_t *data, uint64_t *end)
{
    uint8_t head[12], b[8];
    uint64_t at = sizeof head, size64 = 0;
    *data = 0;
    TT_TRY(tt_source_read(&r->source, head, sizeof head, 0));
    bool is_64 = memcmp(head, "RIFF", 4) != 0;
    if (is_64) TT_TRY(read_ds64(r, at, &size64));
    for (int i = 0; r->source.size - at >= sizeof b; i++) {
        TT_TRY(tt_source_read(&r->source, b, sizeof b, at));
        uint64_t size = tt_le32(b + 4);
        at += sizeof b;
        if (i == MOST_CHUNKS) return TT_SOURCE_FAIL(&r->source, at, "more than %d chunks", MOST_CHUNKS);
        if (memcmp(b, "data", 4) == 0) {
            if (*data) return TT_SOURCE_FAIL(&r->source, at, "a second data chunk");
            if (is_64) size = size64;
            *data = at;
            if (size == 0 && !f->seen)
                *end = at; /* the format is still to come, so these are no samples to the end of the file */
            else
                TT_TRY(data_end(r, at, size, is_64 ? STREAMED_64 : STREAMED, end));
            at = *end;
            size = at - *data;
        } else if (size > r->source.size - at) {
            break; /* a cut chunk; it matters only when what is needed has not been seen */
        } else {
            if (memcmp(b, "fmt ", 4) == 0) TT_TRY(read_fmt(r, at, size, f));
            at += size;
        }
        if (size % 2 == 1 && at < r->source.size) at++;
    }
    if (!f->seen) return TT_SOURCE_FAIL(&r->source, at, "there is no fmt chunk");
    if (!*data) return TT_SOURCE_FAIL(&r->source, at, "there is no data chunk (cut, or still being written)");
    return TT_OK;
}

/* Our own codings; false for those of other decoders. */
static bool find_coding(const Fmt *f, Coding *c)
{
    static const Coding pcm[] = {U8, S16, S24, S32};
    if (f->tag == TAG_PCM && f->bits >= 1 && f->bits <= 32) {
        *c = pcm[(f->bits - 1) / 8];
        return true;
    }
    if (f->tag == TAG_FLOAT && (f->bits == 32 || f->bits == 64)) {
        *c = f->bits == 32 ? F32 : F64;
        return true;
    }
    *c = G711;
    return (f->tag == TAG_ALAW || f->tag == TAG_MULAW) && f->bits == 8;
}

static const char *codec_name(const Fmt *f, Coding c)
{
    static const char *const names[] = {"pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le"};
    if (c != G711) return names[c];
    return f->tag == TAG_ALAW ? "pcm_alaw" : "pcm_mulaw";
}

/* The bytes of a frame follow from channels and bits. A block alignment that says something else is careless; but one
 * that gives each sample more bytes may be meant, and then nothing tells which of them hold the sample. */
static TtStatus check_align(const TtAudioReader *r, const Fmt *f, unsigned frame)
{
    if (f->align == frame) return TT_OK;
    if (f->align > frame && f->align % f->channels == 0)
        return TT_FAIL(TT_EDATA,
                       "%s: frames of %u bytes for %u channels of %u bits; write it anew with another program", r->name,
                       f->align, f->channels, f->bits);
    tt_warn("%s: a block alignment of %u for %u channels of %u bits makes no sense and is ignored", r->name, f->align,
            f->channels, f->bits);
    return TT_OK;
}

TtStatus tt_wav_open(TtAudioReader *r)
{
    Fmt f = {0};
    uint64_t data, end = 0;
    Coding coding;
    TT_TRY(read_chunks(r, &f, &data, &end));
    if (f.tag == TAG_PCM || f.tag == TAG_FLOAT || f.tag == TAG_ALAW || f.tag == TAG_MULAW) {
        if (!find_coding(&f, &coding))
            return TT_FAIL(TT_EDATA, "%s: %u bits a sample in format %u", r->name, f.bits, f.tag);
    } else {
        return TT_OK; /* FFmpeg may know it */
    }
    unsigned frame = f.channels * (unsigned)bytes_of[coding];
    TT_TRY(check_align(r, &f, frame));
    size_t buffer = TT_MAX((size_t)BUFFER, (size_t)frame);
    Wav *w = tt_realloc(NULL, sizeof *w + buffer);
    w->buffer_size = buffer;
    w->data = data;
    w->coding = coding;
    for (int i = 0; i < 256; i++) w->g711[i] = (float)(f.tag == TAG_ALAW ? alaw(i) : mulaw(i)) / 32768.0F;
    r->state = w;
    r->backend = &backend;
    r->info.channels = (int)f.channels;
    r->info.sample_rate = (int)f.rate;
    r->info.frames = (int64_t)((end - data) / frame); /* an incomplete last frame is dropped */
    r->info.codec = codec_name(&f, coding);
    r->frames_exist = true;
    return TT_OK;
}
