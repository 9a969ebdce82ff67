/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_metrics.c - metrics.jsonl and summary.csv: text, cutting at a resume, torn ends, full disks, curves. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "tensor/fs.h"
#include "pipeline/json.h"
#include "pipeline/metrics.h"
#include "tests/support/temp.h"

static void expect_text(const char *dir, const char *name, const char *expected)
{
    char *path = tt_fs_join(dir, name), *text;
    size_t size;
    assert_int_equal(tt_fs_read(path, 1 << 26, TT_EDATA, &text, &size), TT_OK);
    assert_string_equal(text, expected);
    free(text);
    free(path);
}

static void put_text(const char *dir, const char *name, const char *text, size_t n)
{
    char *path = tt_fs_join(dir, name);
    assert_int_equal(tt_fs_write(path, text, n), TT_OK);
    free(path);
}

static TtMetrics *open_metrics(const char *dir, int64_t step)
{
    TtMetrics *m;
    assert_int_equal(tt_metrics_open(dir, true, true, step, &m), TT_OK);
    return m;
}

static TtStatus add_event(TtMetrics *m, const char *event, int64_t step, const char *key, double value)
{
    json_t *o = json_object();
    json_object_set_new(o, "event", json_string(event));
    json_object_set_new(o, "step", json_integer(step));
    json_object_set_new(o, key, tt_json_real(value));
    TtStatus s = tt_metrics_event(m, o);
    json_decref(o);
    return s;
}

static TtStatus add_row(TtMetrics *m, int64_t step, const char *key, double value, const char *key2, double value2)
{
    json_t *o = json_object();
    json_object_set_new(o, "step", json_integer(step));
    if (key) json_object_set_new(o, key, tt_json_real(value));
    if (key2) json_object_set_new(o, key2, tt_json_real(value2));
    json_object_set_new(o, "skipped", json_string("text is no cell"));
    json_object_set_new(o, "com,ma", json_integer(1));
    TtStatus s = tt_metrics_row(m, o);
    json_decref(o);
    return s;
}

static void test_text(void **state)
{
    TtMetrics *m = open_metrics(*state, 0);
    assert_int_equal(add_event(m, "train", 1, "train/loss", (double)2.3025851f), TT_OK);
    assert_int_equal(add_event(m, "train", 2, "lr", 0.1), TT_OK);
    assert_int_equal(add_event(m, "train", 3, "train/loss", NAN), TT_OK);
    assert_int_equal(add_event(m, "val", 3, "val/acc1", 1), TT_OK);
    assert_int_equal(add_row(m, 3, "val/loss", (double)0.41234567f, "val/acc1", NAN), TT_OK);
    tt_metrics_close(m);
    expect_text(*state, "metrics.jsonl",
                "{\"event\":\"train\",\"step\":1,\"train/loss\":2.30258512}\n"
                "{\"event\":\"train\",\"step\":2,\"lr\":0.1}\n"
                "{\"event\":\"train\",\"step\":3,\"train/loss\":null}\n"
                "{\"event\":\"val\",\"step\":3,\"val/acc1\":1.0}\n");
    expect_text(*state, "summary.csv", "step,val/loss,val/acc1\n3,0.412345678,\n");
    /* every float32 comes back from nine digits */
    assert_true((float)strtod("2.30258512", NULL) == 2.3025851f && (float)strtod("0.412345678", NULL) == 0.41234567f);
}

static void fill(const char *dir, int from, int to)
{
    TtMetrics *m = open_metrics(dir, from);
    for (int i = from + 1; i <= to; i++) {
        assert_int_equal(add_event(m, "train", i, "train/loss", i), TT_OK);
        if (i % 2 == 0) assert_int_equal(add_row(m, i, "val/loss", i, NULL, 0), TT_OK);
    }
    tt_metrics_close(m);
}

