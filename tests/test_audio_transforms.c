/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_audio_transforms.c - the values of the sound transforms against torchaudio's (tests/audio_cases.inc, made
 * by scripts/make_audio_values.py) with the same bits at every instruction set; the clips and arguments that they
 * refuse; awkward sizes. What is drawn is test_audio_draws.c's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "audio/mix.h"
#include "tensor/isa.h"
#include "tests/support/sound.h"

static const struct Case {
    const char *yaml; /* or "@FUNCTION ...": see mixed() */
    int channels;
    int64_t n;
    int sample_rate;
    float scale;
    int64_t quiet; /* samples at the start */
    int c;
    int64_t frames;
    int bins;
    bool is_complex;
    size_t at;    /* in values.bin, in floats */
    size_t step;  /* only each STEPth value is there */
    double limit; /* largest difference over the largest value */
} cases[] = {
#include "tests/audio_cases.inc"
};

static char warning[300]; /* the last one */

static void keep_warning(void *user, const char *text)
{
    snprintf(warning, sizeof warning, "%s", text);
}

static void test_warnings(void **state)
{
    Sound s;
    sound_open(&s, "[MelSpectrogram]"); /* torchaudio's own defaults leave filters empty, and it says so too */
    assert_string_equal(warning,
                        "4 of the 128 mel filters cover no frequency of the spectrum and stay 0: n_mels is too "
                        "large for n_fft, or f_max too small");
    sound_fill(&s.audio, 1, 500, 16000, 0.5f, 0);
    sound_apply_ok(&s, 0);
    assert_memory_equal(warning, "4 of", 4);
    sound_fill(&s.audio, 1, 500, 8000, 0.5f, 0);
    sound_apply_ok(&s, 0);
    assert_string_equal(warning, "x.wav: MelSpectrogram takes the clip for one of 16000 Hz, but it has 8000; give its "
                                 "sample_rate, or put a Resample before it");
    warning[0] = 0;
    sound_fill(&s.audio, 1, 500, 8000, 0.5f, 0);
    sound_apply_ok(&s, 0);
    assert_string_equal(warning, "");
    sound_close(&s);
}

static float *read_values(size_t *n)
{
    FILE *f = fopen("tests/data/audio/values.bin", "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    float *v = malloc((size_t)size);
    assert_true(v && fread(v, 1, (size_t)size, f) == (size_t)size);
    fclose(f);
    *n = (size_t)size / sizeof *v;
    return v;
}

/* "@add_noise CHANNELS SNR", "@fftconvolve CHANNELS SAMPLES MODE": the second waveform is another of the formula's. */
static void mixed(Sound *s, const char *text)
{
    static const char *const modes[] = {"full", "valid", "same"};
    TtAudio second = {0};
    int channels;
    double snr;
    long m;
    char mode[8];
    if (sscanf(text, "@add_noise %d %lf", &channels, &snr) == 2) {
        sound_fill(&second, channels, s->audio.frames, 1, 0.3f, s->audio.frames / 3);
        tt_add_noise(&s->audio, &second, snr);
    } else {
        assert_int_equal(sscanf(text, "@fftconvolve %d %ld %7s", &channels, &m, mode), 3);
        int which = 0;
        while (strcmp(mode, modes[which]) != 0) which++;
        sound_fill(&second, channels, m, 1, 0.3f, m / 3);
        if (tt_fft_convolve(&s->audio, &second, (TtConvolveMode)which, &s->scratch.audio, &s->scratch, "x.wav") !=
            TT_OK)
            fail_msg("%s", tt_error_message());
        tt_audio_swap(&s->audio, &s->scratch.audio);
    }
    tt_audio_free(&second);
}

static void run(const struct Case *k, Sound *s)
{
    sound_open(s, k->yaml[0] == '@' ? "[]" : k->yaml);
    sound_fill(&s->audio, k->channels, k->n, k->sample_rate, k->scale, k->quiet);
    if (k->yaml[0] == '@')
        mixed(s, k->yaml);
    else if (sound_apply(s, 7, 0, 0) != TT_OK)
        fail_msg("%s: %s", k->yaml, tt_error_message());
}

static bool close_enough(const struct Case *k, const TtAudio *a, const float *values)
{
    double top = 1e-30, worst = 0;
    const size_t total = tt_audio_floats(a);
    for (size_t j = 0; j * k->step < total; j++) {
        const double want = (double)values[k->at + j], d = fabs((double)a->data[j * k->step] - want);
        top = fmax(top, fabs(want));
        worst = d <= worst ? worst : d; /* NaN counts */
    }
    if (worst <= k->limit * top) return true;
    print_error("%s, %lld samples: off by %g of %g (%.3g)\n", k->yaml, (long long)k->n, worst, top, worst / top);
    return false;
}

static void test_values(void **state)
{
    size_t n, failed = 0;
    float *values = read_values(&n);
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const struct Case *k = &cases[i];
        Sound s;
        run(k, &s);
        const TtAudio *a = &s.audio;
        if (a->channels != k->c || a->frames != k->frames || a->bins != k->bins || a->is_complex != k->is_complex)
            fail_msg("%s: (%d,%lld,%d), not (%d,%lld,%d)", k->yaml, a->channels, (long long)a->frames, a->bins, k->c,
                     (long long)k->frames, k->bins);
        assert_true(k->at + (tt_audio_floats(a) + k->step - 1) / k->step <= n);
        failed += !close_enough(k, a, values);
        sound_close(&s);
    }
    free(values);
    if (failed) fail_msg("%zu of %d cases", failed, TT_COUNT(cases));
}

