/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_audio_reader.c - sound through FFmpeg: what other decoders make of the same files (tests/data/audio, made by
 * scripts/make_audio_cases.py), exact seek, damage that must not pass. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "audio/reader.h"
#include "tensor/fs.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"

#define DATA "tests/data/audio/"

#ifndef TT_FFMPEG
static void test_left_out(void **state)
{
    TtAudioReader *r;
    expect_error(tt_audio_open(DATA "16.flac", &r), TT_EDATA, "16.flac", "built without", "libavformat-dev", NULL);
    assert_null(r);
}
#else

enum { WINDOW = 1000 };

typedef struct Bytes {
    char *p;
    size_t n;
} Bytes;

static Bytes load(const char *name)
{
    Bytes b;
    assert_int_equal(tt_fs_read(in_dir(DATA, "%s", name), 1 << 24, TT_EDATA, &b.p, &b.n), TT_OK);
    return b;
}

typedef struct Case {
    const char *file, *format, *codec;
    int channels, rate;
    int64_t frames;
    int skip; /* frames at the start that the other decoder leaves out */
    double tolerance;
} Case;

/* Other decoders round to 16 bits, some cut, some dither. */
#define EXACT 0
#define LOSSY 6e-5
#define LATE 0.5 /* SILK is resampled as each decoder likes: FFmpeg's filter is two samples later than libopus's */
static const Case cases[] = {
    {"16.flac", "flac", "flac", 2, 16000, 20001, 0, EXACT},
    {"24.flac", "flac", "flac", 2, 16000, 20001, 0, LOSSY},
    {"cover.flac", "flac", "flac", 1, 22050, 7001, 0, EXACT},
    {"flac.oga", "ogg", "flac", 1, 22050, 7001, 0, EXACT},
    {"short.aiff", "aiff", "pcm_s16be", 1, 22050, 7001, 0, EXACT},
    {"short.au", "au", "pcm_s16be", 1, 22050, 7001, 0, EXACT},
    {"short.caf", "caf", "pcm_s16be", 1, 22050, 7001, 0, EXACT},
    {"short.w64", "w64", "pcm_s16le", 1, 22050, 7001, 0, EXACT},
    {"short.sph", "nist", "pcm_s16le", 1, 22050, 7001, 0, EXACT},
    {"short.wv", "wavpack", "wavpack", 1, 22050, 7001, 0, EXACT},
    {"short.tta", "tta", "tta", 1, 22050, 7001, 0, EXACT},
    {"alac.m4a", "mp4", "alac", 1, 22050, 7001, 0, EXACT},
    {"video.mp4", "mp4", "alac", 1, 22050, 7001, 0, EXACT},
    {"vorbis.ogg", "ogg", "vorbis", 1, 16000, 192007, 0, LOSSY},
    {"wide.ogg", "ogg", "vorbis", 8, 48000, 6000, 0, LOSSY},
    {"voice.opus", "ogg", "opus", 1, 48000, 576021, 0, LATE},
    {"gain.opus", "ogg", "opus", 2, 48000, 60003, 0, 0.01},
    {"cbr.mp3", "mp3", "mp3", 1, 16000, 193536, 0, LOSSY},
    {"vbr.mp3", "mp3", "mp3", 2, 16000, 20001, 0, LOSSY},
    {"bare.mp3", "mp3", "mp3", 1, 22050, 8640, 0, LOSSY},
    {"short.m4a", "mp4", "aac", 2, 44100, 9216, 0, LOSSY},
    {"adts.aac", "aac", "aac", 2, 44100, 10240, 1024, LOSSY},
    {"ima.wav", "wav", "adpcm_ima_wav", 1, 22050, 7070, 0, 1e-3},
};

static const char *file_of(const Case *c)
{
    return in_dir(DATA, "%s", c->file);
}

static void compare(const Case *c, const TtAudio *a)
{
    Bytes b = load(in_dir("", "%s.s16", c->file) + 1);
    const uint8_t *p = (const uint8_t *)b.p;
    int64_t n = c->frames - c->skip, starts[] = {0, (n - WINDOW) / 2, n - WINDOW};
    double worst = 0;
    assert_int_equal(b.n, (size_t)(3 * WINDOW * c->channels * 2));
    for (int w = 0; w < 3; w++)
        for (int i = 0; i < WINDOW; i++)
            for (int k = 0; k < c->channels; k++, p += 2) {
                double want = (int16_t)(p[0] | p[1] << 8) / 32768.0;
                worst = fmax(worst, fabs(want - a->data[k * a->frames + c->skip + starts[w] + i]));
            }
    free(b.p);
    if (worst > c->tolerance) print_error("%s: %g apart\n", c->file, worst);
    assert_true(worst <= c->tolerance);
}