static void test_resume(void **state)
{
    const char *dir = *state;
    fill(dir, 0, 6);
    fill(dir, 3, 5); /* killed at 6, resumed from 3 */
    expect_text(
        dir, "metrics.jsonl",
        "{\"event\":\"train\",\"step\":1,\"train/loss\":1.0}\n{\"event\":\"train\",\"step\":2,\"train/loss\":2.0}\n"
        "{\"event\":\"train\",\"step\":3,\"train/loss\":3.0}\n{\"event\":\"train\",\"step\":4,\"train/loss\":4.0}\n"
        "{\"event\":\"train\",\"step\":5,\"train/loss\":5.0}\n");
    expect_text(dir, "summary.csv", "step,val/loss\n2,2\n4,4\n");
    assert_int_equal(temp_entries(dir), 2); /* nothing left beside them */
    /* anew */
    tt_metrics_close(open_metrics(dir, 0));
    expect_text(dir, "metrics.jsonl", "");
    expect_text(dir, "summary.csv", "");
    /* switched off: cut all the same, and nothing is written */
    fill(dir, 0, 4);
    TtMetrics *m;
    assert_int_equal(tt_metrics_open(dir, false, false, 2, &m), TT_OK);
    assert_int_equal(add_event(m, "train", 3, "train/loss", 3), TT_OK);
    assert_int_equal(add_row(m, 3, "val/loss", 3, NULL, 0), TT_OK);
    assert_int_equal(tt_metrics_curve(m, "train/loss")->n, 3);
    tt_metrics_close(m);
    expect_text(
        dir, "metrics.jsonl",
        "{\"event\":\"train\",\"step\":1,\"train/loss\":1.0}\n{\"event\":\"train\",\"step\":2,\"train/loss\":2.0}\n");
    expect_text(dir, "summary.csv", "step,val/loss\n2,2\n");
}

static void test_damaged(void **state)
{
    static const char lines[] =
        "{\"event\":\"train\",\"step\":1,\"train/loss\":1.5}\n"
        "\0\0\0\0\n"
        "not json\n\n[1,2]\n{\"step\":\"2\"}\n{\"step\":-1}\n{\"step\":1e300}\n{\"step\":99999999999999999999}\n"
        "{\"event\":\"val\",\"step\":2,\"val/loss\":7}\n"
        "{\"event\":\"train\",\"step\":2,\"train/lo";
    put_text(*state, "metrics.jsonl", lines, sizeof lines - 1);
    put_text(*state, "summary.csv", "step,val/loss\n1,0.5\n99999999999999999999,1\nx\n2,1\n2,", 51);
    TtMetrics *m = open_metrics(*state, 2);
    expect_text(*state, "metrics.jsonl",
                "{\"event\":\"train\",\"step\":1,\"train/loss\":1.5}\n{\"event\":\"val\",\"step\":2,\"val/loss\":7}\n");
    expect_text(*state, "summary.csv", "step,val/loss\n1,0.5\n2,1\n");
    const TtCurve *c = tt_metrics_curve(m, "train/loss");
    assert_true(c && c->n == 1 && c->step[0] == 1 && c->value[0] == 1.5);
    assert_null(tt_metrics_curve(m, "nothing"));
    tt_metrics_close(m);
    /* a torn header, and one that is not ours */
    put_text(*state, "summary.csv", "step,val/lo", 11);
    tt_metrics_close(open_metrics(*state, 2));
    expect_text(*state, "summary.csv", "");
    put_text(*state, "summary.csv", "a,b\n1,2\n", 8);
    tt_metrics_close(open_metrics(*state, 2));
    expect_text(*state, "summary.csv", "");
}

