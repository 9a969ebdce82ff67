/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_audio_transforms.c - the values of the sound transforms against torchaudio's (tests/audio_cases.inc, made
 * by scripts/make_audio_values.py), and the clips and arguments that they refuse. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/sound.h"

static const struct Case {
    const char *yaml;
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

static void test_values(void **state)
{
    size_t n, failed = 0;
    float *values = read_values(&n);
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const struct Case *k = &cases[i];
        Sound s;
        sound_open(&s, k->yaml);
        sound_fill(&s.audio, k->channels, k->n, k->sample_rate, k->scale, k->quiet);
        if (sound_apply(&s, 7, 0, 0) != TT_OK) fail_msg("%s: %s", k->yaml, tt_error_message());
        const TtAudio *a = &s.audio;
        if (a->channels != k->c || a->frames != k->frames || a->bins != k->bins || a->is_complex != k->is_complex)
            fail_msg("%s: (%d,%lld,%d), not (%d,%lld,%d)", k->yaml, a->channels, (long long)a->frames, a->bins, k->c,
                     (long long)k->frames, k->bins);
        double top = 1e-30, worst = 0;
        const size_t total = tt_audio_floats(a);
        assert_true(k->at + (total + k->step - 1) / k->step <= n);
        for (size_t j = 0; j * k->step < total; j++) {
            const double want = (double)values[k->at + j], d = fabs((double)a->data[j * k->step] - want);
            top = fmax(top, fabs(want));
            worst = d <= worst ? worst : d; /* NaN counts */
        }
        if (!(worst <= k->limit * top)) {
            print_error("%s, %lld samples: off by %g of %g (%.3g)\n", k->yaml, (long long)k->n, worst, top,
                        worst / top);
            failed++;
        }
        sound_close(&s);
    }
    free(values);
    if (failed) fail_msg("%zu of %d cases", failed, TT_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