static void test_decode(void **state)
{
    TtAudio a = {0}, b = {0};
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const Case *c = &cases[i];
        TtAudioReader *r;
        assert_int_equal(tt_audio_open(file_of(c), &r), TT_OK);
        TtAudioInfo info = tt_audio_reader_info(r);
        assert_string_equal(info.format, c->format);
        assert_string_equal(info.codec, c->codec);
        assert_int_equal(info.channels, c->channels);
        assert_int_equal(info.sample_rate, c->rate);
        assert_true(info.frames == -1 || info.frames == c->frames);
        assert_int_equal(tt_audio_read(r, INT64_MAX, &a), TT_OK);
        tt_audio_close(r);
        if (a.frames != c->frames) print_error("%s: %lld frames\n", c->file, (long long)a.frames);
        assert_int_equal(a.frames, c->frames);
        assert_int_equal(a.channels, c->channels);
        assert_int_equal(a.sample_rate, c->rate);
        assert_int_equal(a.bins, 1);
        compare(c, &a);
        Bytes bytes = load(c->file); /* from memory: the same */
        assert_int_equal(tt_audio_decode(bytes.p, bytes.n, c->file, &b), TT_OK);
        assert_int_equal(tt_audio_floats(&a), tt_audio_floats(&b));
        assert_memory_equal(a.data, b.data, tt_audio_floats(&a) * sizeof(float));
        free(bytes.p);
    }
    tt_audio_free(&a);
    tt_audio_free(&b);
}

/* Where the length is told, it is told exactly. */
static void test_length(void **state)
{
    static const char *const known[] = {"16.flac", "flac.oga", "vorbis.ogg", "voice.opus", "vbr.mp3", "short.aiff"};
    for (int i = 0; i < TT_COUNT(known); i++) {
        TtAudioReader *r;
        assert_int_equal(tt_audio_open(in_dir(DATA, "%s", known[i]), &r), TT_OK);
        int64_t frames = tt_audio_reader_info(r).frames;
        tt_audio_close(r);
        for (int k = 0; k < TT_COUNT(cases); k++)
            if (strcmp(cases[k].file, known[i]) == 0) assert_int_equal(frames, cases[k].frames);
    }
}

static void expect_same(const Case *c, const TtAudio *whole, const TtAudio *piece, int64_t at)
{
    for (int k = 0; k < c->channels; k++)
        if (memcmp(whole->data + k * whole->frames + at, piece->data + k * piece->frames,
                   (size_t)piece->frames * sizeof(float)) != 0)
            fail_msg("%s: other samples after a seek to %lld", c->file, (long long)at);
}

/* Backwards, forwards, near, far, to both ends: bit for bit what reading from the start gives. */
static void test_seek(void **state)
{
    TtAudio whole = {0}, piece = {0};
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const Case *c = &cases[i];
        TtAudioReader *r;
        uint32_t random = 7;
        assert_int_equal(tt_audio_open(file_of(c), &r), TT_OK);
        assert_int_equal(tt_audio_read(r, INT64_MAX, &whole), TT_OK);
        for (int k = 0; k < 24; k++) {
            random = random * 1664525 + 1013904223;
            int64_t at = (int64_t)((uint64_t)random * (uint64_t)c->frames >> 32), n = 1 + random % 700;
            if (k == 3) at = 0;
            if (k == 5) at = c->frames - 1;
            if (k == 7) at = c->frames;
            if (k == 9) at = c->frames - 2 * n;
            assert_int_equal(tt_audio_seek(r, at), TT_OK);
            for (int twice = 0; twice < 2; twice++) {
                assert_int_equal(tt_audio_read(r, n, &piece), TT_OK);
                assert_int_equal(piece.frames, TT_MIN(n, c->frames - at));
                expect_same(c, &whole, &piece, at);
                at += piece.frames;
            }
        }
        expect_error(tt_audio_seek(r, c->frames + 1), TT_EDATA, c->file, "beyond the end", NULL);
        tt_audio_close(r);
    }
    tt_audio_free(&whole);
    tt_audio_free(&piece);
}