static void test_levels(void **state)
{
    const TtIsa best = tt_isa();
    for (int i = 0; i < TT_COUNT(cases); i++) {
        Sound first, s;
        tt_isa_use(TT_ISA_PLAIN);
        run(&cases[i], &first);
        for (TtIsa isa = TT_ISA_AVX2; isa <= best; isa++) {
            tt_isa_use(isa);
            run(&cases[i], &s);
            const size_t n = tt_audio_floats(&s.audio);
            assert_int_equal(n, tt_audio_floats(&first.audio));
            if (n > 0 && memcmp(s.audio.data, first.audio.data, sizeof(float) * n) != 0)
                print_error("%s differs at %s\n", cases[i].yaml, tt_isa_name(isa)), fail();
            sound_close(&s);
        }
        sound_close(&first);
    }
    tt_isa_use(best);
}

/* ---- what is refused */

static void test_config_errors(void **state)
{
    static const struct {
        const char *yaml, *message;
    } errors[] = {
        {"[MelSpectogram]", "test.yaml:1:2: unknown transform 'MelSpectogram'; did you mean 'MelSpectrogram'?"},
        {"[{Spectrogram: {n_fft: 0}}]", "test.yaml:1:24: n_fft must be at least 1"},
        {"[{Spectrogram: {n_fft: 9, win_length: 10}}]",
         "test.yaml:1:39: win_length (10) must not be greater than n_fft (9)"},
        {"[{Spectrogram: {n_fft: 1}}]", "test.yaml:1:24: win_length 1 leaves hop_length at 0; give hop_length"},
        {"[{Spectrogram: {window_fn: hann}}]", "test.yaml:1:28: window_fn must be hann_window, hamming_window"},
        {"[{Spectrogram: {wkwargs: {alpha: 0.5}}}]", "test.yaml:1:34: alpha belongs to hamming_window"},
        {"[{Spectrogram: {wkwargs: {beta: 0.5}}}]", "test.yaml:1:33: beta belongs to hamming_window and kaiser_window"},
        {"[{Spectrogram: {wkwargs: {gamma: 1}}}]", "test.yaml:1:27: unknown key 'gamma'"},
        {"[{Spectrogram: {power: 0}}]", "test.yaml:1:24: power must be greater than 0"},
        {"[{Spectrogram: {normalized: yes}}]",
         "test.yaml:1:29: normalized must be false, true, window or frame_length"},
        {"[{Spectrogram: {pad_mode: edge}}]",
         "test.yaml:1:27: pad_mode must be reflect, constant, replicate or circular"},
        {"[{MelSpectrogram: {power: null}}]", "test.yaml:1:27: power must be a number"},
        {"[{MelSpectrogram: {f_min: 9000}}]", "test.yaml:1:27: f_min (9000 Hz) must be less than f_max (8000 Hz)"},
        {"[{MelSpectrogram: {norm: area}}]", "test.yaml:1:26: norm must be null or slaney, not 'area'"},
        {"[{MFCC: {n_mfcc: 41, melkwargs: {n_mels: 40}}}]",
         "test.yaml:1:18: n_mfcc (41) must not be greater than n_mels (40)"},
        {"[{MFCC: {dct_type: 3}}]", "test.yaml:1:20: dct_type must be at most 2"},
        {"[{MFCC: {melkwargs: {sample_rate: 8000}}}]", "test.yaml:1:22: unknown key 'sample_rate'"},
        {"[{LFCC: {speckwargs: {power: null}}}]", "test.yaml:1:22: LFCC needs a one-sided spectrogram with a power"},
        {"[{LFCC: {n_filter: 10}}]", "n_lfcc (40) must not be greater than n_filter (10)"},
        {"[{AmplitudeToDB: {top_db: -1}}]", "test.yaml:1:27: top_db must be at least 0"},
        {"[{NormalizeDB: {min_level_db: 0}}]", "test.yaml:1:31: min_level_db must be less than 0"},
        {"[{Resample: {orig_freq: 0}}]", "test.yaml:1:25: orig_freq must be at least 1"},
        {"[{Resample: {orig_freq: 999999937, new_freq: 16000}}]",
         "resampling from 999999937 to 16000 Hz would take a kernel of"},
        {"[{Speed: {orig_freq: 16000}}]", "test.yaml:1:3: Speed: the key 'factor' is missing"},
        {"[{Speed: {factor: 0.01, orig_freq: 10}}]", "test.yaml:1:19: 0.01 times 10 Hz is less than 1 Hz"},
        {"[{SpeedPerturbation: {factors: []}}]", "test.yaml:1:32: factors needs at least 1 value, not 0"},
        {"[{TimeMasking: {time_mask_param: 3, p: 2}}]", "test.yaml:1:40: p must be at most 1"},
        {"[{FrequencyMasking: {freq_mask_param: 3, p: 1}}]", "test.yaml:1:42: unknown key 'p'"},
        {"[{Vol: {gain: -1}}]", "test.yaml:1:15: gain must not be negative, unless gain_type is db"},
        {"[{TimeStretch: {n_freq: 9}}]", "test.yaml:1:3: TimeStretch: the key 'fixed_rate' is missing"},
        {"[{GriffinLim: {momentum: 1}}]", "test.yaml:1:26: momentum must be less than 1"},
        {"[{PitchShift: {sample_rate: 16000, n_steps: 99}}]", "test.yaml:1:45: n_steps is more than six octaves"},
        {"[{Vad: {sample_rate: 1000, lp_lifter_freq: 100}}]",
         "no frequency is left between hp_lifter_freq and lp_lifter_freq"},
        {"[{Vad: {sample_rate: 16000, hp_filter_freq: 7000}}]",
         "no frequency is left between hp_filter_freq and lp_filter_freq"},
        {"[{Vad: {sample_rate: 100000000, measure_duration: 99}}]",
         "these times are too long for a sample_rate of 100000000"},
        {"[{ComputeDeltas: {win_length: 2}}]", "test.yaml:1:31: win_length must be at least 3"},
        {"[{AddNoise: {noise: /nowhere/*.wav, snr: 5}}]", "test.yaml:1:21: "},
        {"[{AddNoise: {noise: x.wav, snr: [9, 3]}}]",
         "test.yaml:1:33: snr must be [min, max], but 9 is greater than 3"},
    };
    for (int i = 0; i < TT_COUNT(errors); i++) {
        Sound s;
        if (sound_parse(&s, errors[i].yaml) != TT_ECONFIG) fail_msg("%s was taken", errors[i].yaml);
        if (!strstr(tt_error_message(), errors[i].message)) fail_msg("%s: %s", errors[i].yaml, tt_error_message());
        sound_close(&s);
    }
}

