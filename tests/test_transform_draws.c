/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_transform_draws.c - the distributions of what random transforms draw, mostly against many draws of
 * torchvision's; bounds are about five standard errors and the seeds are fixed. Batches, too. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/bench.h"

/* Channel 0 is x, channel 1 is y: the result tells where it was taken. */
static void coordinates(TtImage *im, int h, int w)
{
    assert_int_equal(tt_image_resize_buffer(im, h, w, 3, TT_F32), TT_OK);
    float *p = im->data;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, p += 3) p[0] = (float)x, p[1] = (float)y, p[2] = 1;
}

static void check_share(int count, int n, double expected)
{
    const double sigma = sqrt(expected * (1 - expected) / n);
    if (fabs((double)count / n - expected) > 5 * sigma + 1e-3)
        fail_msg("%d of %d is %g, expected %g", count, n, (double)count / n, expected);
}

/* Shares by area and by aspect ratio of 120,000 draws of torchvision's RandomResizedCrop.make_params on 384x512. */
static void test_resized_crop_draws(void **state)
{
    static const double area_share[5] = {0.2666, 0.2706, 0.2618, 0.1532, 0.0477};
    static const double ratio_share[5] = {0.1338, 0.1822, 0.2137, 0.2409, 0.2294};
    enum { H = 384, W = 512, N = 3000 };
    int areas[5] = {0}, ratios[5] = {0};
    double sum = 0, squares = 0;
    Bench b;
    /* two by two pixels: the upper left corner, and the middle, half the sides further */
    bench_open(&b, "[{RandomResizedCrop: {size: 2, interpolation: nearest}}]");
    for (int i = 0; i < N; i++) {
        coordinates(&b.image, H, W);
        bench_apply_ok(&b, (uint64_t)i);
        const float *p = b.image.data;
        const double w = 2 * (p[9] - p[0]) + 0.5, h = 2 * (p[10] - p[1]) + 0.5; /* even or odd by one */
        const double area = w * h / (H * W), ratio = log(w / h), x = (p[0] + w / 2) / W;
        const double lo = log(0.75) - 0.02, hi = log(4.0 / 3) + 0.02;
        areas[(int)fmin(fmax((area - 0.08) / 0.92 * 5, 0), 4)]++;
        ratios[(int)fmin(fmax((ratio - lo) / (hi - lo) * 5, 0), 4)]++;
        sum += x, squares += x * x;
    }
    for (int k = 0; k < 5; k++) check_share(areas[k], N, area_share[k]), check_share(ratios[k], N, ratio_share[k]);
    assert_true(fabs(sum / N - 0.5) < 0.015);
    assert_true(fabs(sqrt(squares / N - sum * sum / N / N) - 0.1358) < 0.008);
    bench_close(&b);
    /* no crop of half the area fits into 20x100: the middle, as wide as the ratio allows */
    bench_open(&b, "[{RandomResizedCrop: {size: [20, 27], scale: [0.5, 1.0]}}]");
    coordinates(&b.image, 20, 100);
    bench_apply_ok(&b, 1);
    assert_true(((float *)b.image.data)[0] == 36 && ((float *)b.image.data)[1] == 0);
    bench_close(&b);
}

static void test_crop_draws(void **state)
{
    enum { N = 4000 };
    int at[5][5] = {{0}};
    Bench b;
    bench_open(&b, "[{RandomCrop: {size: 4, padding: 1, fill: -1}}]");
    for (int i = 0; i < N; i++) {
        coordinates(&b.image, 6, 6);
        bench_apply_ok(&b, (uint64_t)i);
        const float *p = (const float *)b.image.data + (4 + 1) * 3; /* the second of the second row: never padding */
        assert_true(p[0] >= 0 && p[0] <= 4 && p[1] >= 0 && p[1] <= 4);
        at[(int)p[1]][(int)p[0]]++;
    }
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++) check_share(at[y][x], N, 1.0 / 25);
    bench_close(&b);
}

