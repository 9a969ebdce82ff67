/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_separation_mix.c - mixtures made of clips of different speakers while training. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "audio/reader.h"
#include "data/dataset.h"
#include "tensor/rng.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"

enum { RATE = 8000, N = 80 };

static TtArena arena;

/* A clip of FRAMES samples of VALUE times a ramp that tells where in it a sample lies. */
static void write_clip(const char *dir, const char *name, int frames, float value)
{
    char path[4096];
    TtAudio a = {0};
    assert_int_equal(tt_audio_resize(&a, 1, frames, 1, false), TT_OK);
    a.sample_rate = RATE;
    for (int i = 0; i < frames; i++) a.data[i] = value * (float)(i + 1) / (float)frames;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(tt_wav_write(path, &a, true), TT_OK);
    tt_audio_free(&a);
}

static TtStatus open_mix(const char *list, const char *sources, const char *snr, TtDataset **out)
{
    return open_dataset(config_map(&arena, "type", "separation_mix", "path", list, "sample_rate", "8000", "segment",
                                   "0.01", "sources", sources, "snr", snr, NULL),
                        out);
}

static TtStatus load(const TtDataset *d, uint64_t epoch, uint64_t position, int64_t index, TtSample *s)
{
    static const TtTransformChain none;
    TtTransformScratch scratch = {0};
    TtStatus st = tt_dataset_load(d, &none, 7, epoch, position, index, s, &scratch, NULL);
    tt_transform_scratch_free(&scratch);
    return st;
}

static const char *write_list(const char *dir, const char *name, const char *text)
{
    const char *path = in_dir(dir, "%s", name);
    put_text(path, text);
    return path;
}

/* Four speakers; those of b are twice as many. Signs and sizes tell them apart. */
static const char *write_set(const char *dir)
{
    write_clip(dir, "a.wav", 200, 0.1f);
    write_clip(dir, "b1.wav", 200, -0.1f);
    write_clip(dir, "b2.wav", 200, -0.2f);
    write_clip(dir, "c.wav", 40, 0.05f);
    write_clip(dir, "d.wav", 200, 0.4f);
    return write_list(dir, "set.tsv", "path\tspeaker\nb1.wav\tb\na.wav\ta\nb2.wav\tb\nc.wav\tc\nd.wav\td\n");
}

static double power(const float *x, int step)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)x[i * step] * (double)x[i * step];
    return sum;
}

static void test_levels(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    TtSample s = {0};
    assert_int_equal(open_mix(write_set(dir), "2", "[-3, 6]", &d), TT_OK);
    d->job.training = true;
    assert_int_equal(d->count, 5);
    assert_int_equal(d->classes, 2);
    double least = 99, most = -99;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(load(d, 0, (uint64_t)i, i % 5, &s), TT_OK);
        const float *x = s.parts[TT_PART_X].data, *y = s.parts[TT_PART_TARGET].data;
        assert_int_equal(s.parts[TT_PART_X].shape.dims[0], N);
        assert_int_equal(s.parts[TT_PART_TARGET].shape.dims[1], 2);
        for (int t = 0; t < N; t++) assert_float_equal(x[t], y[2 * t] + y[2 * t + 1], 1e-6);
        const double snr = 10 * log10(power(y, 2) / power(y + 1, 2));
        assert_true(snr > -3.001 && snr < 6.001);
        least = fmin(least, snr), most = fmax(most, snr);
    }
    assert_true(least < -2 && most > 5);
    tt_sample_free(&s);
    tt_dataset_close(d);
}

/* Of clip b1 only a, c and d can be partners, each about as often as another; b2 never. */
static void test_partners(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    TtSample s = {0};
    int seen[3] = {0};
    assert_int_equal(open_mix(write_set(dir), "2", "[0]", &d), TT_OK);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(load(d, 0, (uint64_t)i, 0, &s), TT_OK);
        const float *y = s.parts[TT_PART_TARGET].data;
        /* In validation all start at the start; c is a shorter ramp, so it ends in zeros. a and d differ by their sums only. */
        assert_true(y[0] < 0 && y[1] > 0);
        if (y[2 * N - 1] == 0) seen[0]++;
    }
    assert_in_range(seen[0], 70, 130);
    tt_sample_free(&s);
    tt_dataset_close(d);
}