/* To the end after a seek: what is checked at the end must not count what was passed over. */
static void test_seek_to_end(void **state)
{
    TtAudio a = {0};
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const Case *c = &cases[i];
        TtAudioReader *r;
        assert_int_equal(tt_audio_open(file_of(c), &r), TT_OK);
        assert_int_equal(tt_audio_seek(r, c->frames - c->frames / 10), TT_OK);
        assert_int_equal(tt_audio_read(r, INT64_MAX, &a), TT_OK);
        assert_int_equal(a.frames, c->frames / 10);
        assert_int_equal(tt_audio_read(r, 10, &a), TT_OK);
        assert_int_equal(a.frames, 0);
        tt_audio_close(r);
    }
    tt_audio_free(&a);
}

/* G.722 has no other decoder here: the original must come out, some samples late. */
static void test_g722(void **state)
{
    TtAudio a = {0};
    Bytes b = load("speech.g722"), s = load("speech.g722.s16");
    double best = 1e9;
    assert_int_equal(tt_audio_decode(b.p, b.n, "speech.g722", &a), TT_OK);
    assert_int_equal(a.frames, 2 * (int64_t)b.n);
    assert_int_equal(a.sample_rate, 16000);
    for (int lag = 0; lag < 40; lag++) {
        double error = 0, energy = 0;
        for (int i = 100; i < WINDOW - 40; i++) {
            double v = (int16_t)((uint8_t)s.p[2 * i] | (uint8_t)s.p[2 * i + 1] << 8) / 32768.0;
            energy += v * v;
            error += (v - a.data[i + lag]) * (v - a.data[i + lag]);
        }
        best = fmin(best, error / energy);
    }
    assert_true(best < 0.01);
    expect_error(tt_audio_decode(b.p, b.n, "speech.raw", &a), TT_EDATA, "speech.raw: unknown format", NULL);
    free(b.p);
    free(s.p);
    tt_audio_free(&a);
}

/* ------------------------------------------------------------------ damage */

static TtStatus decode(const void *p, size_t n, TtAudio *a)
{
    char *exact = malloc(n ? n : 1); /* so that a sanitizer sees a read beyond the end */
    memcpy(exact, p, n);
    TtStatus st = tt_audio_decode(exact, n, "x", a);
    if (st != TT_OK) assert_memory_equal(tt_error_message(), "x: ", 3);
    free(exact);
    return st;
}

/* A file cut anywhere is refused, or it is what is left after a tag or index was cut off, and then the sound is whole. */
static void test_cut(void **state)
{
    TtAudio whole = {0}, a = {0};
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const Case *c = &cases[i];
        Bytes b = load(c->file);
        assert_int_equal(decode(b.p, b.n, &whole), TT_OK);
        for (size_t k = 0; k < 16; k++) {
            size_t n = k < 8 ? b.n - 1 - k * k * k : b.n * (k - 7) / 10 + k;
            n += strcmp(c->file, "cbr.mp3") == 0 && n % 72 == 0; /* between two frames nothing tells */
            TtStatus st = decode(b.p, n, &a);
            if (st == TT_OK &&
                (a.frames != whole.frames || memcmp(a.data, whole.data, tt_audio_floats(&a) * sizeof(float)) != 0))
                fail_msg("%s: cut to %zu of %zu bytes it passes", c->file, n, b.n);
            if (st != TT_OK) assert_int_equal(st, TT_EDATA);
        }
        free(b.p);
    }
    tt_audio_free(&whole);
    tt_audio_free(&a);
}

/* Formats with checksums: one wrong bit anywhere is refused, or changes no sample. */
static void test_flip(void **state)
{
    static const char *const sealed[] = {"16.flac",   "24.flac", "flac.oga", "vorbis.ogg",
                                         "gain.opus", "vbr.mp3", "short.wv"};
    TtAudio whole = {0}, a = {0};
    for (int i = 0; i < TT_COUNT(sealed); i++) {
        Bytes b = load(sealed[i]);
        assert_int_equal(decode(b.p, b.n, &whole), TT_OK);
        for (size_t k = 0; k < 40; k++) {
            size_t at = k * 2654435761U % b.n;
            b.p[at] ^= (char)(1 << k % 8);
            if (decode(b.p, b.n, &a) == TT_OK &&
                (a.frames != whole.frames || memcmp(a.data, whole.data, tt_audio_floats(&a) * sizeof(float)) != 0))
                fail_msg("%s: a wrong bit in byte %zu passes", sealed[i], at);
            b.p[at] ^= (char)(1 << k % 8);
        }
        free(b.p);
    }
    tt_audio_free(&whole);
    tt_audio_free(&a);
}

static void expect_bad(Bytes b, const char *what)
{
    TtAudio a = {0};
    expect_error(decode(b.p, b.n, &a), TT_EDATA, "x: ", what, NULL);
    tt_audio_free(&a);
}

