/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_stats.c - counts behind accuracies, against PyTorch. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "pipeline/stats.h"

static uint32_t lcg(void)
{
    static uint32_t s = 12345;
    s = (s * 1103515245u + 12345u) & 0x7fffffffu;
    return s >> 8;
}

/* 60 samples of 7 classes, the last of which never occurs; every second one is lifted towards its label. The expected
 * numbers are torch's for the same values: argmax, topk(5), and a confusion matrix by indexing. */
static void test_against_torch(void **state)
{
    enum { N = 60, C = 7 };
    static float x[N * C];
    static int64_t y[N];
    for (int i = 0; i < N * C; i++) x[i] = (float)((lcg() % 1000003) / 1e6);
    for (int i = 0; i < N; i++) y[i] = lcg() % 6;
    for (int i = 0; i < N; i += 2) x[i * C + y[i]] += 0.5f;
    static const int64_t confusion[C][C] = {{0, 0, 2, 0, 2, 3, 0}, {0, 5, 2, 3, 0, 3, 3}, {0, 0, 2, 1, 0, 2, 1},
                                            {4, 0, 1, 3, 1, 0, 3}, {1, 0, 1, 2, 4, 0, 3}, {0, 0, 0, 3, 0, 3, 2},
                                            {0, 0, 0, 0, 0, 0, 0}};
    static const double recall[C] = {0.0, 0.3125, 0.3333333333333333, 0.25, 0.36363636363636365, 0.375, NAN},
                        precision[C] = {0.0, 1.0, 0.25, 0.25, 0.5714285714285714, 0.2727272727272727, 0.0},
                        f1[C] = {0.0,  0.47619047619047616, 0.2857142857142857,
                                 0.25, 0.4444444444444444,  0.3157894736842105,
                                 0.0};
    TtClassStats s;
    assert_int_equal(tt_class_stats_init(&s, C), TT_OK);
    for (int i = 0; i < N; i += 25) tt_class_stats_add(&s, x + i * C, y + i, TT_MIN(25, N - i));
    assert_int_equal(s.samples, N);
    assert_int_equal(s.top1, 17);
    assert_int_equal(s.top5, 53);
    assert_true(tt_class_stats_acc1(&s) == (double)17 / N && tt_class_stats_acc5(&s) == (double)53 / N);
    for (int i = 0; i < C; i++) {
        for (int j = 0; j < C; j++) assert_int_equal(s.confusion[i * C + j], confusion[i][j]);
        double r = tt_class_stats_recall(&s, i);
        assert_true(isnan(recall[i]) ? isnan(r) : fabs(r - recall[i]) < 1e-15);
        assert_true(fabs(tt_class_stats_precision(&s, i) - precision[i]) < 1e-15);
        assert_true(fabs(tt_class_stats_f1(&s, i) - f1[i]) < 1e-15);
    }
    assert_true(fabs(tt_class_stats_macro(&s, tt_class_stats_f1) - 0.2531626685762024) < 1e-15);
    assert_true(fabs(tt_class_stats_macro(&s, tt_class_stats_recall) - 0.2724116161616162) < 1e-15);
    tt_class_stats_free(&s);
}

static void add_one(TtClassStats *s, const float *row, int64_t label)
{
    tt_class_stats_add(s, row, &label, 1);
}

static void test_ties_and_nan(void **state)
{
    TtClassStats s;
    assert_int_equal(tt_class_stats_init(&s, 8), TT_OK);
    const float equal[8] = {0};
    for (int i = 0; i < 8; i++) add_one(&s, equal, i);
    assert_int_equal(s.top1, 1); /* torch.argmax(zeros(8)) is 0 */
    assert_int_equal(s.predicted[0], 8);
    assert_int_equal(s.top5, 5); /* five places, whoever takes them */
    tt_class_stats_free(&s);

    /* torch.argmax([1, nan, 2, nan, 5, 0, 0, 0]) is 1; topk(5) holds 1, 3, 4, 2, 0 */
    assert_int_equal(tt_class_stats_init(&s, 8), TT_OK);
    const float odd[8] = {1, NAN, 2, NAN, 5, 0, 0, 0};
    for (int i = 0; i < 8; i++) add_one(&s, odd, i);
    assert_int_equal(s.predicted[1], 8);
    assert_int_equal(s.right[1], 1);
    assert_int_equal(s.top5, 5);
    tt_class_stats_free(&s);

    /* all NaN: the first is the prediction, and a label far behind is not among five */
    assert_int_equal(tt_class_stats_init(&s, 8), TT_OK);
    const float nans[8] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    add_one(&s, nans, 7);
    assert_int_equal(s.top1, 0);
    assert_int_equal(s.top5, 0);
    const float infinite[8] = {-INFINITY, -INFINITY, INFINITY, -INFINITY, 0, 0, 0, 0};
    add_one(&s, infinite, 2);
    assert_int_equal(s.top1, 1);
    tt_class_stats_free(&s);
}

static void test_edges(void **state)
{
    TtClassStats s;
    assert_int_equal(tt_class_stats_init(&s, 3), TT_OK);
    tt_class_stats_add(&s, NULL, NULL, 0);
    assert_true(isnan(tt_class_stats_acc1(&s)) && isnan(tt_class_stats_acc5(&s)));
    assert_true(isnan(tt_class_stats_macro(&s, tt_class_stats_f1)));
    const float row[3] = {0, 1, 2};
    add_one(&s, row, -1); /* without a label, and one outside: left out */
    add_one(&s, row, 3);
    add_one(&s, row, INT64_MAX);
    assert_int_equal(s.samples, 0);
    add_one(&s, row, 0);
    assert_int_equal(s.samples, 1);
    assert_int_equal(s.top5, 1); /* three classes: all are among the first five */
    tt_class_stats_free(&s);
    tt_class_stats_free(&s); /* harmless */

    assert_int_equal(tt_class_stats_init(&s, TT_CONFUSION_CLASSES + 1), TT_OK);
    assert_null(s.confusion);
    float *wide = calloc(TT_CONFUSION_CLASSES + 1, sizeof *wide);
    wide[TT_CONFUSION_CLASSES] = 1;
    add_one(&s, wide, TT_CONFUSION_CLASSES);
    assert_int_equal(s.top1, 1);
    free(wide);
    tt_class_stats_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_torch), cmocka_unit_test(test_ties_and_nan),
                                       cmocka_unit_test(test_edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