static void test_three(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    TtSample s = {0};
    assert_int_equal(open_mix(write_set(dir), "4", "[0]", &d), TT_OK);
    for (int i = 0; i < 50; i++) { /* all four speakers, so exactly one is negative and one ends in zeros */
        assert_int_equal(load(d, 0, (uint64_t)i, i % 5, &s), TT_OK);
        const float *y = s.parts[TT_PART_TARGET].data;
        int negative = 0, ended = 0;
        for (int k = 0; k < 4; k++) negative += y[k] < 0, ended += y[4 * (N - 1) + k] == 0;
        assert_int_equal(negative, 1);
        assert_int_equal(ended, 1);
    }
    tt_sample_free(&s);
    tt_dataset_close(d);
}

/* The same draw gives the same samples, another epoch or position others; validation's first clip starts at its start. */
static void test_draws(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    TtSample s = {0}, t = {0};
    assert_int_equal(open_mix(write_set(dir), "2", "[-5, 5]", &d), TT_OK);
    d->job.training = true;
    assert_int_equal(load(d, 3, 4, 1, &s), TT_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(load(d, 3 + (i == 1), 4 + 7 * (i == 2), 1, &t), TT_OK);
        const int differ = memcmp(s.parts[TT_PART_X].data, t.parts[TT_PART_X].data, N * sizeof(float));
        assert_int_equal(differ != 0, i != 0);
    }
    d->job.training = false;
    assert_int_equal(load(d, 3, 4, 1, &s), TT_OK);
    assert_float_equal(((const float *)s.parts[TT_PART_TARGET].data)[0], 0.1f / 200, 1e-8);
    tt_sample_free(&s);
    tt_sample_free(&t);
    tt_dataset_close(d);
}

static void test_loud(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    TtSample s = {0};
    write_clip(dir, "a.wav", N, 0.9f);
    write_clip(dir, "b.wav", N, 0.8f);
    assert_int_equal(open_mix(write_list(dir, "set.tsv", "path\tspeaker\na.wav\ta\nb.wav\tb\n"), "2", "[0]", &d),
                     TT_OK);
    assert_int_equal(load(d, 0, 0, 0, &s), TT_OK);
    const float *x = s.parts[TT_PART_X].data, *y = s.parts[TT_PART_TARGET].data;
    assert_float_equal(x[N - 1], 1, 1e-6);
    assert_float_equal(y[2 * N - 2], 0.5, 1e-6);
    assert_float_equal(y[2 * N - 1], 0.5, 1e-6);
    tt_sample_free(&s);
    tt_dataset_close(d);
}

static void test_errors(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    TtSample s = {0};
    const char *list = write_set(dir);
    expect_error(open_mix(list, "5", "[0]", &d), TT_EDATA, "5 speakers cannot be made of 4", NULL);
    expect_error(open_mix(list, "2", "[5, -5]", &d), TT_ECONFIG, "[min, max]", NULL);
    expect_error(open_mix(list, "1", "[0]", &d), TT_ECONFIG, "sources", NULL);
    write_clip(dir, "quiet.wav", N, 0);
    /* A partner that is missing or silent: another is drawn only where errors are skipped, or never comes. */
    list = write_list(dir, "bad.tsv", "path\tspeaker\na.wav\ta\nnone.wav\tb\nb1.wav\tb\n");
    assert_int_equal(open_mix(list, "2", "[0]", &d), TT_OK);
    int failed = 0;
    for (int i = 0; i < 20; i++) failed += load(d, 0, (uint64_t)i, 0, &s) == TT_EDATA;
    assert_in_range(failed, 3, 17);
    assert_non_null(strstr(tt_error_message(), "bad.tsv:3"));
    d->job.skip_errors = true;
    for (int i = 0; i < 20; i++) assert_int_equal(load(d, 0, (uint64_t)i, 0, &s), TT_OK);
    tt_dataset_close(d);
    list = write_list(dir, "quiet.tsv", "path\tspeaker\na.wav\ta\nquiet.wav\tb\n");
    assert_int_equal(open_mix(list, "2", "[0]", &d), TT_OK);
    expect_error(load(d, 0, 0, 0, &s), TT_EDATA, "no clip of another speaker", NULL);
    expect_error(load(d, 0, 0, 1, &s), TT_EDATA, "quiet.wav", "silent", NULL);
    tt_dataset_close(d);
    tt_sample_free(&s);
}

static int teardown(void **state)
{
    tt_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_partners, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_three, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_draws, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_loud, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_errors, temp_setup, temp_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
