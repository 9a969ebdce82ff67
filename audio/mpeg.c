/* SPDX-License-Identifier: Apache-2.0 */
/* audio/mpeg.c - MPEG audio and ADTS as chains of frames.
 *
 * A decoder of such a stream looks for the next header whatever lies between, so that a lost frame is a shorter clip
 * and nobody notices. Here the chain must be whole: each frame ends where the next begins, up to the end of the file.
 * Most MP3 files say more: the Xing header counts the frames, and LAME's extension of it has the encoder's delay and
 * padding and a checksum of all frames (Mp3 Info Tag rev. 1). */
#include <stdlib.h>
#include <string.h>

#include "audio/reader_impl.h"
#include "tensor/arena.h"

/* ------------------------------------------------------------------ headers */

bool tt_mpeg_header(const uint8_t p[TT_MPEG_HEADER], TtMpegFrame *out)
{
    /* kbit/s; [version 1 or 2][layer - 1][index] */
    static const uint16_t rates[2][3][15] = {{{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
                                              {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
                                              {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}},
                                             {{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
                                              {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
                                              {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}}};
    static const int hertz[3] = {44100, 48000, 32000};
    int version = p[1] >> 3 & 3, layer_bits = p[1] >> 1 & 3, rate = p[2] >> 4, frequency = p[2] >> 2 & 3;
    if (p[0] != 0xFF || p[1] < 0xE0 || version == 1 || layer_bits == 0 || rate == 0 || rate == 15 || frequency == 3)
        return false; /* rate 0, "free format", has frames of unknown length */
    int layer = 4 - layer_bits, lsf = version != 3, padding = p[2] >> 1 & 1, mono = p[3] >> 6 == 3;
    int bits = rates[lsf][layer - 1][rate] * 1000, hz = hertz[frequency] >> (version == 3 ? 0 : version == 2 ? 1 : 2);
    out->samples = layer == 1 ? 384 : layer == 3 && lsf ? 576 : 1152;
    out->size = layer == 1 ? (size_t)(12 * bits / hz + padding) * 4 : (size_t)(out->samples / 8 * bits / hz + padding);
    out->side_info = lsf ? (mono ? 9 : 17) : (mono ? 17 : 32);
    return true;
}

bool tt_adts_header(const uint8_t p[TT_MPEG_HEADER], TtMpegFrame *out)
{
    if (p[0] != 0xFF || (p[1] & 0xF6) != 0xF0 || (p[2] >> 2 & 15) > 12) return false;
    *out = (TtMpegFrame){.size = (size_t)(p[3] & 3) << 11 | (size_t)p[4] << 3 | p[5] >> 5,
                         .samples = 1024 * ((p[6] & 3) + 1)};
    return out->size >= (p[1] & 1 ? 7 : 9);
}

/* ------------------------------------------------------------------ the Xing header */

typedef struct Xing {
    bool present, has_frames, has_bytes, has_lame;
    uint32_t frames, bytes;
    int delay, padding;
    bool has_crc;
    uint32_t music_length;
    uint16_t music_crc;
} Xing;

/* CRC-16 with x^16 + x^15 + x^2 + 1, bits in order of rising weight, as LAME's tag has it. */
static uint16_t crc16(uint16_t crc, const uint8_t *p, size_t n)
{
    static const uint16_t nibble[16] = {0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401,
                                        0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400};
    for (size_t i = 0; i < n; i++) {
        crc = (uint16_t)(crc >> 4 ^ nibble[(crc ^ p[i]) & 15]);
        crc = (uint16_t)(crc >> 4 ^ nibble[(crc ^ p[i] >> 4) & 15]);
    }
    return crc;
}

/* The first frame of N bytes. The fields that are there follow one another; LAME's 36 bytes come last. */
static Xing parse_xing(const uint8_t *p, const TtMpegFrame *f)
{
    Xing x = {0};
    size_t at = 4 + (size_t)f->side_info;
    if ((p[1] >> 1 & 3) != 1 || f->size < at + 8) return x; /* Layer III only */
    /* Fraunhofer's header: at a fixed place, with no delay that readers agree on; the frame holds no sound either */
    x.present = f->size >= 40 && memcmp(p + 36, "VBRI", 4) == 0;
    if (memcmp(p + at, "Xing", 4) != 0 && memcmp(p + at, "Info", 4) != 0) return x;
    uint32_t flags = tt_be32(p + at + 4);
    size_t sizes[4] = {4, 4, 100, 4};
    x.present = true;
    at += 8;
    for (int i = 0; i < 4; i++) {
        if (!(flags >> i & 1)) continue;
        if (f->size - at < sizes[i]) return x;
        if (i == 0) x.has_frames = true, x.frames = tt_be32(p + at);
        if (i == 1) x.has_bytes = true, x.bytes = tt_be32(p + at);
        at += sizes[i];
    }
    if (f->size - at < 36) return x;
    const uint8_t *l = p + at;
    x.has_lame = memcmp(l, "LAME", 4) == 0 || memcmp(l, "Lavf", 4) == 0 || memcmp(l, "Lavc", 4) == 0;
    if (!x.has_lame) return x;
    x.delay = l[21] << 4 | l[22] >> 4;
    x.padding = (l[22] & 15) << 8 | l[23];
    x.music_length = tt_be32(l + 28);
    x.music_crc = (uint16_t)(l[32] << 8 | l[33]);
    x.has_crc = crc16(0, p, at + 34) == (l[34] << 8 | l[35]);
    return x;
}

/* ------------------------------------------------------------------ the chain */

typedef struct Chain {
    TtAudioSource *source;
    TtAudioWindow window;
    bool adts;
    uint8_t first[TT_MPEG_HEADER]; /* all frames are of this kind */
    uint64_t at;
    int64_t frames, samples; /* without the frame that holds the Xing header */
    uint16_t crc;            /* of these frames */
    Xing xing;
} Chain;

static bool is_zero(const uint8_t *p, size_t n)
{
    while (n > 0 && *p == 0) p++, n--;
    return n == 0;
}

/* Whether everything from OFFSET on is zero. */
static TtStatus zeros_follow(Chain *c, uint64_t offset, bool *yes)
{
    const uint8_t *p;
    for (*yes = true; *yes && offset < c->source->size;) {
        size_t n = (size_t)TT_MIN(c->source->size - offset, (uint64_t)sizeof c->window.bytes);
        TT_TRY(tt_window_get(&c->window, offset, n, &p));
        *yes = is_zero(p, n);
        offset += n;
    }
    return TT_OK;
}

/* Tags that stand behind the last frame: ID3v1 in the last 128 bytes, APEv2 with a header, Lyrics3. */
static TtStatus is_tail(Chain *c, bool *yes)
{
    const uint8_t *p;
    uint64_t left = c->source->size - c->at;
    TT_TRY(zeros_follow(c, c->at, yes));
    if (*yes) return TT_OK;
    TT_TRY(tt_window_get(&c->window, c->at, (size_t)TT_MIN(left, (uint64_t)32), &p));
    *yes = (left == 128 && memcmp(p, "TAG", 3) == 0) || (left >= 32 && memcmp(p, "APETAGEX", 8) == 0) ||
           (left >= 11 && memcmp(p, "LYRICSBEGIN", 11) == 0) || (left >= 227 && memcmp(p, "TAG+", 4) == 0);
    return TT_OK;
}

static bool same_kind(const Chain *c, const uint8_t *p)
{
    uint8_t mask = c->adts ? 0xFC : 0x0C;
    return c->frames == 0 || (((p[1] ^ c->first[1]) & 0xFE) == 0 && ((p[2] ^ c->first[2]) & mask) == 0);
}

/* The frame at c->at; *END when there is none. */
static TtStatus take_frame(Chain *c, bool *end)
{
    const uint8_t *p = NULL;
    TtMpegFrame f;
    *end = c->at == c->source->size;
    if (*end) return TT_OK;
    TT_TRY(tt_window_get(&c->window, c->at, TT_MPEG_HEADER, &p));
    if (!p || !(c->adts ? tt_adts_header : tt_mpeg_header)(p, &f) || !same_kind(c, p)) {
        TT_TRY(is_tail(c, end));
        if (*end) return TT_OK;
        return TT_SOURCE_FAIL(c->source, c->at, "no frame header follows frame %lld: the data is damaged",
                              (long long)c->frames);
    }
    TT_TRY(tt_window_get(&c->window, c->at, f.size, &p));
    if (!p)
        return TT_SOURCE_FAIL(c->source, c->source->size, "the file is cut inside frame %lld", (long long)c->frames);
    memcpy(c->first, p, sizeof c->first);
    c->at += f.size;
    if (c->frames == 0 && !c->adts && !c->xing.present) {
        c->xing = parse_xing(p, &f);
        if (c->xing.present) return TT_OK;
    }
    c->frames++;
    c->samples += f.samples;
    if (c->xing.has_crc) c->crc = crc16(c->crc, p, f.size);
    return TT_OK;
}

static TtStatus check_xing(const Chain *c, uint64_t bytes)
{
    const Xing *x = &c->xing;
    if (x->has_frames && x->frames != (uint64_t)c->frames)
        return TT_SOURCE_FAIL(c->source, c->at, "%lld frames are there, the Xing header says %u (cut, or joined)",
                              (long long)c->frames, x->frames);
    if (x->has_crc && x->music_length == bytes && x->music_crc != c->crc)
        return TT_SOURCE_FAIL(c->source, c->at, "the frames' checksum is wrong: the data is damaged");
    return TT_OK;
}

TtStatus tt_mpeg_check(TtAudioSource *s, bool adts, int64_t *frames)
{
    Chain *c = tt_realloc(NULL, sizeof *c);
    *c = (Chain){.source = s, .window.source = s, .adts = adts};
    uint64_t start = 0;
    TtStatus st = TT_OK;
    const uint8_t *p = NULL;
    for (bool zero = !adts; st == TT_OK && zero; start += zero) { /* zeros in front */
        st = tt_window_get(&c->window, start, 1, &p);
        zero = st == TT_OK && p && *p == 0;
    }
    c->at = start;
    for (bool end = false; st == TT_OK && !end;) st = take_frame(c, &end);
    if (st == TT_OK) st = check_xing(c, c->at - start);
    if (st == TT_OK) {
        *s = tt_source_part(s, start, c->at - start);
        /* a decoder of Layer III is 529 samples late; encoders count their own delay without it */
        *frames = TT_MAX((int64_t)0, c->samples - c->xing.delay - c->xing.padding);
    }
    free(c);
    return st;
}