/* A transform that meets what it cannot take: the clip at fault is data, the list at fault is config. */
static void test_clip_errors(void **state)
{
    static const struct {
        const char *yaml;
        int channels;
        int64_t n;
        TtStatus status;
        const char *message;
    } errors[] = {
        {"[Spectrogram]", 1, 200, TT_EDATA,
         "x.wav: 200 samples are too few for Spectrogram with n_fft 400; it needs 201"},
        {"[MelSpectrogram]", 1, 0, TT_EDATA,
         "x.wav: 0 samples are too few for MelSpectrogram with n_fft 400; it needs 201"},
        {"[{Spectrogram: {center: false}}]", 1, 399, TT_EDATA,
         "x.wav: 399 samples are too few for Spectrogram with n_fft 400; it needs 400"},
        {"[{Spectrogram: {pad_mode: circular}}]", 1, 199, TT_EDATA, "it needs 200"},
        {"[{Spectrogram: {pad_mode: replicate}}]", 1, 0, TT_EDATA, "it needs 1"},
        {"[{Spectrogram: {pad: 50}}]", 1, 100, TT_EDATA, "it needs 101"},
        {"[{Spectrogram: {n_fft: 5, pad_mode: constant}}]", 1, 0, TT_EDATA, "x.wav: 0 samples are too few"},
        {"[{MFCC: {n_mfcc: 5}}, {ComputeDeltas: {win_length: 9, mode: reflect}}]", 1, 799, TT_EDATA,
         "x.wav: 4 frames are too few for ComputeDeltas with win_length 9"},
        {"[{Fade: {fade_in_len: 11}}]", 1, 10, TT_EDATA, "x.wav: 10 samples are too few for a Fade of 11"},
        {"[{Loudness: {sample_rate: 16000}}]", 1, 6399, TT_EDATA,
         "x.wav: 6399 samples are too few for Loudness; it needs 6400"},
        {"[{Loudness: {sample_rate: 100}}]", 6, 640, TT_EDATA, "x.wav: Loudness knows up to 5 channels, not 6"},
        {"[{Spectrogram: {n_fft: 64, power: null, center: false}}, {InverseSpectrogram: {n_fft: 64, center: false}}]",
         1, 300, TT_EDATA, "x.wav: InverseSpectrogram: the windows leave sample 0 uncovered"},
        {"[{Spectrogram: {n_fft: 64, power: null}}, {InverseSpectrogram: {n_fft: 64, hop_length: 70}}]", 1, 300,
         TT_EDATA, "uncovered"},
        {"[{Spectrogram: {n_fft: 64}}, {GriffinLim: {n_fft: 64, n_iter: 2, length: 999}}]", 1, 300, TT_EDATA,
         "x.wav: GriffinLim's length 999 makes"},
        {"[MelSpectrogram, Spectrogram]", 1, 900, TT_ECONFIG,
         "Spectrogram works on waveforms, but here it gets features of 128 bins (x.wav)"},
        {"[Spectrogram, {Resample: {new_freq: 8000}}]", 1, 900, TT_ECONFIG, "Resample works on waveforms"},
        {"[Spectrogram, Resample]", 1, 900, TT_ECONFIG, "Resample works on waveforms"},
        {"[{Spectrogram: {power: null}}, MelScale]", 1, 900, TT_ECONFIG,
         "MelScale works on real values, but here it gets a complex spectrogram (x.wav)"},
        {"[{Spectrogram: {power: null}}, Log]", 1, 900, TT_ECONFIG, "Log works on real values"},
        {"[{Spectrogram: {n_fft: 64}}, MelScale]", 1, 900, TT_ECONFIG,
         "MelScale expects 201 bins, but the spectrogram has 33 (x.wav)"},
        {"[Spectrogram, InverseSpectrogram]", 1, 900, TT_ECONFIG,
         "InverseSpectrogram needs a complex spectrogram of 201 bins"},
        {"[{Spectrogram: {n_fft: 64}}, {TimeStretch: {n_freq: 33, fixed_rate: 2}}]", 1, 900, TT_ECONFIG,
         "TimeStretch works on complex spectrograms"},
        {"[{Spectrogram: {n_fft: 64, power: null}}, {TimeStretch: {fixed_rate: 2}}]", 1, 900, TT_ECONFIG,
         "TimeStretch has n_freq 201, but the spectrogram has 33 bins"},
    };
    for (int i = 0; i < TT_COUNT(errors); i++) {
        Sound s;
        sound_open(&s, errors[i].yaml);
        sound_fill(&s.audio, errors[i].channels, errors[i].n, 16000, 0.5f, 0);
        if (sound_apply(&s, 1, 0, 0) != errors[i].status) fail_msg("%s: status", errors[i].yaml);
        if (!strstr(tt_error_message(), errors[i].message)) fail_msg("%s: %s", errors[i].yaml, tt_error_message());
        sound_close(&s);
    }
}