static size_t find(Bytes b, const char *text, size_t from)
{
    for (size_t i = from; i + strlen(text) <= b.n; i++)
        if (memcmp(b.p + i, text, strlen(text)) == 0) return i;
    fail_msg("no '%s' in the file", text);
    return 0;
}

/* B with N bytes put in at AT. */
static Bytes put(Bytes b, size_t at, const void *p, size_t n)
{
    Bytes out = {malloc(b.n + n), b.n + n};
    memcpy(out.p, b.p, at);
    memcpy(out.p + at, p, n);
    memcpy(out.p + at + n, b.p + at, b.n - at);
    return out;
}

/* STREAMINFO begins at byte 8: samples at 13.5 to 18, MD5 at 18 to 34 of it. */
static void test_flac(void **state)
{
    TtAudio a = {0};
    Bytes b = load("16.flac");
    b.p[8 + 20] ^= 1;
    expect_bad(b, "MD5");
    memset(b.p + 8 + 18, 0, 16);
    b.p[8 + 17] ^= 1;
    expect_bad(b, "20001 samples were decoded");
    memset(b.p + 8 + 14, 0, 4); /* unknown */
    assert_int_equal(decode(b.p, b.n, &a), TT_OK);
    assert_int_equal(a.frames, 20001);
    size_t first = find(b, "\xFF\xF8", 100), one = find(b, "\xFF\xF8", first + 900);
    size_t two = find(b, "\xFF\xF8", one + 900);
    memmove(b.p + one, b.p + two, b.n - two); /* a frame less, with nothing else to tell */
    b.n -= two - one;
    expect_bad(b, "data is missing");
    free(b.p);
    b = load("16.flac");
    char id3v1[128] = "TAG";
    Bytes tagged = put(b, b.n, id3v1, sizeof id3v1);
    assert_int_equal(decode(tagged.p, tagged.n, &a), TT_OK);
    assert_int_equal(a.frames, 20001);
    free(tagged.p);
    free(b.p);
    tt_audio_free(&a);
}

static void test_mp3(void **state)
{
    TtAudio whole = {0}, a = {0};
    Bytes b = load("vbr.mp3"), t;
    static const char id3v2[10 + 300] = "ID3\x04\0\0\0\0\x02\x2C", id3v1[128] = "TAG", ape[300] = "APETAGEX",
                                 zeros[999];
    assert_int_equal(decode(b.p, b.n, &whole), TT_OK);
    static const struct {
        bool front;
        const char *p;
        size_t n;
    } extra[] = {{true, id3v2, sizeof id3v2},
                 {false, id3v1, sizeof id3v1},
                 {false, ape, sizeof ape},
                 {true, zeros, sizeof zeros},
                 {false, zeros, sizeof zeros}};
    for (int i = 0; i < TT_COUNT(extra); i++) {
        t = put(b, extra[i].front ? 0 : b.n, extra[i].p, extra[i].n);
        assert_int_equal(decode(t.p, t.n, &a), TT_OK);
        assert_int_equal(a.frames, whole.frames);
        assert_memory_equal(a.data, whole.data, tt_audio_floats(&a) * sizeof(float));
        free(t.p);
    }
    t = put(b, b.n, b.p, b.n); /* one behind the other */
    expect_bad(t, "the Xing header says");
    free(t.p);
    t = put(b, b.n, "trailing", 8);
    expect_bad(t, "no frame header");
    free(t.p);
    memcpy(b.p + find(b, "LAME", 0), "Mine", 4); /* nothing to trim by: whole frames of 576 */
    assert_int_equal(decode(b.p, b.n, &a), TT_OK);
    assert_int_equal(a.frames % 576, 0);
    assert_true(a.frames > whole.frames);
    free(b.p);
    tt_audio_free(&whole);
    tt_audio_free(&a);
}

