/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_sampler.c - orders of epochs: what must hold exactly, and what must hold of the draws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "data/cpus.h"
#include "data/loader.h"
#include "data/sampler.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"

/* A set that only has labels. */
static int64_t stored_label(const TtDataset *d, int64_t i)
{
    return ((const int *)d->impl)[i];
}

static const TtDatasetDef labels_only = {.name = "labels_only", .label = stored_label};

static TtDataset make_set(const int *labels, int64_t n, int classes)
{
    return (TtDataset){.def = &labels_only, .count = n, .classes = classes, .impl = (void *)labels};
}

/* 1000 samples of 4 classes: 700, 200, 90, 10, mixed. */
enum { N = 1000, CLASSES = 4 };
static const int sizes[CLASSES] = {700, 200, 90, 10};
static int labels[N];

static int fill_labels(void **state)
{
    for (int i = 0; i < N; i++) {
        int place = i * 389 % N; /* 389 and 1000 have no common factor */
        labels[i] = place < 700 ? 0 : place < 900 ? 1 : place < 990 ? 2 : 3;
    }
    return 0;
}

static TtSampler *open_sampler(const TtDataset *d, TtSamplerOptions o)
{
    TtSampler *s;
    assert_int_equal(tt_sampler_open(d, &o, &s), TT_OK);
    return s;
}

static int64_t *order_of(const TtSampler *s, int64_t epoch)
{
    int64_t *order = malloc((size_t)tt_sampler_count(s) * sizeof *order);
    tt_sampler_order(s, epoch, order);
    return order;
}

/* How often each sample is in the order. */
static void count_uses(const int64_t *order, int64_t n, int *uses)
{
    memset(uses, 0, N * sizeof *uses);
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(order[i], 0, N - 1);
        uses[order[i]]++;
    }
}

static void expect_permutation(const int64_t *order, int64_t n)
{
    int uses[N];
    assert_int_equal(n, N);
    count_uses(order, n, uses);
    for (int i = 0; i < N; i++) assert_int_equal(uses[i], 1);
}

static void test_sequential(void **state)
{
    TtDataset d = make_set(labels, N, CLASSES);
    TtSampler *s = open_sampler(&d, (TtSamplerOptions){.kind = TT_SAMPLER_SEQUENTIAL, .seed = 1});
    int64_t *order = order_of(s, 3);
    assert_int_equal(tt_sampler_count(s), N);
    for (int i = 0; i < N; i++) assert_int_equal(order[i], i);
    free(order);
    tt_sampler_close(s);
    tt_sampler_close(NULL);
}

/* Orders are functions of (seed, epoch): the same again, another for another epoch or seed. */
static void test_pure(void **state)
{
    TtDataset d = make_set(labels, N, CLASSES);
    for (TtSamplerKind kind = TT_SAMPLER_RANDOM; kind <= TT_SAMPLER_STRATIFIED; kind++) {
        TtSampler *a = open_sampler(&d, (TtSamplerOptions){.kind = kind, .seed = 1});
        TtSampler *b = open_sampler(&d, (TtSamplerOptions){.kind = kind, .seed = 1});
        TtSampler *c = open_sampler(&d, (TtSamplerOptions){.kind = kind, .seed = 2});
        int64_t *a5 = order_of(a, 5), *b7 = order_of(b, 7), *b5 = order_of(b, 5), *c5 = order_of(c, 5);
        assert_memory_equal(a5, b5, N * sizeof *a5);
        assert_memory_not_equal(a5, b7, N * sizeof *a5);
        assert_memory_not_equal(a5, c5, N * sizeof *a5);
        free(a5), free(b5), free(b7), free(c5);
        tt_sampler_close(a), tt_sampler_close(b), tt_sampler_close(c);
    }
}

static void test_random(void **state)
{
    /* Where samples 0 and 999 stand over many epochs: uniform, so the mean is near the middle (4.5 standard errors),
     * and every sample of a small set comes first about equally often (chi-square of 9 degrees, p < 1e-6: 47). */
    TtDataset d = make_set(labels, N, CLASSES), small = make_set(labels, 10, CLASSES);
    TtSampler *s = open_sampler(&d, (TtSamplerOptions){.kind = TT_SAMPLER_RANDOM, .seed = 7});
    double sum[2] = {0};
    enum { EPOCHS = 400, FIRSTS = 5000 };
    for (int e = 0; e < EPOCHS; e++) {
        int64_t *order = order_of(s, e);
        expect_permutation(order, tt_sampler_count(s));
        for (int i = 0; i < N; i++) sum[0] += order[i] == 0 ? i : 0, sum[1] += order[i] == N - 1 ? i : 0;
        free(order);
    }
    double error = 4.5 * N / sqrt(12.0 * EPOCHS);
    assert_true(fabs(sum[0] / EPOCHS - (N - 1) / 2.0) < error);
    assert_true(fabs(sum[1] / EPOCHS - (N - 1) / 2.0) < error);
    tt_sampler_close(s);

    s = open_sampler(&small, (TtSamplerOptions){.kind = TT_SAMPLER_RANDOM, .seed = 8});
    int firsts[10] = {0};
    for (int e = 0; e < FIRSTS; e++) {
        int64_t order[10];
        tt_sampler_order(s, e, order);
        firsts[order[0]]++;
    }
    double chi = 0;
    for (int i = 0; i < 10; i++) chi += pow(firsts[i] - FIRSTS / 10.0, 2) / (FIRSTS / 10.0);
    assert_true(chi < 47);
    tt_sampler_close(s);
}

