/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_fft.c - the Fourier transforms against the sum that defines them, in double: every length to 1100, some large
 * ones at a few bins, at every instruction set of this machine, whose bits must agree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tensor/arena.h"
#include "tensor/fft.h"
#include "tensor/isa.h"
#include "tensor/rng.h"

enum { GUARD = 5 }; /* floats around every result that must stay */
static const float untouched = -12345.5f;

typedef struct Plan {
    TtFft *f;
    void *scratch;
    size_t size;
} Plan;

static Plan plan_of(int64_t n)
{
    Plan p;
    assert_int_equal(tt_fft_new(n, &p.f), TT_OK);
    assert_int_equal(tt_fft_length(p.f), n);
    p.size = tt_fft_scratch(p.f);
    assert_int_equal(tt_alloc(&p.scratch, p.size), TT_OK);
    memset(p.scratch, 0xff, p.size); /* NaN: nothing of it may reach a result */
    return p;
}

static void free_plan(Plan *p)
{
    tt_fft_free(p->f);
    tt_free(p->scratch);
}

static float *new_floats(int64_t n)
{
    float *p = malloc(sizeof(float) * (size_t)n);
    assert_non_null(p);
    return p;
}

static float *noise(int64_t n, uint64_t key)
{
    float *p = new_floats(n);
    TtRng r = tt_rng(3, TT_RNG_TEST, key, 0, 0);
    for (int64_t i = 0; i < n; i++) p[i] = (float)tt_rng_uniform(&r, -1.0, 1.0);
    return p;
}

/* cos and sin of 2 pi k / n. */
static double *circle(int64_t n)
{
    double *w = malloc(sizeof(double) * 2 * (size_t)n);
    assert_non_null(w);
    for (int64_t k = 0; k < n; k++) {
        const long double angle = 2.0L * 3.14159265358979323846264338327950288L * (long double)k / (long double)n;
        w[2 * k] = (double)cosl(angle), w[2 * k + 1] = (double)sinl(angle);
    }
    return w;
}

/* Bin k of the forward transform of n complex values. */
static void naive(const double *w, int64_t n, const float *x, int64_t k, double *re, double *im)
{
    double a = 0, b = 0;
    for (int64_t t = 0, at = 0; t < n; t++) {
        const double c = w[2 * at], s = w[2 * at + 1], xr = x[2 * t], xi = x[2 * t + 1];
        a += xr * c + xi * s, b += xi * c - xr * s;
        at += k, at -= at >= n ? n : 0;
    }
    *re = a, *im = b;
}

