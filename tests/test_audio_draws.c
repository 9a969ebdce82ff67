/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_audio_draws.c - what the random transforms of sound draw: masks, factors, phases, noise from files; the
 * same for the same sample whatever ran before or runs beside. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "audio/mask.h"
#include "audio/reader.h"
#include "audio/resample.h"
#include "tests/support/sound.h"
#include "tests/support/temp.h"

/* ---- masks */

/* Lengths are uniform on 0..most-1, starts on what is left: mean and largest tell. */
static void test_mask_draws(void **state)
{
    enum { N = 20000, SIZE = 50, MOST = 20 };
    TtRng rng = tt_rng(1, TT_RNG_TEST, 2, 3, 4);
    int64_t start, end;
    int lengths[MOST + 1] = {0};
    double first = 0, last = 0;
    for (int i = 0; i < N; i++) {
        tt_mask_draw(&rng, SIZE, MOST, 1, &start, &end);
        assert_true(start >= 0 && end <= SIZE && end - start >= 0 && end - start <= MOST);
        lengths[end - start]++;
        first += (double)start, last += end == SIZE;
    }
    assert_int_equal(lengths[MOST], 0);
    for (int k = 0; k < MOST; k++) assert_true(abs(lengths[k] - N / MOST) < 5 * 31); /* 5 deviations of a binomial */
    /* The start is the whole part of u2 (SIZE - u1 MOST): 20 on average, less half for the part cut off. */
    assert_true(fabs(first / N - 19.5) < 0.5);
    assert_true(last / N < 0.05);
    for (int i = 0; i < 1000; i++) { /* p limits the length to trunc(50 * 0.07) = 3 */
        tt_mask_draw(&rng, SIZE, MOST, 0.07, &start, &end);
        assert_true(end - start < 3);
        tt_mask_draw(&rng, SIZE, MOST, 0.01, &start, &end);
        assert_true(end == start);
        tt_mask_draw(&rng, 4, 100, 1, &start, &end); /* wider than the axis */
        assert_true(start >= 0 && end <= 4);
    }
}

static void ones(TtAudio *a, int channels, int64_t frames, int bins)
{
    assert_int_equal(tt_audio_resize(a, channels, frames, bins, false), TT_OK);
    for (size_t i = 0; i < tt_audio_floats(a); i++) a->data[i] = 1 + (float)(i % 7);
}

/* Which frames (or bins) of a channel are VALUE throughout: how many, and whether they lie together. */
static int masked(const TtAudio *a, int c, bool time, float value, bool *together)
{
    const int64_t n = time ? a->frames : a->bins, m = time ? a->bins : a->frames;
    int count = 0;
    int64_t lo = n, hi = -1;
    for (int64_t i = 0; i < n; i++) {
        bool all = true;
        for (int64_t j = 0; j < m; j++) {
            const int64_t t = time ? i : j, k = time ? j : i;
            all = all && a->data[(c * a->frames + t) * a->bins + k] == value;
        }
        if (all) count++, lo = i < lo ? i : lo, hi = i;
    }
    *together = count == 0 || hi - lo + 1 == count;
    return count;
}

static void test_masks(void **state)
{
    static const struct {
        const char *yaml;
        bool time, each;
        int below;
    } cases[] = {
        {"[{TimeMasking: {time_mask_param: 9}}]", true, false, 9},
        {"[{TimeMasking: {time_mask_param: 9, iid_masks: true}}]", true, true, 9},
        {"[{TimeMasking: {time_mask_param: 30, p: 0.2}}]", true, false, 8},
        {"[{FrequencyMasking: {freq_mask_param: 6}}]", false, false, 6},
        {"[{FrequencyMasking: {freq_mask_param: 6, iid_masks: true}}]", false, true, 6},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        Sound s;
        int differ = 0, largest = 0;
        sound_open(&s, cases[i].yaml);
        for (int n = 0; n < 300; n++) {
            ones(&s.audio, 2, 40, 23);
            sound_apply_ok(&s, (uint64_t)n);
            bool together0, together1;
            const int a = masked(&s.audio, 0, cases[i].time, 0, &together0);
            const int b = masked(&s.audio, 1, cases[i].time, 0, &together1);
            assert_true(together0 && together1 && a < cases[i].below && b < cases[i].below);
            double sum = 0; /* nothing else is touched */
            for (size_t k = 0; k < tt_audio_floats(&s.audio); k++) sum += s.audio.data[k] == 0;
            assert_true(sum == (double)((a + b) * (cases[i].time ? 23 : 40)));
            differ += a != b, largest = a > largest ? a : largest;
        }
        assert_int_equal(largest, cases[i].below - 1);
        if (cases[i].each)
            assert_true(differ > 150);
        else
            assert_int_equal(differ, 0);
        sound_close(&s);
    }
}