/* Draws of each class over many epochs. */
static void draw_classes(TtSamplerOptions o, double share[CLASSES], int epochs)
{
    TtDataset d = make_set(labels, N, CLASSES);
    TtSampler *s = open_sampler(&d, o);
    int counts[CLASSES] = {0};
    assert_int_equal(tt_sampler_count(s), N);
    for (int e = 0; e < epochs; e++) {
        int64_t *order = order_of(s, e);
        for (int i = 0; i < N; i++) counts[labels[order[i]]]++;
        free(order);
    }
    for (int c = 0; c < CLASSES; c++) share[c] = counts[c] / ((double)N * epochs);
    tt_sampler_close(s);
}

static void test_weighted(void **state)
{
    double share[CLASSES];
    enum { EPOCHS = 100 };
    const double error = 5 * sqrt(0.25 / (N * EPOCHS)); /* 5 standard errors at most */
    draw_classes((TtSamplerOptions){.kind = TT_SAMPLER_WEIGHTED, .seed = 3}, share, EPOCHS);
    for (int c = 0; c < CLASSES; c++) assert_true(fabs(share[c] - 0.25) < error);
    /* one weight a sample, as torch's WeightedRandomSampler: a class has weight * size */
    const double weights[CLASSES] = {0, 1, 2, 5};
    const double want[CLASSES] = {0, 200 / 430.0, 180 / 430.0, 50 / 430.0};
    draw_classes(
        (TtSamplerOptions){
            .kind = TT_SAMPLER_WEIGHTED, .seed = 3, .class_weights = weights, .n_class_weights = CLASSES},
        share, EPOCHS);
    for (int c = 0; c < CLASSES; c++) assert_true(fabs(share[c] - want[c]) < error);
    assert_true(share[0] == 0);
    /* within a class all samples alike: class 3 has 10 samples, 11628 draws of it on the average */
    TtDataset d = make_set(labels, N, CLASSES);
    TtSampler *s = open_sampler(
        &d, (TtSamplerOptions){
                .kind = TT_SAMPLER_WEIGHTED, .seed = 4, .class_weights = weights, .n_class_weights = CLASSES});
    int uses[N] = {0}, once[N];
    for (int e = 0; e < EPOCHS; e++) {
        int64_t *order = order_of(s, e);
        count_uses(order, N, once);
        for (int i = 0; i < N; i++) uses[i] += once[i];
        free(order);
    }
    double chi = 0, expected = N * EPOCHS * 5 / 430.0;
    for (int i = 0; i < N; i++) chi += labels[i] == 3 ? pow(uses[i] - expected, 2) / expected : 0;
    assert_true(chi < 47);
    tt_sampler_close(s);
}

static void test_stratified(void **state)
{
    TtDataset d = make_set(labels, N, CLASSES);
    TtSampler *s = open_sampler(&d, (TtSamplerOptions){.kind = TT_SAMPLER_STRATIFIED, .seed = 5});
    const int windows[] = {10, 32, 100, 250};
    for (int e = 0; e < 10; e++) {
        int64_t *order = order_of(s, e);
        expect_permutation(order, tt_sampler_count(s));
        for (int w = 0; w < TT_COUNT(windows); w++)
            for (int from = 0; from + windows[w] <= N; from++) {
                int counts[CLASSES] = {0};
                for (int i = from; i < from + windows[w]; i++) counts[labels[order[i]]]++;
                for (int c = 0; c < CLASSES; c++) {
                    double want = windows[w] * sizes[c] / (double)N;
                    assert_true(fabs(counts[c] - want) < 3.0);
                }
            }
        free(order);
    }
    /* samples of one class do not keep an order of their own */
    int first[N] = {0};
    for (int e = 0; e < 200; e++) {
        int64_t *order = order_of(s, e);
        for (int i = 0; i < N; i++)
            if (labels[order[i]] == 3) {
                first[order[i]]++;
                break;
            }
        free(order);
    }
    for (int i = 0; i < N; i++)
        if (labels[i] == 3) assert_in_range(first[i], 5, 45); /* 20 expected */
    tt_sampler_close(s);
}

