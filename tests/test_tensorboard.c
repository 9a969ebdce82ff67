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

#include "tensor/fs.h"
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

/* One red pixel, as Pillow writes it. */
static const uint8_t red_pixel[] = {137, 80,  78,  71, 13, 10,  26,  10, 0,   0,   0,   13,  73,  72, 68,  82, 0, 0,
                                    0,   1,   0,   0,  0,  1,   8,   2,  0,   0,   0,   144, 119, 83, 222, 0,  0, 0,
                                    12,  73,  68,  65, 84, 120, 156, 99, 248, 207, 192, 0,   0,   3,  1,   1,  0, 201,
                                    254, 146, 239, 0,  0,  0,   0,   73, 69,  78,  68,  174, 66,  96, 130};
static const float sound[8] = {0, 1, -1, 0.5f, 2, -2, NAN, 0};

/* Steps 1 to 5, then a session that goes on from 4. */
static void write_sample(const char *dir)
{
    float values[9] = {-1.5f, 0, 0.5f, 2, 0.5f, 1e-13f, -3e-7f, NAN, INFINITY};
    for (int session = 0; session < 2; session++) {
        TtTensorboard *t;
        int first = session ? 4 : 1;
        assert_int_equal(tt_tensorboard_open(dir, first, &t), TT_OK);
        for (int step = first; step <= first + 4; step++)
            assert_int_equal(tt_tensorboard_scalar(t, "train/loss", step, session ? 10 + step : step), TT_OK);
        assert_int_equal(tt_tensorboard_histogram(t, "weights/fc", first, values, 9), TT_OK);
        assert_int_equal(tt_tensorboard_code(t, "config", first, "seed: 1\n\n# <b>\n"), TT_OK);
        assert_int_equal(tt_tensorboard_text(t, "note", first, "**bold**"), TT_OK);
        assert_int_equal(tt_tensorboard_image(t, "picture", first, 1, 1, red_pixel, sizeof red_pixel), TT_OK);
        assert_int_equal(tt_tensorboard_audio(t, "sound", first, sound, 4, 2, 8000), TT_OK);
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
    if (number < 7) return;
    const Tt__Tb__Summary__Value *v = e->summary->value[0];
    assert_int_equal(e->step, 4);
    if (number == 7) assert_true(v->histo->num == 7);
    if (number == 8) {
        assert_string_equal(v->tag, "config");
        assert_string_equal(v->metadata->plugin_data->plugin_name, "text");
        assert_int_equal(v->tensor->dtype, 7);
        assert_int_equal(v->tensor->tensor_shape->dim[0]->size, 1);
        const char *code = "    seed: 1\n    \n    # <b>\n";
        assert_int_equal(v->tensor->string_val[0].len, strlen(code));
        assert_memory_equal(v->tensor->string_val[0].data, code, strlen(code));
    }
    if (number == 10) {
        assert_true(v->image->height == 1 && v->image->width == 1 && v->image->colorspace == 3);
        assert_int_equal(v->image->encoded_image_string.len, sizeof red_pixel);
    }
    if (number == 11) {
        const Tt__Tb__Summary__Audio *a = v->audio;
        /* Python's wave module gives these bytes for the same samples times 32767, clipped */
        const uint8_t wav[60] =
            "RIFF\x34\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x10\0data\x10\0\0\0"
            "\0\0\xff\x7f\x01\x80\0\x40\xff\x7f\x01\x80\0\0\0\0";
        assert_true(a->sample_rate == 8000 && a->num_channels == 2 && a->length_frames == 4);
        assert_string_equal(a->content_type, "audio/wav");
        assert_int_equal(a->encoded_audio_string.len, 60);
        assert_memory_equal(a->encoded_audio_string.data, wav, 60);
    }
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
    assert_int_equal(walk(first, visit_any), 12);
    assert_int_equal(walk(second, visit_second), 12);
    for (int i = 0; i < n; i++) free(names[i]);
    free(names);
    free(first);
    free(second);
}

/* ---- histograms: torch.utils.tensorboard.summary.make_histogram(values, SummaryWriter().default_bins) */

static const double *expected_limits, *expected_counts; /* limit of the empty bucket in front, then of the filled */
static int expected_buckets, expected_filled;

static void visit_histogram(const Tt__Tb__Event *e, int number)
{
    if (number != 2) return;
    const Tt__Tb__Histogram *h = e->summary->value[0]->histo;
    assert_int_equal(h->n_bucket, expected_buckets);
    assert_int_equal(h->n_bucket_limit, expected_buckets);
    int filled = 0;
    for (int i = 0; i < expected_buckets; i++) {
        assert_true(i == 0 || h->bucket_limit[i] > h->bucket_limit[i - 1]);
        if (h->bucket[i] == 0) continue;
        assert_true(filled < expected_filled);
        assert_true(h->bucket[i] == expected_counts[filled]);
        assert_true(h->bucket_limit[i] == expected_limits[filled + 1]);
        filled++;
    }
    assert_int_equal(filled, expected_filled);
    assert_true(h->bucket_limit[0] == expected_limits[0]);
}

static void check_histogram(const char *dir, const float *values, int n, int buckets, int filled, const double *limits,
                            const double *counts)
{
    char *sub = tt_fs_join(dir, "h");
    TtTensorboard *t;
    assert_int_equal(tt_tensorboard_open(sub, 0, &t), TT_OK);
    assert_int_equal(tt_tensorboard_histogram(t, "h", 3, values, n), TT_OK);
    assert_int_equal(tt_tensorboard_close(t), TT_OK);
    expected_limits = limits, expected_counts = counts, expected_buckets = buckets, expected_filled = filled;
    struct dirent **names;
    int files = scandir(sub, &names, NULL, alphasort);
    char *path = tt_fs_join(sub, names[2]->d_name);
    assert_int_equal(walk(path, visit_histogram), filled ? 3 : 2);
    for (int i = 0; i < files; i++) free(names[i]);
    free(names);
    free(path);
    free(sub);
    assert_int_equal(tt_fs_remove_tree(dir, "h"), TT_OK);
}

static void test_histograms(void **state)
{
    float values[9] = {-1.5f, 0, 0.5f, 2, 0.5f, 1e-13f, -3e-7f, NAN, INFINITY};
    check_histogram(*state, values, 9, 596, 5,
                    (double[]){-1.624957930213695, -1.47723448201245, -2.909607723572611e-07, 1e-12, 0.5177616740489182,
                               2.1628190051144287},
                    (double[]){1, 1, 2, 2, 1});
    check_histogram(*state, (float[]){0.25f}, 1, 2, 1, (double[]){0.24153964213356663, 0.2656936063469233},
                    (double[]){1});
    check_histogram(*state, (float[]){0}, 1, 2, 1, (double[]){0, 1e-12}, (double[]){1});
    check_histogram(*state, (float[]){-2e19f, 9.9e19f}, 2, 1533, 2,
                    (double[]){-2.1590498249533174e+19, -1.962772568139379e+19, 9.920775621859783e+19},
                    (double[]){1, 1});
    /* beyond the last edge, where torch drops them */
    check_histogram(*state, (float[]){3e38f, 9.9e19f}, 2, 2, 1,
                    (double[]){9.018886928963439e+19, 9.920775621859783e+19}, (double[]){2});
    check_histogram(*state, values + 7, 2, 0, 0, NULL, NULL);
    check_histogram(*state, NULL, 0, 0, 0, NULL, NULL);
}

/* ---- failures */

static void test_unwritable(void **state)
{
    TtTensorboard *t = (TtTensorboard *)1;
    char *file = tt_fs_join(*state, "file");
    assert_int_equal(tt_fs_write(file, "x", 1), TT_OK);
    assert_int_equal(tt_tensorboard_open(file, 0, &t), TT_EINTERNAL);
    assert_null(t);
    assert_non_null(strstr(tt_error_message(), file));
    assert_int_equal(tt_tensorboard_close(NULL), TT_OK);
    free(file);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        write_sample(argv[1]);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_crc),
                                       cmocka_unit_test_setup_teardown(test_files, temp_setup, temp_teardown),
                                       cmocka_unit_test_setup_teardown(test_histograms, temp_setup, temp_teardown),
                                       cmocka_unit_test_setup_teardown(test_unwritable, temp_setup, temp_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