static void test_columns(void **state)
{
    TtMetrics *m = open_metrics(*state, 0);
    assert_int_equal(add_row(m, 1, "val/loss", 0.5, NULL, 0), TT_OK);
    assert_int_equal(add_row(m, 2, "val/acc1", 0.25, "val/loss", 0.125), TT_OK); /* a new column, another order */
    assert_int_equal(add_row(m, 3, NULL, 0, "val/acc", 1), TT_OK);               /* a prefix of another name */
    tt_metrics_close(m);
    m = open_metrics(*state, 3);
    assert_int_equal(add_row(m, 4, "val/acc5", 1e-30, NULL, 0), TT_OK);
    assert_int_equal(add_row(m, 5, "val/acc1", -INFINITY, NULL, 0), TT_OK);
    tt_metrics_close(m);
    expect_text(*state, "summary.csv",
                "step,val/loss,val/acc1,val/acc,val/acc5\n1,0.5,,,\n2,0.125,0.25,,\n3,,,1,\n4,,,,1e-30\n5,,,,\n");
    assert_int_equal(temp_entries(*state), 2);
}

static void test_curves(void **state)
{
    enum { N = 3 * TT_CURVE_POINTS };
    TtMetrics *m;
    assert_int_equal(tt_metrics_open(*state, true, false, 0, &m), TT_OK);
    double sum = 0;
    for (int i = 1; i <= N; i++) {
        assert_int_equal(add_event(m, "train", i, "train/loss", i % 7), TT_OK);
        sum += i % 7;
    }
    const TtCurve *c = tt_metrics_curve(m, "train/loss");
    assert_true(c->n == N / 4); /* merged twice */
    double mean = 0;
    for (int64_t i = 0; i < c->n; i++) {
        assert_true(c->step[i] == 4 * (double)(i + 1));
        mean += c->value[i] / (double)c->n;
    }
    assert_true(fabs(mean - sum / N) < 1e-9);
    double last = c->value[c->n - 1];
    tt_metrics_close(m);
    /* the same curve from the file */
    assert_int_equal(tt_metrics_open(*state, true, false, N, &m), TT_OK);
    c = tt_metrics_curve(m, "train/loss");
    assert_true(c->n == N / 4 && c->value[c->n - 1] == last);
    assert_int_equal(add_event(m, "val", N, "val/loss", NAN), TT_OK);
    assert_true(isnan(tt_metrics_curve(m, "val/loss")->value[0]));
    tt_metrics_close(m);
}

/* A full disk, as a limit on the file's size. */
static void test_full_disk(void **state)
{
    TtMetrics *m = open_metrics(*state, 0);
    struct rlimit was, limit;
    getrlimit(RLIMIT_FSIZE, &was);
    limit = was;
    limit.rlim_cur = 60;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    TtStatus first = add_event(m, "train", 1, "train/loss", 1), second = add_event(m, "train", 2, "train/loss", 2);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(first, TT_OK);
    assert_int_equal(second, TT_EINTERNAL);
    assert_non_null(strstr(tt_error_message(), "metrics.jsonl"));
    /* what was written of the second line is gone: the third does not stick to it */
    assert_int_equal(add_event(m, "train", 3, "train/loss", 3), TT_OK);
    tt_metrics_close(m);
    expect_text(*state, "metrics.jsonl",
                "{\"event\":\"train\",\"step\":1,\"train/loss\":1.0}\n"
                "{\"event\":\"train\",\"step\":3,\"train/loss\":3.0}\n");
    /* no such folder */
    char *no = tt_fs_join(*state, "no");
    assert_int_equal(tt_metrics_open(no, true, true, 0, &m), TT_EINTERNAL);
    assert_null(m);
    free(no);
    tt_metrics_close(NULL);
}

/* A failure while the files are cut leaves them as they were. */
static int no_rename(TtFsOp op, const char *path, const char *target)
{
    return op == TT_FS_OP_RENAME ? 5 /* EIO */ : 0;
}

static void test_failed_cut(void **state)
{
    fill(*state, 0, 4);
    TtMetrics *m;
    tt_fs_test_hook(no_rename);
    TtStatus s = tt_metrics_open(*state, true, true, 2, &m);
    tt_fs_test_hook(NULL);
    assert_int_equal(s, TT_EINTERNAL);
    assert_null(m);
    expect_text(*state, "summary.csv", "step,val/loss\n2,2\n4,4\n");
    assert_int_equal(temp_entries(*state), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_resume, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_damaged, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_columns, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_curves, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_failed_cut, temp_setup, temp_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
