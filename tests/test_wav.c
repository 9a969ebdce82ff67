/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_wav.c - WAV files put together chunk by chunk: every coding, careless writers, liars; and our own writer.
 * G.711's codes are compared with SoX (tests/data/audio/a-law.s16, mu-law.s16). */
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
#include "tests/support/blob.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"

static Blob blob;
static TtAudio audio;

static void put_le(uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++, v >>= 8) blob_put(&blob, &(uint8_t){(uint8_t)v}, 1);
}

static void chunk(const char *id, const void *data, uint32_t size)
{
    blob_put(&blob, id, 4);
    put_le(size, 4);
    blob_put(&blob, data, size);
    if (size % 2) put_le(0, 1);
}

static void start(const char *id)
{
    blob.size = 0;
    blob_put(&blob, id, 4);
    put_le(0xABCDEF, 4); /* nobody looks at it */
    blob_put(&blob, "WAVE", 4);
}

static void fmt_align(int tag, int channels, int rate, int bits, int align)
{
    blob_put(&blob, "fmt ", 4);
    put_le(16, 4);
    put_le((uint64_t)tag, 2);
    put_le((uint64_t)channels, 2);
    put_le((uint64_t)rate, 4);
    put_le((uint64_t)rate * (uint64_t)align, 4);
    put_le((uint64_t)align, 2);
    put_le((uint64_t)bits, 2);
}

static void fmt(int tag, int channels, int rate, int bits)
{
    fmt_align(tag, channels, rate, bits, channels * ((bits + 7) / 8));
}

/* KSDATAFORMAT_SUBTYPE: the tag, then the same 14 bytes. */
static void fmt_extensible(int tag, int channels, int bits, int valid)
{
    fmt(0xFFFE, channels, 48000, bits);
    memcpy(blob.bytes + blob.size - 20, &(uint32_t){40}, 4);
    put_le(22, 2);
    put_le((uint64_t)valid, 2);
    put_le(0, 4);
    put_le((uint64_t)tag, 2);
    blob_put(&blob, "\0\0\0\0\x10\0\x80\0\0\xAA\0\x38\x9B\x71", 14);
}

static TtStatus decode(void)
{
    char *exact = malloc(blob.size ? blob.size : 1); /* so that a sanitizer sees a read beyond the end */
    memcpy(exact, blob.bytes, blob.size);
    TtStatus st = tt_audio_decode(exact, blob.size, "x.wav", &audio);
    free(exact);
    return st;
}

/* CHANNELS planes of FRAMES values each. */
static void expect(int channels, int64_t frames, const double *want)
{
    assert_int_equal(decode(), TT_OK);
    assert_int_equal(audio.channels, channels);
    assert_int_equal(audio.frames, frames);
    for (int64_t i = 0; want && i < channels * frames; i++)
        if (audio.data[i] != (float)want[i]) fail_msg("value %d is %.9g, not %.9g", (int)i, audio.data[i], want[i]);
}
#define VALUES(...) ((const double[]){__VA_ARGS__})

static void expect_bad(const char *what)
{
    expect_error(decode(), TT_EDATA, "x.wav: ", what, NULL);
}

static void test_pcm(void **state)
{
    start("RIFF"), fmt(1, 1, 8000, 8), chunk("data", "\x00\x80\xFF\x81\x7F", 5);
    expect(1, 5, VALUES(-1, 0, 127.0 / 128, 1.0 / 128, -1.0 / 128));
    assert_int_equal(audio.sample_rate, 8000);
    start("RIFF"), fmt(1, 2, 8000, 16), chunk("data", "\x00\x80\x01\x00\xFF\x7F\xFF\xFF", 8);
    expect(2, 2, VALUES(-1, 32767.0 / 32768, 1.0 / 32768, -1.0 / 32768));
    start("RIFF"), fmt(1, 1, 8000, 24), chunk("data", "\x00\x00\x80\x01\x00\x00\xFF\xFF\x7F\xFF\xFF\xFF", 12);
    expect(1, 4, VALUES(-1, 1.0 / 8388608, 8388607.0 / 8388608, -1.0 / 8388608));
    start("RIFF"), fmt(1, 1, 8000, 32), chunk("data", "\x00\x00\x00\x80\x00\x00\x00\x40\x01\x00\x00\x00", 12);
    expect(1, 3, VALUES(-1, 0.5, 1.0 / 2147483648));
    start("RIFF"), fmt(1, 1, 8000, 20), chunk("data", "\x00\x00\x80\x10\x00\x00", 6); /* 20 bits, left-justified */
    expect(1, 2, VALUES(-1, 16.0 / 8388608));
    start("RIFF"), fmt(1, 1, 8000, 12), chunk("data", "\x00\x80\x10\x00", 4);
    expect(1, 2, VALUES(-1, 16.0 / 32768));
}