/* Mean and deviation of area and of log(h/w) from torchvision's RandomErasing.make_params. */
static void test_erasing_draws(void **state)
{
    enum { H = 96, W = 128, N = 3000 };
    double area = 0, area2 = 0, ratio = 0, ratio2 = 0;
    int erased = 0;
    Bench b;
    bench_open(&b, "[{RandomErasing: {p: 0.8, value: [-1, -2, -3]}}]");
    for (int i = 0; i < N; i++) {
        coordinates(&b.image, H, W);
        bench_apply_ok(&b, (uint64_t)i);
        int x0 = W, x1 = -1, y0 = H, y1 = -1, count = 0;
        const float *p = b.image.data;
        for (int k = 0; k < H * W; k++, p += 3) {
            if (p[0] >= 0) continue;
            assert_true(p[0] == -1 && p[1] == -2 && p[2] == -3);
            x0 = TT_MIN(x0, k % W), x1 = TT_MAX(x1, k % W), y0 = TT_MIN(y0, k / W), y1 = TT_MAX(y1, k / W), count++;
        }
        if (count == 0) continue;
        assert_int_equal(count, (x1 - x0 + 1) * (y1 - y0 + 1));
        const double a = (double)count / (H * W), r = log((double)(y1 - y0 + 1) / (x1 - x0 + 1));
        area += a, area2 += a * a, ratio += r, ratio2 += r * r, erased++;
    }
    check_share(erased, N, 0.8);
    area /= erased, ratio /= erased;
    assert_true(fabs(area - 0.1718) < 0.008 && fabs(sqrt(area2 / erased - area * area) - 0.0882) < 0.006);
    assert_true(fabs(ratio + 0.0377) < 0.07 && fabs(sqrt(ratio2 / erased - ratio * ratio) - 0.6774) < 0.04);
    bench_close(&b);
}

/* How often a chain changes the picture. */
static int changed(const char *yaml, int n)
{
    Bench b;
    int count = 0;
    TtImage before = {0};
    bench_open(&b, yaml);
    bench_fill(&before, 16, 16, 3, TT_F32);
    for (int i = 0; i < n; i++) {
        bench_fill(&b.image, 16, 16, 3, TT_F32);
        bench_apply_ok(&b, (uint64_t)i);
        count += b.image.h != 16 || b.image.c != 3 || memcmp(before.data, b.image.data, tt_image_bytes(&before)) != 0;
    }
    tt_image_free(&before);
    bench_close(&b);
    return count;
}

static void test_rates(void **state)
{
    enum { N = 4000 };
    static const struct {
        const char *yaml;
        double expected;
    } cases[] = {
        {"[RandomHorizontalFlip]", 0.5},
        {"[{RandomVerticalFlip: {p: 0.2}}]", 0.2},
        {"[{RandomHorizontalFlip: {p: 1}}]", 1},
        {"[{RandomHorizontalFlip: {p: 0}}]", 0},
        {"[RandomGrayscale]", 0.1},
        {"[RandomInvert]", 0.5},
        {"[{RandomApply: {transforms: [{RandomInvert: {p: 1}}], p: 0.3}}]", 0.3},
        {"[{RandomChoice: {transforms: [ToImage, {RandomInvert: {p: 1}}], p: [1, 4]}}]", 0.8},
        {"[{RandomChoice: {transforms: [ToImage, {RandomInvert: {p: 1}}], probabilities: [1, 0]}}]", 0},
        {"[{RandomChoice: {transforms: [ToImage, {RandomInvert: {p: 1}}, ToImage]}}]", 1.0 / 3},
        {"[RandomChannelPermutation]", 5.0 / 6},
        {"[RandomPerspective]", 0.5},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) check_share(changed(cases[i].yaml, N), N, cases[i].expected);
}

/* One operation in fourteen is nothing, and some do nothing at their smallest step: 20,000 runs of torchvision on
 * such noise gave 0.097. */