static void test_spec_augment(void **state)
{
    Sound s;
    bool together;
    int time = 0, bins = 0;
    sound_open(&s, "[{SpecAugment: {n_time_masks: 2, time_mask_param: 9, n_freq_masks: 1, freq_mask_param: 5}}]");
    for (int n = 0; n < 200; n++) {
        ones(&s.audio, 2, 40, 23);
        double mean = 0;
        for (size_t k = 0; k < tt_audio_floats(&s.audio); k++) mean += (double)s.audio.data[k];
        mean /= (double)tt_audio_floats(&s.audio);
        sound_apply_ok(&s, (uint64_t)n);
        const int t = masked(&s.audio, 0, true, (float)mean, &together),
                  k = masked(&s.audio, 0, false, (float)mean, &together);
        assert_true(t <= 16 && k <= 4);
        time = t > time ? t : time, bins = k > bins ? k : bins;
    }
    assert_true(time > 10 && bins == 4); /* two masks of up to 8 each */
    sound_close(&s);
    sound_open(&s, "[{SpecAugment: {n_time_masks: 1, time_mask_param: 30, n_freq_masks: 0, freq_mask_param: 5, "
                   "zero_masking: true, iid_masks: false, p: 0.5}}]");
    for (int n = 0; n < 50; n++) {
        ones(&s.audio, 2, 40, 23);
        sound_apply_ok(&s, (uint64_t)n);
        assert_true(masked(&s.audio, 0, true, 0, &together) < 20 && together);
    }
    sound_close(&s);
}

/* ---- keys: what is drawn depends on seed, epoch, sample and place only */

static uint64_t digest(const TtAudio *a)
{
    uint64_t h = (uint64_t)a->frames * 31 + (uint64_t)a->bins;
    for (size_t i = 0; i < tt_audio_floats(a); i++) {
        uint32_t u;
        memcpy(&u, &a->data[i], 4);
        h = tt_mix64(h ^ u);
    }
    return h;
}

static uint64_t drawn(Sound *s, uint64_t seed, uint64_t epoch, uint64_t sample)
{
    sound_fill(&s->audio, 2, 3000, 16000, 0.5f, 0);
    if (sound_apply(s, seed, epoch, sample) != TT_OK) fail_msg("%s", tt_error_message());
    return digest(&s->audio);
}

static const char chain[] =
    "[{SpeedPerturbation: {factors: [0.9, 1.0, 1.1]}}, {MelSpectrogram: {n_mels: 40}}, Log,\n"
    " {SpecAugment: {n_time_masks: 2, time_mask_param: 6, n_freq_masks: 2, freq_mask_param: 12}}]";

static void test_keyed(void **state)
{
    Sound a, b;
    sound_open(&a, chain), sound_open(&b, chain);
    const uint64_t want = drawn(&a, 1, 2, 3);
    assert_true(drawn(&a, 1, 2, 4) != want && drawn(&a, 1, 3, 3) != want && drawn(&a, 2, 2, 3) != want);
    assert_true(drawn(&a, 1, 2, 3) == want && drawn(&b, 1, 2, 3) == want);
    sound_close(&a), sound_close(&b);
    sound_open(&a, "[{Spectrogram: {n_fft: 64}}, {GriffinLim: {n_fft: 64, n_iter: 2}}]");
    assert_true(drawn(&a, 1, 2, 3) != drawn(&a, 1, 2, 4));
    sound_close(&a);
}

typedef struct Worker {
    const TtTransformChain *chain;
    uint64_t digest[8];
} Worker;

static void *work(void *arg)
{
    Worker *w = arg;
    Sound s = {.chain = *w->chain};
    for (uint64_t i = 0; i < 8; i++) w->digest[i] = drawn(&s, 5, 0, i);
    tt_audio_free(&s.audio);
    tt_transform_scratch_free(&s.scratch);
    return NULL;
}