/* ---- every transform on small and empty clips: values, or an error that names the clip */

static const char *arguments(const char *name)
{
    static const char *const needed[][2] = {
        {"Resample", "{orig_freq: auto, new_freq: 11025}"},
        {"Speed", "{factor: 1.1}"},
        {"SpeedPerturbation", "{factors: [0.9, 1.0, 1.1]}"},
        {"PitchShift", "{sample_rate: 16000, n_steps: 2, n_fft: 16}"},
        {"Log", "{eps: 2}"}, /* the waveform has negative values */
        {"Vol", "{gain: 0.5}"},
        {"Fade", "{fade_in_len: 2, fade_out_len: 3}"},
        {"Vad", "{sample_rate: 500, lp_filter_freq: 200, hp_lifter_freq: 20, lp_lifter_freq: 120}"},
        {"Loudness", "{sample_rate: 10}"},
        {"Spectrogram", "{n_fft: 5}"},
        {"SpectralCentroid", "{sample_rate: 16000, n_fft: 4}"},
        {"MelSpectrogram", "{n_fft: 64, n_mels: 3}"},
        {"MelScale", "{n_stft: 1, n_mels: 2}"},
        {"MFCC", "{n_mfcc: 2, melkwargs: {n_fft: 64, n_mels: 3}}"},
        {"LFCC", "{n_lfcc: 2, n_filter: 3, speckwargs: {n_fft: 8}}"},
        {"TimeStretch", "{fixed_rate: 2}"},
        {"FrequencyMasking", "{freq_mask_param: 5}"},
        {"TimeMasking", "{time_mask_param: 5, p: 0.9}"},
        {"SpecAugment", "{n_time_masks: 2, time_mask_param: 3, n_freq_masks: 2, freq_mask_param: 3}"},
        {"GriffinLim", "{n_fft: 16, n_iter: 1}"},
    };
    for (int i = 0; i < TT_COUNT(needed); i++)
        if (strcmp(needed[i][0], name) == 0) return needed[i][1];
    return "{}";
}