static void class_counts(const TtSampler *s, int counts[CLASSES], int uses[N])
{
    int64_t *order = order_of(s, 0);
    memset(counts, 0, CLASSES * sizeof *counts);
    count_uses(order, tt_sampler_count(s), uses);
    for (int64_t i = 0; i < tt_sampler_count(s); i++) counts[labels[order[i]]]++;
    free(order);
}

static void test_folds(void **state)
{
    TtDataset d = make_set(labels, N, CLASSES);
    int all[N] = {0}, uses[N], other[N], counts[CLASSES];
    for (int fold = 0; fold < 7; fold++) {
        TtSamplerOptions o = {.kind = TT_SAMPLER_RANDOM, .seed = 9, .folds = 7, .fold = fold, .holdout = true};
        TtSampler *out = open_sampler(&d, o);
        o.holdout = false;
        TtSampler *in = open_sampler(&d, o);
        assert_in_range(tt_sampler_count(out), N / 7, N / 7 + 1);
        assert_int_equal(tt_sampler_count(out) + tt_sampler_count(in), N);
        class_counts(in, counts, other);
        class_counts(out, counts, uses);
        for (int c = 0; c < CLASSES; c++) assert_in_range(counts[c], sizes[c] / 7, sizes[c] / 7 + 1);
        for (int i = 0; i < N; i++) {
            assert_int_equal(uses[i] + other[i], 1);
            all[i] += uses[i];
        }
        tt_sampler_close(in), tt_sampler_close(out);
    }
    for (int i = 0; i < N; i++) assert_int_equal(all[i], 1); /* the folds are disjoint and complete */
}

static void test_fraction(void **state)
{
    TtDataset d = make_set(labels, N, CLASSES);
    int a[N], b[N], counts[CLASSES];
    TtSampler *s = open_sampler(&d, (TtSamplerOptions){.kind = TT_SAMPLER_SEQUENTIAL, .seed = 1, .fraction = 0.3});
    assert_int_equal(tt_sampler_count(s), 300);
    class_counts(s, counts, a);
    for (int c = 0; c < CLASSES; c++) assert_int_equal(counts[c], sizes[c] * 3 / 10);
    tt_sampler_close(s);
    s = open_sampler(&d, (TtSamplerOptions){.kind = TT_SAMPLER_SEQUENTIAL, .seed = 2, .fraction = 0.3});
    class_counts(s, counts, b);
    assert_memory_not_equal(a, b, sizeof a); /* chosen by the seed */
    tt_sampler_close(s);
    /* the same samples in every epoch */
    s = open_sampler(&d, (TtSamplerOptions){.kind = TT_SAMPLER_RANDOM, .seed = 1, .fraction = 0.3});
    int64_t *order = order_of(s, 17);
    count_uses(order, tt_sampler_count(s), b);
    assert_memory_equal(a, b, sizeof a);
    free(order);
    tt_sampler_close(s);
    /* of the training folds only */
    TtSamplerOptions o = {.seed = 1, .folds = 4, .fold = 2, .fraction = 0.5};
    s = open_sampler(&d, o);
    assert_int_equal(tt_sampler_count(s), 375);
    class_counts(s, counts, a);
    tt_sampler_close(s);
    o.fraction = 0, o.holdout = true;
    s = open_sampler(&d, o);
    class_counts(s, counts, b);
    for (int i = 0; i < N; i++) assert_true(a[i] + b[i] <= 1);
    tt_sampler_close(s);
    s = open_sampler(&d, (TtSamplerOptions){.fraction = 1});
    assert_int_equal(tt_sampler_count(s), N);
    tt_sampler_close(s);
}