static void test_augment_rates(void **state)
{
    enum { N = 3000 };
    Bench b;
    int same[2] = {0};
    static const char *const yaml[2] = {"[TrivialAugmentWide]", "[RandAugment]"};
    for (int k = 0; k < 2; k++) {
        bench_open(&b, yaml[k]);
        for (int i = 0; i < N; i++) {
            bench_fill(&b.image, 16, 16, 3, TT_U8);
            uint8_t before[16 * 16 * 3];
            memcpy(before, b.image.data, sizeof before);
            bench_apply_ok(&b, (uint64_t)i);
            bool equal = true;
            for (size_t e = 0; e < sizeof before; e++)
                equal = equal && fabsf(((float *)b.image.data)[e] * 255.0f - before[e]) < 0.5f;
            same[k] += equal;
        }
        bench_close(&b);
    }
    assert_true(fabs((double)same[0] / N - 0.097) < 0.03);
    assert_true((double)same[1] / N < 0.02);
}

static void test_random_resize(void **state)
{
    enum { N = 3000 };
    int count[4] = {0};
    Bench b;
    bench_open(&b, "[{RandomResize: {min_size: 3, max_size: 7}}]");
    for (int i = 0; i < N; i++) {
        bench_fill(&b.image, 8, 16, 1, TT_U8);
        bench_apply_ok(&b, (uint64_t)i);
        assert_true(b.image.h >= 3 && b.image.h < 7 && b.image.w == 2 * b.image.h);
        count[b.image.h - 3]++;
    }
    for (int k = 0; k < 4; k++) check_share(count[k], N, 0.25);
    bench_close(&b);
}

/* At severity 1 a light square stays between its value (200) and that of 4 bits (192), since geometry and colour do
 * nothing; with all of it in one value autocontrast and equalize do nothing either. The mean of the share of
 * posterized chains follows from one operation in nine: 200 - 8 / 2 / 9. */
static void test_augmix(void **state)
{
    enum { N = 3000 };
    double sum = 0;
    Bench b;
    bench_open(&b, "[{AugMix: {severity: 1, all_ops: false, chain_depth: 1}}]");
    for (int i = 0; i < N; i++) {
        bench_fill(&b.image, 5, 6, 3, TT_U8);
        memset(b.image.data, 200, tt_image_bytes(&b.image));
        bench_apply_ok(&b, (uint64_t)i);
        const float v = ((float *)b.image.data)[40] * 255.0f;
        assert_true(v > 190.5f && v < 200.5f);
        sum += v;
    }
    if (fabs(sum / N - (200 - 8.0 / 2 / 9 - 0.5)) > 0.5) fail_msg("mean %g", sum / N); /* cut to integers: -0.5 */
    bench_close(&b);
}

/* Brightness 2 of a picture half black, half 200, and no contrast: 127 when the light is cut first, 200 when the
 * mean comes first. The other two adjustments do nothing to greys. */
static void test_jitter_order(void **state)
{
    enum { N = 2000 };
    int late = 0;
    Bench b;
    bench_open(&b, "[{ColorJitter: {brightness: [2, 2], contrast: [0, 0], saturation: [0.5, 0.9], hue: 0.2}}]");
    for (int i = 0; i < N; i++) {
        bench_fill(&b.image, 4, 4, 3, TT_U8);
        memset(b.image.data, 0, 24), memset((uint8_t *)b.image.data + 24, 200, 24);
        bench_apply_ok(&b, (uint64_t)i);
        const float v = ((float *)b.image.data)[0] * 255.0f;
        assert_true(fabsf(v - 127) < 4 || fabsf(v - 200) < 7); /* each step cuts to an integer */
        late += v > 160;
    }
    check_share(late, N, 0.5);
    bench_close(&b);
    /* 0.2 is under the threshold before the inversion, but not after it */
    bench_open(&b, "[{RandomOrder: {transforms: [{RandomSolarize: {threshold: 0.5, p: 1}}, {RandomInvert: {p: 1}}]}}]");
    late = 0;
    for (int i = 0; i < N; i++) {
        assert_int_equal(tt_image_resize_buffer(&b.image, 1, 1, 1, TT_F32), TT_OK);
        *(float *)b.image.data = 0.2f;
        bench_apply_ok(&b, (uint64_t)i);
        late += *(float *)b.image.data < 0.5f;
    }
    check_share(late, N, 0.5);
    bench_close(&b);
}

/* ---- batches */

typedef struct Mixed {
    float x[4][8 * 8 * 3], y[4][5];
} Mixed;