static void test_float(void **state)
{
    static const float f[] = {1, -0.3F, 2.5F, 1e-40F};
    static const double d[] = {1, -0.3, 1e-60, 3e38};
    start("RIFF"), fmt(3, 2, 8000, 32), chunk("data", f, sizeof f);
    expect(2, 2, VALUES(1, 2.5, -0.3F, 1e-40F)); /* values beyond 1 and denormal ones are kept */
    start("RIFF"), fmt(3, 1, 8000, 64), chunk("data", d, sizeof d);
    expect(1, 4, VALUES(1, -0.3, 0, 3e38F));
    static const float bad[] = {0, NAN, INFINITY};
    for (int i = 1; i < 3; i++) {
        start("RIFF"), fmt(3, 1, 8000, 32), chunk("data", bad, 4 * (uint32_t)i);
        if (i == 2) expect_bad("sample 1 of channel 0 is not finite");
    }
    start("RIFF"), fmt(3, 1, 8000, 32), chunk("data", bad + 2, 4);
    expect_bad("not finite");
    start("RIFF"), fmt(3, 1, 8000, 64), chunk("data", (const double[]){1e300}, 8); /* no float32 */
    expect_bad("not finite");
}

static void test_g711(void **state)
{
    static const struct {
        int tag;
        const char *file;
    } laws[] = {{6, "tests/data/audio/a-law.s16"}, {7, "tests/data/audio/mu-law.s16"}};
    uint8_t codes[256];
    for (int i = 0; i < 256; i++) codes[i] = (uint8_t)i;
    for (int k = 0; k < 2; k++) {
        char *p;
        size_t n;
        assert_int_equal(tt_fs_read(laws[k].file, 4096, TT_EDATA, &p, &n), TT_OK);
        assert_int_equal(n, 512);
        start("RIFF"), fmt(laws[k].tag, 1, 8000, 8), chunk("data", codes, 256);
        assert_int_equal(decode(), TT_OK);
        for (int i = 0; i < 256; i++) {
            int want = (int16_t)((uint8_t)p[2 * i] | (uint8_t)p[2 * i + 1] << 8);
            if (audio.data[i] * 32768 != (float)want) fail_msg("code %d is %g, not %d", i, audio.data[i] * 32768, want);
        }
        free(p);
    }
}

static void test_extensible(void **state)
{
    start("RIFF"), fmt_extensible(1, 3, 16, 16), chunk("data", "\x00\x40\x00\x20\x00\x10", 6);
    expect(3, 1, VALUES(0.5, 0.25, 0.125));
    start("RIFF"), fmt_extensible(1, 1, 32, 24), chunk("data", "\x00\x00\x00\x40", 4); /* 24 valid bits on the left */
    expect(1, 1, VALUES(0.5));
    start("RIFF"), fmt_extensible(3, 1, 32, 32), chunk("data", "\x00\x00\x80\x3F", 4);
    expect(1, 1, VALUES(1));
    start("RIFF"), fmt_extensible(1, 1, 16, 16);
    blob.bytes[blob.size - 1] ^= 1;
    chunk("data", "\0\0", 2);
    expect_bad("sub-format");
    start("RIFF"), fmt(0xFFFE, 1, 8000, 16), chunk("data", "\0\0", 2);
    expect_bad("40 are needed");
}

/* Data sizes that streaming writers leave, and such as lie. */
static void put_data(uint64_t size, int bytes)
{
    blob_put(&blob, "data", 4);
    put_le(size, 4);
    for (int i = 0; i < bytes; i++) put_le((uint64_t)i, 1);
}

static void test_sizes(void **state)
{
    static const uint32_t streamed[] = {0, 0x7FFFF000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFDB};
    for (int i = 0; i < TT_COUNT(streamed); i++) {
        start("RIFF"), fmt(1, 2, 8000, 16), put_data(streamed[i], 24);
        expect(2, 6, NULL);
        assert_true(audio.data[11] == (22 + 23 * 256) / 32768.0F);
    }
    static const uint32_t lies[] = {25, 48, 0x7FFFEFFF};
    for (int i = 0; i < TT_COUNT(lies); i++) {
        start("RIFF"), fmt(1, 2, 8000, 16), put_data(lies[i], 24);
        expect_bad("cut: 24 of");
    }
    start("RIFF"), fmt(1, 2, 8000, 16), put_data(23, 23); /* an incomplete frame, and no pad byte */
    expect(2, 5, NULL);
    start("RIFF"), fmt(1, 2, 8000, 16), put_data(3, 3);
    expect(2, 0, NULL);
    start("RIFF"), fmt(1, 2, 8000, 16), put_data(0, 0);
    expect(2, 0, NULL);
}