static void test_errors(void **state)
{
    TtDataset d = make_set(labels, N, CLASSES), bare = make_set(labels, N, 0);
    TtSampler *s;
    const double three[3] = {1, 1, 1}, zero[CLASSES] = {0}, negative[CLASSES] = {1, -1, 1, 1},
                 nan[CLASSES] = {1, NAN, 1, 1};
#define FAILS(set, ...) tt_sampler_open(&set, &(TtSamplerOptions){__VA_ARGS__}, &s)
    expect_error(FAILS(bare, .kind = TT_SAMPLER_WEIGHTED), TT_ECONFIG, "labels", NULL);
    expect_error(FAILS(bare, .kind = TT_SAMPLER_STRATIFIED), TT_ECONFIG, "labels", NULL);
    expect_error(FAILS(d, .kind = TT_SAMPLER_WEIGHTED, .class_weights = three, .n_class_weights = 3), TT_ECONFIG,
                 "3 weights for 4 classes", NULL);
    expect_error(FAILS(d, .kind = TT_SAMPLER_WEIGHTED, .class_weights = zero, .n_class_weights = 4), TT_ECONFIG, "sum",
                 NULL);
    expect_error(FAILS(d, .kind = TT_SAMPLER_WEIGHTED, .class_weights = negative, .n_class_weights = 4), TT_ECONFIG,
                 "-1", NULL);
    expect_error(FAILS(d, .kind = TT_SAMPLER_WEIGHTED, .class_weights = nan, .n_class_weights = 4), TT_ECONFIG, "nan",
                 NULL);
    expect_error(FAILS(d, .fraction = 1.5), TT_ECONFIG, "fraction", NULL);
    expect_error(FAILS(d, .fraction = NAN), TT_ECONFIG, "fraction", NULL);
    expect_error(FAILS(d, .fraction = 0.0001), TT_ECONFIG, "none of 1000", NULL);
    expect_error(FAILS(d, .folds = 1), TT_ECONFIG, "folds", NULL);
    expect_error(FAILS(d, .folds = 3, .fold = 3), TT_ECONFIG, "fold", NULL);
    /* without labels folds still work */
    assert_int_equal(FAILS(bare, .folds = 4, .fold = 1, .holdout = true), TT_OK);
    assert_int_equal(tt_sampler_count(s), 250);
    tt_sampler_close(s);
    /* a class without samples is never drawn */
    TtDataset sparse = make_set(labels, N, CLASSES + 2);
    assert_int_equal(FAILS(sparse, .kind = TT_SAMPLER_WEIGHTED), TT_OK);
    int64_t *order = order_of(s, 0);
    free(order);
    tt_sampler_close(s);
}

/* ---- CPUs */

static void put_group(const char *root, const char *self, const char *folder, const char *file, const char *text)
{
    put_text(in_dir(root, "proc/self/cgroup"), self);
    put_text(in_dir(root, "sys/fs/cgroup/%s/%s", folder, file), text);
}

static void test_quota(void **state)
{
    char root[4096];
    snprintf(root, sizeof root, "%s/v2", (const char *)*state);
    assert_int_equal(tt_cpu_quota(root), 0); /* no cgroups at all */
    put_group(root, "0::/job/step\n", "job/step", "cpu.max", "max 100000\n");
    assert_int_equal(tt_cpu_quota(root), 0);
    put_group(root, "0::/job/step\n", "job", "cpu.max", "350000 100000\n"); /* the group above: 3.5 CPUs */
    assert_int_equal(tt_cpu_quota(root), 4);
    put_group(root, "0::/job/step\n", "job/step", "cpu.max", "150000 50000\n");
    assert_int_equal(tt_cpu_quota(root), 3);
    put_group(root, "0::/\n", ".", "cpu.max", "50000 100000\n"); /* a container's own root */
    assert_int_equal(tt_cpu_quota(root), 1);
    put_group(root, "0::/elsewhere/on/the/host\n", ".", "cpu.max", "200000 100000\n");
    assert_int_equal(tt_cpu_quota(root), 2);
    put_group(root, "nonsense\n0::/\n", ".", "cpu.max", "-5 0\n");
    assert_int_equal(tt_cpu_quota(root), 0);

    snprintf(root, sizeof root, "%s/v1", (const char *)*state);
    const char *self = "5:cpuset:/\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n0::/\n";
    put_group(root, self, "cpu,cpuacct/docker/abc", "cpu.cfs_quota_us", "-1\n");
    put_group(root, self, "cpu,cpuacct/docker/abc", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(tt_cpu_quota(root), 0);
    put_group(root, self, "cpu,cpuacct/docker/abc", "cpu.cfs_quota_us", "800000\n");
    assert_int_equal(tt_cpu_quota(root), 8);
    put_group(root, self, "cpu,cpuacct", "cpu.cfs_quota_us", "600000\n");
    put_group(root, self, "cpu,cpuacct", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(tt_cpu_quota(root), 6);

    snprintf(root, sizeof root, "%s/split", (const char *)*state); /* the mount is named cpu alone */
    put_group(root, "3:cpu,cpuacct:/a\n", "cpu/a", "cpu.cfs_quota_us", "250000\n");
    put_group(root, "3:cpu,cpuacct:/a\n", "cpu/a", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(tt_cpu_quota(root), 3);
    assert_true(tt_cpu_count() >= 1);
    assert_in_range(tt_loader_auto_workers(), 1, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequential),
        cmocka_unit_test(test_pure),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_weighted),
        cmocka_unit_test(test_stratified),
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_fraction),
        cmocka_unit_test(test_errors),
        cmocka_unit_test_setup_teardown(test_quota, temp_setup, temp_teardown),
    };
    return cmocka_run_group_tests_name("sampler", tests, fill_labels, NULL);
}