static void mix(const TtTransformChain *c, uint64_t step, Mixed *m)
{
    for (int i = 0; i < 4; i++) {
        for (int e = 0; e < 8 * 8 * 3; e++) m->x[i][e] = (float)i;
        for (int k = 0; k < 5; k++) m->y[i][k] = k == i;
    }
    const TtTensor x = tt_tensor(m->x, TT_F32, TT_SHAPE(4, 8, 8, 3)), y = tt_tensor(m->y, TT_F32, TT_SHAPE(4, 5));
    if (tt_transform_chain_apply_batch(c, 3, 1, step, x, y) != TT_OK) fail_msg("%s", tt_error_message());
}

static void test_batches(void **state)
{
    enum { N = 2000 };
    Bench b;
    Mixed m, again;
    double sum = 0, squares = 0;
    bench_open(&b, "[{MixUp: {alpha: 0.4, num_classes: 5}}]");
    for (int i = 0; i < N; i++) {
        mix(&b.chain, (uint64_t)i, &m);
        const double lam = m.y[2][2];
        assert_true(lam >= 0 && lam <= 1 && fabs(m.y[2][1] - (1 - lam)) < 1e-6 && fabs(m.y[0][3] - (1 - lam)) < 1e-6);
        assert_true(fabs(m.x[2][5] - (2 * lam + 1 * (1 - lam))) < 1e-5 && fabs(m.x[0][5] - 3 * (1 - lam)) < 1e-5);
        sum += lam, squares += lam * lam;
    }
    mix(&b.chain, N - 1, &again);
    assert_memory_equal(&m, &again, sizeof m);
    /* Beta(0.4, 0.4): mean 1/2, variance 1/4 / 1.8 */
    assert_true(fabs(sum / N - 0.5) < 0.04 && fabs(squares / N - 0.25 - 0.25 / 1.8) < 0.04);
    bench_close(&b);
    bench_open(&b, "[CutMix]");
    sum = 0;
    for (int i = 0; i < N; i++) {
        mix(&b.chain, (uint64_t)i, &m);
        int from_others = 0;
        for (int e = 0; e < 8 * 8 * 3; e++) {
            assert_true(m.x[3][e] == 3 || m.x[3][e] == 2);
            assert_true(m.x[0][e] == (m.x[3][e] == 3 ? 0 : 3));
            from_others += m.x[3][e] == 2;
        }
        assert_true(fabs(m.y[3][2] - from_others / 192.0) < 1e-6 && fabs(m.y[3][3] + m.y[3][2] - 1) < 1e-6);
        sum += m.y[3][3];
    }
    assert_true(fabs(sum / N - 0.7678) < 0.02); /* from 40,000 draws of torchvision's CutMix.make_params on 8x8 */
    bench_close(&b);
    /* one of the two, as torchvision's documentation has it */
    bench_open(&b, "[ToImage, {RandomChoice: {transforms: [MixUp, CutMix]}}]");
    assert_true(b.chain.n == 1 && b.chain.n_batch == 1);
    int blended = 0;
    for (int i = 0; i < N; i++) {
        mix(&b.chain, (uint64_t)i, &m);
        blended += m.x[1][0] != 0 && m.x[1][0] != 1;
    }
    check_share(blended, N, 0.5);
    bench_close(&b);
    bench_open(&b, "[{MixUp: {num_classes: 7}}]");
    const TtTensor x = tt_tensor(m.x, TT_F32, TT_SHAPE(4, 8, 8, 3)), y = tt_tensor(m.y, TT_F32, TT_SHAPE(4, 5));
    assert_int_equal(tt_transform_chain_apply_batch(&b.chain, 3, 1, 0, x, y), TT_ECONFIG);
    assert_string_equal(tt_error_message(), "MixUp.num_classes is 7, but the labels have 5 classes; leave it out");
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resized_crop_draws),
        cmocka_unit_test(test_crop_draws),
        cmocka_unit_test(test_erasing_draws),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_augment_rates),
        cmocka_unit_test(test_jitter_order),
        cmocka_unit_test(test_random_resize),
        cmocka_unit_test(test_augmix),
        cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests_name("transform draws", tests, NULL, NULL);
}
