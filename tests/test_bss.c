/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_bss.c - signal-to-distortion ratios against mir_eval's and fast_bss_eval's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "audio/bss.h"
#include "tests/support/noise.h"
#include "tests/support/values.h"

#define VALUES_BSS
#include "tests/text_values.inc"

enum { T = 3000 };
static float est[T][2], ref[T][2], mix[T];

static void smooth(double *x)
{
    double y[T];
    for (int again = 0; again < 2; again++) {
        for (int t = 0; t < T; t++) {
            y[t] = 0;
            for (int k = TT_MAX(0, t - 15); k <= t; k++) y[t] += x[k];
            y[t] /= 16;
        }
        memcpy(x, y, sizeof y);
    }
}

/* As case(KIND) of scripts/make_text_values.py. */
static void make(int kind)
{
    static double a[T], b[T], c[T];
    make_noise(a, T, 21);
    make_noise(b, T, 22);
    make_noise(c, T, 23);
    if (kind == 1) smooth(a), smooth(b);
    for (int t = 0; t < T; t++) {
        ref[t][0] = (float)a[t], ref[t][1] = (float)b[t], mix[t] = (float)(a[t] + b[t]);
        est[t][0] = (float)(b[t] + (t >= 3 ? b[t - 3] : 0) / 2 + c[t] / 16);
        est[t][1] = (float)(a[t] - (t >= 40 ? a[t - 40] : 0) / 4 + b[t] / 8);
    }
}

static void near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.10g, expected %.10g", a, b);
}

static void test_sdr(void **state)
{
    for (int kind = 0; kind < 2; kind++) {
        const double *v = bss_values[kind];
        TtBss r;
        make(kind);
        values_ok(tt_bss_sdr(est[0], ref[0], mix, T, 2, TT_BSS_TAPS, false, &r));
        assert_int_equal(r.order[0], 1);
        assert_int_equal(r.order[1], 0);
        near(r.sdr[0], v[0], 1e-6);
        near(r.sdr[1], v[1], 1e-6);
        near(r.mean, (v[0] + v[1]) / 2, 1e-6);
        near(r.improvement, (v[0] + v[1] - v[2] - v[3]) / 2, 1e-6);
        values_ok(tt_bss_sdr(est[0], ref[0], NULL, T, 2, 1, false, &r)); /* SI-SDR */
        near(r.sdr[0], v[4], 1e-9);
        near(r.sdr[1], v[5], 1e-9);
        near(r.improvement, 0, 0);
        TtBss fixed;
        values_ok(tt_bss_sdr(est[0], ref[0], NULL, T, 2, 1, true, &fixed));
        assert_int_equal(fixed.order[0], 0);
        assert_true(fixed.mean < r.mean);
    }
}

/* What has no ratio, or an endless one, stays finite; what is not finite shows. */
static void test_limits(void **state)
{
    static float silence[T];
    TtBss r;
    make(0);
    values_ok(tt_bss_sdr(mix, mix, NULL, T, 1, TT_BSS_TAPS, false, &r));
    assert_true(r.mean > 120 && r.mean < 157);
    values_ok(tt_bss_sdr(silence, mix, NULL, T, 1, TT_BSS_TAPS, false, &r));
    near(r.mean, -156.5, 0.1);
    values_ok(tt_bss_sdr(mix, silence, mix, T, 1, TT_BSS_TAPS, false, &r));
    near(r.mean, -156.5, 0.1);
    near(r.improvement, 0, 0);
    silence[7] = NAN;
    values_ok(tt_bss_sdr(silence, mix, NULL, T, 1, 16, false, &r));
    assert_true(isnan(r.mean));
    values_ok(tt_bss_sdr(mix, silence, NULL, T, 1, 16, false, &r));
    assert_true(isnan(r.mean));
    for (int n = 1; n < 12; n++) { /* shorter than the filter */
        values_ok(tt_bss_sdr(est[0], ref[0], mix, n, 2, TT_BSS_TAPS, false, &r));
        assert_true(isfinite(r.mean));
    }
    /* A constant, which one tap predicts almost: the filter ends early. */
    float ones[T];
    for (int t = 0; t < T; t++) ones[t] = 1;
    values_ok(tt_bss_sdr(mix, ones, NULL, T, 1, TT_BSS_TAPS, false, &r));
    assert_true(isfinite(r.mean));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sdr), cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests_name("bss", tests, NULL, NULL);
}