static void test_threads(void **state)
{
    enum { N = 4 };
    Sound s;
    Worker workers[N];
    pthread_t threads[N];
    sound_open(&s, chain);
    for (int i = 0; i < N; i++) {
        workers[i].chain = &s.chain;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
    for (int i = 1; i < N; i++) assert_memory_equal(workers[i].digest, workers[0].digest, sizeof workers[0].digest);
    for (uint64_t i = 0; i < 8; i++) assert_true(drawn(&s, 5, 0, i) == workers[0].digest[i]);
    sound_close(&s);
}

static void test_speeds(void **state)
{
    Sound s;
    int counts[3] = {0};
    sound_open(&s, "[{SpeedPerturbation: {orig_freq: 16000, factors: [0.8, 1.0, 1.25]}}]");
    for (int n = 0; n < 300; n++) {
        sound_fill(&s.audio, 1, 100, 16000, 0.5f, 0);
        sound_apply_ok(&s, (uint64_t)n);
        assert_int_equal(s.audio.sample_rate, 16000);
        const int64_t frames = s.audio.frames;
        assert_true(frames == 125 || frames == 100 || frames == 80);
        counts[frames == 125 ? 0 : frames == 100 ? 1 : 2]++;
    }
    for (int i = 0; i < 3; i++) assert_true(abs(counts[i] - 100) < 5 * 8);
    sound_close(&s);
}

/* ---- resamplers are shared, and those that nobody holds do not pile up */

static void test_resamplers(void **state)
{
    const TtResampler *a, *b;
    assert_int_equal(tt_resampler_get(&(TtResampleArgs){.orig_freq = 44100, .new_freq = 16000}, &a), TT_OK);
    assert_int_equal(tt_resampler_get(&(TtResampleArgs){.orig_freq = 44100, .new_freq = 16000, .width = 6}, &b), TT_OK);
    assert_ptr_equal(a, b);
    tt_resampler_put(b);
    for (int i = 0; i < 60; i++) { /* half a million weights each */
        assert_int_equal(tt_resampler_get(&(TtResampleArgs){.orig_freq = 44101 + i, .new_freq = 32003}, &b), TT_OK);
        tt_resampler_put(b);
    }
    assert_int_equal(tt_resampler_length(a, 441), 160); /* held, so still there */
    tt_resampler_put(a);
    assert_int_equal(tt_resampler_get(&(TtResampleArgs){.orig_freq = 0, .new_freq = 16000}, &a), TT_EDATA);
    TtAudio x = {0};
    TtTransformScratch scratch = {0};
    sound_fill(&x, 2, 4410, 44100, 0.5f, 0);
    assert_int_equal(tt_audio_to_rate(&x, 16000, &scratch, "x.wav"), TT_OK);
    assert_true(x.frames == 1600 && x.sample_rate == 16000 && x.channels == 2);
    assert_int_equal(tt_audio_to_rate(&x, 16000, &scratch, "x.wav"), TT_OK);
    assert_int_equal(x.frames, 1600);
    tt_audio_free(&x);
    tt_transform_scratch_free(&scratch);
}

/* ---- noise and impulse responses from files */

static void write_wav(const char *folder, const char *name, int channels, int64_t n, int rate)
{
    char path[300];
    TtAudio a = {0};
    sound_fill(&a, channels, n, rate, 0.3f, n / 3);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(tt_wav_write(path, &a, true), TT_OK);
    tt_audio_free(&a);
}

static void test_noise(void **state)
{
    const char *folder = *state;
    char yaml[900];
    Sound s;
    TtAudio clean = {0}, noise = {0};
    write_wav(folder, "a.wav", 1, 5000, 16000);
    sound_fill(&noise, 1, 5000, 16000, 0.3f, 5000 / 3);
    snprintf(yaml, sizeof yaml, "[{AddNoise: {noise: '%s/*.wav', snr: [3, 9]}}]", folder);
    sound_open(&s, yaml);
    sound_fill(&clean, 2, 1000, 16000, 0.5f, 0);
    double lo = 99, hi = -99;
    for (uint64_t i = 0; i < 100; i++) {
        sound_fill(&s.audio, 2, 1000, 16000, 0.5f, 0);
        sound_apply_ok(&s, i);
        assert_true(s.audio.frames == 1000 && s.audio.channels == 2);
        double signal = 0, added = 0, cross = 0, best = 0;
        for (int k = 0; k < 1000; k++) {
            const double x = (double)clean.data[k], d = (double)s.audio.data[k] - x;
            signal += x * x, added += d * d;
        }
        const double snr = 10 * log10(signal / added);
        lo = fmin(lo, snr), hi = fmax(hi, snr);
        /* What was added is a stretch of the file: it correlates fully with one of them. */
        for (int at = 0; at + 1000 <= 5000; at++) {
            double dot = 0, power = 0;
            for (int k = 0; k < 1000; k++) {
                const double d = (double)s.audio.data[k] - (double)clean.data[k], y = (double)noise.data[at + k];
                dot += d * y, power += y * y;
            }
            cross = dot / sqrt(power * added), best = fmax(best, cross);
            if (best > 0.9999) break;
        }
        assert_true(best > 0.9999);
    }
    assert_true(lo > 2.999 && lo < 3.5 && hi < 9.001 && hi > 8.5);
    sound_close(&s);
    tt_audio_free(&clean), tt_audio_free(&noise);
}

/* Short files are repeated, other rates converted, other numbers of channels mixed; a bad file is named. */
static void test_files(void **state)
{
    const char *folder = *state;
    char yaml[900], path[300];
    Sound s;
    write_wav(folder, "short.wav", 3, 70, 8000);
    snprintf(yaml, sizeof yaml, "[{AddNoise: {noise: '%s/short.wav', snr: 0}}]", folder);
    sound_open(&s, yaml);
    sound_fill(&s.audio, 2, 1000, 16000, 0.5f, 0);
    sound_apply_ok(&s, 1);
    assert_int_equal(s.audio.frames, 1000);
    sound_fill(&s.audio, 1, 0, 16000, 0.5f, 0);
    sound_apply_ok(&s, 1);
    sound_close(&s);
    snprintf(yaml, sizeof yaml, "[{FFTConvolve: {impulse_response: ['%s/short.wav'], mode: same, normalize: true}}]",
             folder);
    sound_open(&s, yaml);
    sound_fill(&s.audio, 1, 1000, 8000, 0.5f, 0);
    sound_apply_ok(&s, 1);
    assert_true(s.audio.frames == 1000 && s.audio.channels == 3);
    sound_fill(&s.audio, 2, 1000, 8000, 0.5f, 0);
    assert_int_equal(sound_apply(&s, 1, 0, 0), TT_EDATA);
    assert_non_null(
        strstr(tt_error_message(), "x.wav: FFTConvolve cannot take 2 channels and an impulse response of 3"));
    sound_close(&s);
    snprintf(path, sizeof path, "%s/bad.wav", folder);
    FILE *f = fopen(path, "wb");
    assert_true(f && fputs("RIFF\xff\xff\xff\x7fWAVEfmt nothing", f) >= 0 && fclose(f) == 0);
    snprintf(yaml, sizeof yaml, "[{AddNoise: {noise: '%s', snr: 0}}]", path);
    sound_open(&s, yaml);
    sound_fill(&s.audio, 1, 1000, 8000, 0.5f, 0);
    assert_int_equal(sound_apply(&s, 1, 0, 0), TT_EDATA);
    assert_non_null(strstr(tt_error_message(), "bad.wav"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sound_apply(&s, 1, 0, 0), TT_EDATA);
    assert_non_null(strstr(tt_error_message(), "bad.wav"));
    sound_close(&s);
}

/* An impulse response of one sample 1 changes nothing; with normalize so does one of 0.25. */
static void test_impulse(void **state)
{
    const char *folder = *state;
    char yaml[900], path[300];
    Sound s;
    TtAudio a = {0};
    assert_int_equal(tt_audio_resize(&a, 1, 1, 1, false), TT_OK);
    a.data[0] = 0.25f, a.sample_rate = 16000;
    snprintf(path, sizeof path, "%s/one.wav", folder);
    assert_int_equal(tt_wav_write(path, &a, true), TT_OK);
    snprintf(yaml, sizeof yaml, "[{FFTConvolve: {impulse_response: '%s', normalize: true}}]", path);
    sound_open(&s, yaml);
    sound_fill(&s.audio, 1, 777, 16000, 0.5f, 0);
    sound_fill(&a, 1, 777, 16000, 0.5f, 0);
    sound_apply_ok(&s, 1);
    for (int i = 0; i < 777; i++) assert_true(fabsf(s.audio.data[i] - a.data[i]) < 1e-6f);
    sound_close(&s);
    tt_audio_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mask_draws),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_spec_augment),
        cmocka_unit_test(test_keyed),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_speeds),
        cmocka_unit_test(test_resamplers),
        cmocka_unit_test_setup_teardown(test_noise, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_files, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_impulse, temp_setup, temp_teardown),
    };
    return cmocka_run_group_tests_name("draws of sound", tests, NULL, NULL);
}