static void test_chunks(void **state)
{
    start("RIFF"), chunk("JUNK", "abc", 3), chunk("bext", "v", 1), fmt(1, 1, 8000, 16), chunk("fact", "\1\0\0\0", 4);
    chunk("data", "\x00\x40", 2), chunk("LIST", "INFOx", 5), chunk("id3 ", "ID3", 3);
    expect(1, 1, VALUES(0.5));
    start("RIFF"), chunk("data", "\x00\x40", 2), fmt(1, 1, 8000, 16); /* data first */
    expect(1, 1, VALUES(0.5));
    start("RIFF"), fmt(1, 1, 8000, 8), chunk("data", "\xC0", 1),
        blob_put(&blob, "LIST\x40\0\0\0abc", 11); /* cut tail */
    expect(1, 1, VALUES(0.5));
    start("RIFF"), fmt(1, 1, 8000, 16), chunk("data", "\0\0", 2), chunk("data", "\0\0", 2);
    expect_bad("second data chunk");
    start("RIFF"), fmt(1, 1, 8000, 16), fmt(1, 1, 8000, 16), chunk("data", "\0\0", 2);
    expect_bad("second fmt chunk");
    start("RIFF"), fmt(1, 1, 8000, 16);
    expect_bad("no data chunk");
    start("RIFF"), fmt(1, 1, 8000, 16), blob_put(&blob, "JUNK\xFF\xFF\xFF\x7Fxx", 10);
    expect_bad("no data chunk");
    start("RIFF"), chunk("data", "\0\0", 2);
    expect_bad("no fmt chunk");
    start("RIFF"), chunk("fmt ", "\1\0\1\0\0\0\0\0\0\0\0\0\0\0", 14), chunk("data", "\0\0", 2);
    expect_bad("at byte 20: the fmt chunk has 14 bytes");
    blob.size = 11;
    expect_bad("unknown format");
}

static void test_rf64(void **state)
{
    static const uint32_t sizes[] = {0xFFFFFFFF, 4, 0};
    for (int i = 0; i < TT_COUNT(sizes); i++)
        for (int bw = 0; bw < 2; bw++) {
            start(bw ? "BW64" : "RF64"), blob_put(&blob, "ds64", 4), put_le(28, 4), put_le(1, 8), put_le(4, 8);
            put_le(2, 8), put_le(0, 4), fmt(1, 1, 8000, 16), put_data(sizes[i], 4), chunk("LIST", "more", 4);
            expect(1, 2, NULL);
        }
    start("RF64"), blob_put(&blob, "ds64", 4), put_le(28, 4), put_le(1, 8), put_le((uint64_t)1 << 40, 8);
    put_le(2, 8), put_le(0, 4), fmt(1, 1, 8000, 16), put_data(0xFFFFFFFF, 4);
    expect_bad("cut: 4 of 1099511627776");
    start("RF64"), fmt(1, 1, 8000, 16), put_data(0xFFFFFFFF, 4);
    expect_bad("must begin with a ds64 chunk");
}

static void test_nonsense(void **state)
{
    static const struct {
        int tag, channels, rate, bits;
        const char *what;
    } bad[] = {{1, 0, 8000, 16, "no channels"}, {1, 1, 0, 16, "0 Hz"},       {1, 1, 8000, 0, "0 bits"},
               {1, 1, 8000, 33, "33 bits"},     {3, 1, 8000, 16, "16 bits"}, {6, 1, 8000, 16, "16 bits"},
               {0x4242, 1, 8000, 16, "x.wav"}};
    for (int i = 0; i < TT_COUNT(bad); i++) {
        start("RIFF"), fmt(bad[i].tag, bad[i].channels, bad[i].rate, bad[i].bits), put_data(64, 64);
        expect_bad(bad[i].what);
    }
    capture_warnings();
    start("RIFF"), fmt_align(1, 2, 8000, 16, 1), chunk("data", "\x00\x40\x00\x20", 4);
    expect(2, 1, VALUES(0.5, 0.25));
    assert_non_null(strstr(captured_warnings(), "x.wav: a block alignment of 1"));
    release_warnings();
    start("RIFF"), fmt_align(1, 2, 8000, 24, 8), put_data(16, 16); /* 24 bits in 32: on which side? */
    expect_bad("frames of 8 bytes");
    start("RIFF"), fmt(3, 65535, 8000, 64), put_data(8, 8); /* a frame of half a megabyte: none is there */
    expect(65535, 0, NULL);
}