static void test_ogg(void **state)
{
    TtAudio one = {0}, a = {0};
    Bytes b = load("vorbis.ogg"), g = load("gain.opus"), t;
    size_t page = find(b, "OggS", b.n / 2), after = find(b, "OggS", page + 4), last = page;
    for (size_t i = page; i + 4 <= b.n; i++)
        if (memcmp(b.p + i, "OggS", 4) == 0) last = i;
    assert_int_equal(decode(b.p, b.n, &one), TT_OK);
    t = put(b, b.n, b.p, b.n); /* a chain of two */
    assert_int_equal(decode(t.p, t.n, &a), TT_OK);
    assert_int_equal(a.frames, 2 * one.frames);
    assert_memory_equal(a.data, one.data, (size_t)one.frames * sizeof(float));
    assert_memory_equal(a.data + one.frames, one.data, (size_t)one.frames * sizeof(float));
    TtAudioReader *r;
    assert_int_equal(tt_audio_open_memory(t.p, t.n, "x", &r), TT_OK);
    assert_int_equal(tt_audio_seek(r, one.frames + 1234), TT_OK); /* into the second link, then back to the first */
    assert_int_equal(tt_audio_read(r, 100, &a), TT_OK);
    assert_memory_equal(a.data, one.data + 1234, 100 * sizeof(float));
    assert_int_equal(tt_audio_seek(r, 555), TT_OK);
    assert_int_equal(tt_audio_read(r, 100, &a), TT_OK);
    assert_memory_equal(a.data, one.data + 555, 100 * sizeof(float));
    tt_audio_close(r);
    free(t.p);
    t = put(b, b.n, g.p, g.n);
    expect_bad(t, "become 2 at 48000 Hz");
    free(t.p);
    t = (Bytes){b.p, last};
    expect_bad(t, "streams do not end");
    t = put(b, b.n, "TAG and more", 12);
    assert_int_equal(decode(t.p, t.n, &a), TT_OK);
    free(t.p);
    memmove(b.p + page, b.p + after, b.n - after);
    b.n -= after - page;
    expect_bad(b, "is missing");
    free(b.p);
    free(g.p);
    tt_audio_free(&one);
    tt_audio_free(&a);
}

/* The file gets shorter under the reader, then it is whole again. */
static void test_shrinks(void **state)
{
    static const char *const files[] = {"voice.opus", "cbr.mp3", "adts.aac", "16.flac"};
    TtAudio a = {0};
    for (int i = 0; i < TT_COUNT(files); i++) {
        Bytes b = load(files[i]);
        const char *path = in_dir(*state, "%s", files[i]);
        TtAudioReader *r;
        put_file(path, b.p, b.n);
        assert_int_equal(tt_audio_open(path, &r), TT_OK);
        assert_int_equal(tt_audio_read(r, INT64_MAX, &a), TT_OK);
        int64_t frames = a.frames;
        assert_int_equal(truncate(path, 50), 0);
        expect_error(tt_audio_seek(r, 5), TT_EDATA, path, NULL);
        expect_error(tt_audio_read(r, 5, &a), TT_EDATA, path, NULL);
        FILE *f = fopen(path, "r+");
        assert_non_null(f);
        assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(tt_audio_seek(r, 5), TT_OK);
        assert_int_equal(tt_audio_read(r, INT64_MAX, &a), TT_OK);
        assert_int_equal(a.frames, frames - 5);
        tt_audio_close(r);
        free(b.p);
    }
    tt_audio_free(&a);
}

/* The name says nothing, the content everything. */
static void test_names(void **state)
{
    TtAudio a = {0};
    Bytes b = load("vbr.mp3");
    assert_int_equal(tt_audio_decode(b.p, b.n, "x.wav", &a), TT_OK);
    assert_int_equal(a.frames, 20001);
    assert_string_equal(tt_audio_format((uint8_t *)b.p, b.n, "x.flac"), "mp3");
    free(b.p);
    assert_null(tt_audio_format((const uint8_t *)"no sound at all", 15, "x.flac"));
    assert_null(tt_audio_format((const uint8_t *)"\xFF\xFE"
                                                 "h\0i\0",
                                6, "x.mp3"));
    assert_string_equal(tt_audio_format((const uint8_t *)"ID3\x04\0\0\0\0\x7F\x7F", 10, "x"), "mp3");
    expect_error(tt_audio_decode("text", 4, "x.flac", &a), TT_EDATA, "x.flac: unknown format", NULL);
    expect_error(tt_audio_decode(NULL, 0, "x.flac", &a), TT_EDATA, "x.flac: the file is empty", NULL);
    tt_audio_free(&a);
}
#endif

#define TEST(f) cmocka_unit_test(f)

int main(void)
{
#ifdef TT_FFMPEG
    const struct CMUnitTest tests[] = {
        TEST(test_decode), TEST(test_length),
        TEST(test_seek),   TEST(test_seek_to_end),
        TEST(test_g722),   TEST(test_cut),
        TEST(test_flip),   TEST(test_flac),
        TEST(test_mp3),    TEST(test_ogg),
        TEST(test_names),  cmocka_unit_test_setup_teardown(test_shrinks, temp_setup, temp_teardown)};
#else
    const struct CMUnitTest tests[] = {TEST(test_left_out)};
#endif
    return cmocka_run_group_tests_name("audio_reader", tests, NULL, NULL);
}