static bool is_smooth(int64_t n)
{
    for (int64_t p = 2; p <= 13; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

static double worst;

/* Errors relative to the root mean square of what is right, as fft.h promises them, times PASSES. */
static void check(const char *what, int64_t n, const float *got, const double *want, int64_t values, int passes)
{
    double square = 0, errors = 0, most = 0;
    for (int64_t i = 0; i < values; i++) {
        const double e = fabs(got[i] - want[i]);
        square += want[i] * want[i], errors += e * e;
        most = e > most || isnan(e) ? e : most;
    }
    const double rms = sqrt(square / (double)values), mean = sqrt(errors / (double)values) / rms;
    most /= rms;
    if (!(mean < 5e-7 * passes && most < (is_smooth(n) ? 1e-6 : 2e-6) * passes))
        fail_msg("%s of length %lld: error %g, largest %g", what, (long long)n, mean, most);
    worst = TT_MAX(worst, most);
}

/* One length: the complex transform both ways, the real one both ways, from one naive sum. */
static void check_length(int64_t n)
{
    Plan p = plan_of(n);
    double *w = circle(n), *want = malloc(sizeof(double) * 2 * (size_t)n),
           *part = malloc(sizeof(double) * 2 * (size_t)n);
    float *x = noise(2 * n, (uint64_t)n), *y = new_floats(2 * n + 2), *real = new_floats(n), *bins = new_floats(n + 2);
    assert_true(want && part);
    for (int64_t k = 0; k < n; k++) naive(w, n, x, k, &want[2 * k], &want[2 * k + 1]);
    tt_fft_c2c(p.f, -1, 1, x, 0, y, 0, p.scratch);
    check("forward", n, y, want, 2 * n, 1);
    for (int64_t k = 0; k < n; k++) memcpy(part + 2 * k, want + 2 * ((n - k) % n), 2 * sizeof *part);
    tt_fft_c2c(p.f, 1, 1, x, 0, y, 0, p.scratch);
    check("inverse", n, y, part, 2 * n, 1);
    /* The transform of the real parts is the Hermitian half of X. */
    for (int64_t k = 0; k <= n / 2; k++) {
        const double *a = want + 2 * k, *b = want + 2 * ((n - k) % n);
        part[2 * k] = (a[0] + b[0]) / 2, part[2 * k + 1] = (a[1] - b[1]) / 2;
        bins[2 * k] = (float)part[2 * k], bins[2 * k + 1] = (float)part[2 * k + 1];
        real[k] = x[2 * k];
    }
    for (int64_t t = 0; t < n; t++) real[t] = x[2 * t];
    tt_fft_r2c(p.f, 1, real, 0, NULL, y, 0, p.scratch);
    check("real", n, y, part, 2 * (n / 2 + 1), 1);
    bins[1] = 7; /* ignored */
    if (n % 2 == 0) bins[n + 1] = -5;
    for (int64_t t = 0; t < n; t++) part[t] = (double)n * real[t];
    tt_fft_c2r(p.f, 1, bins, 0, y, 0, p.scratch);
    check("real inverse", n, y, part, n, 1);
    free(w), free(want), free(part), free(x), free(y), free(real), free(bins);
    free_plan(&p);
}

static void test_lengths(void **state)
{
    for (int64_t n = 1; n <= 1100; n++) check_length(n);
    print_message("largest error / rms: %.3g\n", worst);
}

/* Large lengths: some bins against the sum, all of them by the way back. */
static void test_large(void **state)
{
    static const int64_t lengths[] = {1536,  2048,   4096,   4097,  5000,   7919,    8192,      10007,
                                      20014, 30030,  65536,  65537, 131074, 1 << 18, 3 * 65536, 7 * 11 * 13 * 5 * 27,
                                      99991, 160000, 1 << 20};
    worst = 0;
    for (int i = 0; i < TT_COUNT(lengths); i++) {
        const int64_t n = lengths[i];
        Plan p = plan_of(n);
        double *w = circle(n), *exact = malloc(sizeof(double) * 2 * (size_t)n);
        float *x = noise(2 * n, (uint64_t)n), *y = new_floats(2 * n), *z = new_floats(2 * n), *bins = new_floats(n + 2);
        assert_non_null(exact);
        const double rms = sqrt((double)n / 3.0); /* of the parts of the result: each of n values has variance 1/3 */
        tt_fft_c2c(p.f, -1, 1, x, 0, y, 0, p.scratch);
        for (int64_t j = 0; j < 24; j++) {
            const int64_t k = j < 4 ? j : j < 8 ? n - j + 3 : j * j * j * 7919 % n;
            double re, im;
            naive(w, n, x, k, &re, &im);
            const double e = TT_MAX(fabs(re - y[2 * k]), fabs(im - y[2 * k + 1])) / rms;
            if (!(e < (is_smooth(n) ? 1e-6 : 2e-6)))
                fail_msg("length %lld, bin %lld: error %g", (long long)n, (long long)k, e);
        }
        tt_fft_c2c(p.f, 1, 1, y, 0, z, 0, p.scratch);
        for (int64_t t = 0; t < 2 * n; t++) exact[t] = (double)n * x[t];
        check("way back", n, z, exact, 2 * n, 2);
        /* Real: the bins against those of the complex transform of the same values; and the way back. */
        for (int64_t t = 0; t < n; t++) exact[t] = (double)n * x[t], z[2 * t] = x[t], z[2 * t + 1] = 0;
        tt_fft_c2c(p.f, -1, 1, z, 0, y, 0, p.scratch);
        tt_fft_r2c(p.f, 1, x, 0, NULL, bins, 0, p.scratch);
        for (int64_t k = 0; k < 2 * (n / 2 + 1); k++)
            if (!(fabs((double)bins[k] - y[k]) < 2e-6 * rms))
                fail_msg("length %lld: real bins differ at %lld", (long long)n, (long long)k);
        tt_fft_c2r(p.f, 1, bins, 0, z, 0, p.scratch);
        check("real way back", n, z, exact, n, 2);
        free(w), free(exact), free(x), free(y), free(z), free(bins);
        free_plan(&p);
    }
    print_message("largest error of the way back / rms: %.3g\n", worst);
}

/* A delta, and one turning wave: exact answers at every bin. */
static void test_known(void **state)
{
    enum { N = 400 };
    Plan p = plan_of(N);
    float x[2 * N] = {0}, y[2 * N];
    x[0] = 1;
    tt_fft_c2c(p.f, -1, 1, x, 0, y, 0, p.scratch);
    for (int k = 0; k < N; k++) assert_true(y[2 * k] == 1 && y[2 * k + 1] == 0);
    for (int t = 0; t < N; t++)
        x[2 * t] = (float)cos(2 * M_PI * 3 * t / N), x[2 * t + 1] = (float)sin(2 * M_PI * 3 * t / N);
    tt_fft_c2c(p.f, -1, 1, x, 0, y, 0, p.scratch);
    for (int k = 0; k < N; k++) {
        assert_true(fabs(y[2 * k] - (k == 3 ? N : 0)) < 1e-4 && fabs(y[2 * k + 1]) < 1e-4);
    }
    tt_fft_c2c(p.f, 1, 1, x, 0, y, 0, p.scratch);
    for (int k = 0; k < N; k++) assert_true(fabs(y[2 * k] - (k == N - 3 ? N : 0)) < 1e-4);
    free_plan(&p);
}

/* What a call of COUNT transforms must give: the same bits as COUNT calls of one, and nothing else written. */
typedef void (*Call)(const Plan *p, int64_t count, const float *x, int64_t xs, const float *window, float *y,
                     int64_t ys);

static void forward(const Plan *p, int64_t count, const float *x, int64_t xs, const float *window, float *y, int64_t ys)
{
    tt_fft_c2c(p->f, -1, count, x, xs, y, ys, p->scratch);
}

static void inverse(const Plan *p, int64_t count, const float *x, int64_t xs, const float *window, float *y, int64_t ys)
{
    tt_fft_c2c(p->f, 1, count, x, xs, y, ys, p->scratch);
}

static void real(const Plan *p, int64_t count, const float *x, int64_t xs, const float *window, float *y, int64_t ys)
{
    tt_fft_r2c(p->f, count, x, xs, window, y, ys, p->scratch);
}

static void real_back(const Plan *p, int64_t count, const float *x, int64_t xs, const float *window, float *y,
                      int64_t ys)
{
    tt_fft_c2r(p->f, count, x, xs, y, ys, p->scratch);
}

static void check_batch(const Plan *p, Call call, int64_t in, int64_t out, int64_t count, int64_t xs,
                        const float *window)
{
    const int64_t ys = out + GUARD, total = GUARD + count * ys;
    float *x = noise(count * TT_MAX(xs, 0) + in, (uint64_t)(count * 1000 + xs)), *y = new_floats(total),
          *one = new_floats(out);
    for (int64_t i = 0; i < total; i++) y[i] = untouched;
    call(p, count, x, xs, window, y + GUARD, ys);
    for (int64_t i = 0; i < count; i++) {
        call(p, 1, x + i * xs, 0, window, one, 0);
        assert_memory_equal(y + GUARD + i * ys, one, sizeof(float) * (size_t)out);
    }
    for (int64_t i = 0; i < total; i++)
        if (i < GUARD || (i - GUARD) % ys >= out) assert_true(y[i] == untouched);
    free(x), free(y), free(one);
}

static void test_batches(void **state)
{
    static const int64_t lengths[] = {1, 2, 3, 4, 7, 15, 16, 17, 30, 34, 97, 375, 400, 512, 544, 5000, 10007};
    for (int i = 0; i < TT_COUNT(lengths); i++) {
        const int64_t n = lengths[i];
        Plan p = plan_of(n);
        float *window = noise(n, 77);
        for (int64_t count = 0; count <= (n < 1000 ? 37 : 2); count += count < 18 ? 1 : 19) {
            check_batch(&p, forward, 2 * n, 2 * n, count, 2 * n + 3, NULL);
            check_batch(&p, inverse, 2 * n, 2 * n, count, 2, NULL); /* overlapping */
            check_batch(&p, real, n, 2 * (n / 2 + 1), count, n / 3, NULL);
            check_batch(&p, real, n, 2 * (n / 2 + 1), count, 1, window);
            check_batch(&p, real_back, 2 * (n / 2 + 1), n, count, 0, NULL);
        }
        free(window);
        free_plan(&p);
    }
}

/* WINDOW is multiplied in before the transform. */
static void test_window(void **state)
{
    static const int64_t lengths[] = {1, 6, 25, 400, 512, 74, 10007};
    for (int i = 0; i < TT_COUNT(lengths); i++) {
        const int64_t n = lengths[i], values = 2 * (n / 2 + 1);
        Plan p = plan_of(n);
        float *x = noise(n, 1), *w = noise(n, 2), *xw = new_floats(n), *a = new_floats(values), *b = new_floats(values);
        for (int64_t t = 0; t < n; t++) xw[t] = x[t] * w[t];
        tt_fft_r2c(p.f, 1, x, 0, w, a, 0, p.scratch);
        tt_fft_r2c(p.f, 1, xw, 0, NULL, b, 0, p.scratch);
        assert_memory_equal(a, b, sizeof(float) * (size_t)values);
        free(x), free(w), free(xw), free(a), free(b);
        free_plan(&p);
    }
}

static void test_instruction_sets(void **state)
{
    static const int64_t lengths[] = {1,   5,    14,  16,  22,   26,   105,   256,  400,
                                      512, 1024, 101, 202, 4098, 5000, 20014, 16384};
    enum { COUNT = 19 };
    const TtIsa before = tt_isa();
    for (int i = 0; i < TT_COUNT(lengths); i++) {
        const int64_t n = lengths[i], size = COUNT * (2 * n + 2);
        Plan p = plan_of(n);
        float *x = noise(size, 9), *y[2] = {new_floats(4 * size), new_floats(4 * size)};
        for (TtIsa level = TT_ISA_PLAIN; level < TT_ISAS; level++) {
            TtIsa same;
            if (!tt_isa_find(tt_isa_name(level), &same)) continue;
            tt_isa_use(level);
            float *to = y[level != TT_ISA_PLAIN];
            memset(to, 0, sizeof(float) * 4 * (size_t)size);
            forward(&p, COUNT, x, 2 * n, NULL, to, 2 * n + 2);
            inverse(&p, COUNT, x, 2 * n, NULL, to + size, 2 * n + 2);
            real(&p, COUNT, x, n, x, to + 2 * size, 2 * n + 2);
            real_back(&p, COUNT, x, 2 * n, NULL, to + 3 * size, 2 * n + 2);
            if (level != TT_ISA_PLAIN) assert_memory_equal(y[0], y[1], sizeof(float) * 4 * (size_t)size);
        }
        free(x), free(y[0]), free(y[1]);
        free_plan(&p);
    }
    tt_isa_use(before);
    TtIsa none;
    assert_false(tt_isa_find("sparc", &none));
}

static void test_refused(void **state)
{
    TtFft *f = (void *)1;
    assert_int_equal(tt_fft_new(0, &f), TT_EINTERNAL);
    assert_null(f);
    assert_int_equal(tt_fft_new(-4, &f), TT_EINTERNAL);
    assert_int_equal(tt_fft_new(INT64_MAX, &f), TT_EINTERNAL);
    tt_fft_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),   cmocka_unit_test(test_lengths), cmocka_unit_test(test_large),
        cmocka_unit_test(test_batches), cmocka_unit_test(test_window),  cmocka_unit_test(test_instruction_sets),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("fft", tests, NULL, NULL);
}
