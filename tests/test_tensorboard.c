/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_tensorboard.c - event files: checksums, framing, what the messages hold. scripts/check_tensorboard.py shows
 * the same files to the real TensorBoard. With an argument: write a sample log there and leave it. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pipeline/fs.h"
#include "pipeline/tensorboard.h"
#include "pipeline/tensorboard.pb-c.h"
#include "tests/support/temp.h"

static void test_crc(void **state)
{
    /* RFC 3720, B.4 */
    uint8_t zeros[32] = {0}, ones[32];
    memset(ones, 0xff, 32);
    assert_int_equal(tt_crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(tt_crc32c(zeros, 32), 0x8a9136aa);
    assert_int_equal(tt_crc32c(ones, 32), 0x62a8ab43);
    assert_int_equal(tt_crc32c_masked("", 0), 0xa282ead8);
}

/* Steps 1 to 5, then a session that goes on from 4. */
static void write_sample(const char *dir)
{
    float values[5] = {-1, 0, 0.5f, 2, NAN};
    for (int session = 0; session < 2; session++) {
        TtTensorboard *t;
        int first = session ? 4 : 1;
        assert_int_equal(tt_tensorboard_open(dir, first, &t), TT_OK);
        for (int step = first; step <= first + 4; step++)
            assert_int_equal(tt_tensorboard_scalar(t, "train/loss", step, session ? 10 + step : step), TT_OK);
        assert_int_equal(tt_tensorboard_histogram(t, "weights/fc", first, values, 5), TT_OK);
        assert_int_equal(tt_tensorboard_text(t, "config", first, "    seed: 1"), TT_OK);
        assert_int_equal(tt_tensorboard_close(t), TT_OK);
    }
}

static uint32_t le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Check a file's framing; hand each event to VISIT. */
static int walk(const char *path, void (*visit)(const Tt__Tb__Event *e, int number))
{
    char *data;
    size_t size, at = 0;
    int n = 0;
    assert_int_equal(tt_fs_read(path, 1 << 20, TT_EDATA, &data, &size), TT_OK);
    for (; at < size; n++) {
        const uint8_t *p = (uint8_t *)data + at;
        assert_true(size - at >= 16);
        uint32_t len = le32(p);
        assert_int_equal(le32(p + 4), 0);
        assert_int_equal(le32(p + 8), tt_crc32c_masked(p, 8));
        assert_true(size - at >= len + 16);
        assert_int_equal(le32(p + 12 + len), tt_crc32c_masked(p + 12, len));
        Tt__Tb__Event *e = tt__tb__event__unpack(NULL, len, p + 12);
        assert_non_null(e);
        visit(e, n);
        tt__tb__event__free_unpacked(e, NULL);
        at += len + 16;
    }
    free(data);
    return n;
}

static void visit_second(const Tt__Tb__Event *e, int number)
{
    assert_true(e->wall_time > 1.6e9);
    if (number == 0) assert_string_equal(e->file_version, "brain.Event:2");
    if (number == 1) {
        assert_int_equal(e->session_log->status, TT__TB__SESSION_LOG__STATUS__START);
        assert_int_equal(e->step, 4);
    }
    if (number >= 2 && number < 7) {
        assert_int_equal(e->step, 4 + number - 2);
        assert_string_equal(e->summary->value[0]->tag, "train/loss");
        assert_true(e->summary->value[0]->simple_value == 10.0f + (float)e->step);
    }
    if (number == 7) {
        const Tt__Tb__Histogram *h = e->summary->value[0]->histo;
        assert_true(h->num == 4 && h->min == -1 && h->max == 2 && h->sum == 1.5 && h->sum_squares == 5.25);
        assert_int_equal(h->n_bucket, h->n_bucket_limit);
        double total = 0;
        for (size_t i = 0; i < h->n_bucket; i++) {
            total += h->bucket[i];
            assert_true(i == 0 || h->bucket_limit[i] > h->bucket_limit[i - 1]);
        }
        assert_true(total == 4);
    }
    if (number == 8) assert_string_equal(e->summary->value[0]->metadata->plugin_data->plugin_name, "text");
}

static void visit_any(const Tt__Tb__Event *e, int number)
{
}

static void test_files(void **state)
{
    const char *dir = *state;
    write_sample(dir);
    /* two files, even within one second, and the second's name sorts behind the first's */
    struct dirent **names;
    int n = scandir(dir, &names, NULL, alphasort);
    assert_int_equal(n, 4);
    char *first = tt_fs_join(dir, names[2]->d_name), *second = tt_fs_join(dir, names[3]->d_name);
    assert_int_equal(walk(first, visit_any), 9);
    assert_int_equal(walk(second, visit_second), 9);
    for (int i = 0; i < n; i++) free(names[i]);
    free(names);
    free(first);
    free(second);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        write_sample(argv[1]);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_crc),
                                       cmocka_unit_test_setup_teardown(test_files, temp_setup, temp_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