/* Piece by piece from a file; seek to any place. */
static void test_stream(void **state)
{
    TtAudioReader *r;
    enum { FRAMES = 100000 };
    start("RIFF"), fmt(1, 2, 22050, 16);
    blob_put(&blob, "data", 4), put_le(FRAMES * 4, 4);
    for (int i = 0; i < 2 * FRAMES; i++) put_le((uint64_t)(i * 7919), 2);
    assert_int_equal(tt_audio_open(blob_write(&blob, *state, "a.wav"), &r), TT_OK);
    TtAudioInfo info = tt_audio_reader_info(r);
    assert_int_equal(info.frames, FRAMES);
    assert_string_equal(info.codec, "pcm_s16le");
    uint32_t random = 1;
    int64_t at = 0;
    for (int k = 0; k < 200; k++) {
        random = random * 1664525 + 1013904223;
        int64_t n = random >> 16;
        if (k % 3) assert_int_equal(tt_audio_seek(r, at = random % FRAMES), TT_OK);
        assert_int_equal(tt_audio_read(r, n, &audio), TT_OK);
        assert_int_equal(audio.frames, TT_MIN(n, FRAMES - at));
        for (int64_t i = 0; i < audio.frames; i++)
            for (int c = 0; c < 2; c++)
                if (audio.data[c * audio.frames + i] != (int16_t)((2 * (at + i) + c) * 7919) / 32768.0F)
                    fail_msg("frame %lld differs", (long long)(at + i));
        at += audio.frames;
    }
    assert_int_equal(tt_audio_seek(r, FRAMES), TT_OK);
    assert_int_equal(tt_audio_read(r, 10, &audio), TT_OK);
    assert_int_equal(audio.frames, 0);
    expect_error(tt_audio_seek(r, FRAMES + 1), TT_EDATA, "a.wav", "beyond the end", NULL);
    tt_audio_close(r);
    expect_error(tt_audio_open(in_dir(*state, "none.wav"), &r), TT_EDATA, "none.wav", NULL);
    expect_error(tt_audio_open(*state, &r), TT_EDATA, "a folder", NULL);
}

/* The file gets shorter while it is read. */
static void test_shrinks(void **state)
{
    TtAudioReader *r;
    start("RIFF"), fmt(1, 1, 8000, 16), put_data(512 * 1024, 512 * 1024);
    assert_int_equal(tt_audio_open(blob_write(&blob, *state, "a.wav"), &r), TT_OK);
    assert_int_equal(truncate(in_dir(*state, "a.wav"), 1000), 0);
    expect_error(tt_audio_read(r, INT64_MAX, &audio), TT_EDATA, "a.wav: at byte 1000", NULL);
    tt_audio_close(r);
}

static void test_write(void **state)
{
    TtAudio a = {0}, b = {0};
    static const float values[] = {0, 1, -1, 1.5F, -7, 0.5F, 1.5F / 32768, 2.5F / 32768, -0.4F / 32768, 0.25F};
    static const double want16[] = {0, 32767, -32768, 32767, -32768, 16384, 2, 2, 0, 8192}; /* ties to even */
    assert_int_equal(tt_audio_resize(&a, 2, 5, 1, false), TT_OK);
    a.sample_rate = 22050;
    memcpy(a.data, values, sizeof values);
    for (int f32 = 0; f32 < 2; f32++) {
        char *p;
        size_t n;
        const char *path = in_dir(*state, "out.wav");
        assert_int_equal(tt_wav_write(path, &a, f32), TT_OK);
        assert_int_equal(tt_fs_read(path, 4096, TT_EDATA, &p, &n), TT_OK);
        assert_int_equal(n, 44 + 10 * (f32 ? 4 : 2));
        assert_int_equal(p[4], n - 8);
        assert_int_equal(tt_audio_decode(p, n, path, &b), TT_OK);
        assert_int_equal(b.channels, 2);
        assert_int_equal(b.frames, 5);
        assert_int_equal(b.sample_rate, 22050);
        for (int i = 0; i < 10; i++) assert_true(b.data[i] == (f32 ? values[i] : (float)(want16[i] / 32768)));
        free(p);
    }
    assert_int_equal(temp_entries(*state), 1); /* nothing left beside it */
    expect_error(tt_wav_write(in_dir(*state, "none/x.wav"), &a, false), TT_EINTERNAL, "none/x.wav", NULL);
    a.frames = 0;
    assert_int_equal(tt_wav_write(in_dir(*state, "out.wav"), &a, false), TT_OK);
    a.frames = (int64_t)1 << 40;
    expect_error(tt_wav_write(in_dir(*state, "out.wav"), &a, false), TT_EINTERNAL, "more than a WAV file can hold",
                 NULL);
    a.frames = 5;
    tt_audio_free(&a);
    tt_audio_free(&b);
}

static int teardown(void **state)
{
    tt_audio_free(&audio);
    return temp_teardown(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_pcm),    TEST(test_float),   TEST(test_g711), TEST(test_extensible),
                                       TEST(test_sizes),  TEST(test_chunks),  TEST(test_rf64), TEST(test_nonsense),
                                       TEST(test_stream), TEST(test_shrinks), TEST(test_write)};
    return cmocka_run_group_tests_name("wav", tests, NULL, NULL);
}