static void test_every_transform(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 33, 400, 1001};
    for (int t = 0; tt_transforms[t]; t++) {
        const char *name = tt_transforms[t]->name;
        if (tt_transforms[t]->media != TT_MEDIA_SOUND) continue;
        if (strcmp(name, "AddNoise") == 0 || strcmp(name, "FFTConvolve") == 0) continue; /* they need files */
        int good = 0;
        char yaml[300];
        Sound s;
        snprintf(yaml, sizeof yaml, "[{%s: %s}]", name, arguments(name));
        sound_open(&s, yaml);
        for (int i = 0; i < TT_COUNT(sizes) * 2; i++) {
            sound_fill(&s.audio, 1 + i % 2, sizes[i / 2], 16000, 0.5f, 0);
            const TtStatus status = sound_apply(&s, 3, 0, (uint64_t)i);
            if (status != TT_OK) {
                if (!strstr(tt_error_message(), "x.wav")) fail_msg("%s: %s", yaml, tt_error_message());
                continue;
            }
            good++;
            assert_true(tt_audio_floats(&s.audio) <= s.audio.capacity);
            for (size_t k = 0; k < tt_audio_floats(&s.audio); k++)
                if (!isfinite(s.audio.data[k]))
                    fail_msg("%s makes %g of %lld", yaml, (double)s.audio.data[k], (long long)sizes[i / 2]);
        }
        const bool spectral = strcmp(name, "InverseSpectrogram") == 0 || strcmp(name, "GriffinLim") == 0 ||
                              strcmp(name, "TimeStretch") == 0;
        if (spectral ? good > 0 : good < 4) fail_msg("%s worked on %d clips", yaml, good);
        sound_close(&s);
    }
}

int main(void)
{
    tt_warn_sink(keep_warning, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warnings), /* first: one of them comes once */
        cmocka_unit_test(test_values),          cmocka_unit_test(test_levels),
        cmocka_unit_test(test_config_errors),   cmocka_unit_test(test_clip_errors),
        cmocka_unit_test(test_every_transform),
    };
    return cmocka_run_group_tests_name("sound", tests, NULL, NULL);
}
