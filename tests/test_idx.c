/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_idx.c - IDX files, plain and compressed, whole and hostile, and the mnist data set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "data/dataset.h"
#include "data/idx.h"
#include "tensor/fs.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"

static TtArena arena;

#define OPEN(out, ...) open_dataset(config_map(&arena, "type", "mnist", __VA_ARGS__, NULL), out)

/* Header for RANK dimensions, then COUNT bytes 0, 1, 2, ... Returns the size. */
static size_t make_idx(uint8_t *buf, int rank, const uint32_t *dims, size_t count)
{
    size_t n = 0;
    buf[n++] = 0, buf[n++] = 0, buf[n++] = 8, buf[n++] = (uint8_t)rank;
    for (int i = 0; i < rank; i++)
        for (int shift = 24; shift >= 0; shift -= 8) buf[n++] = (uint8_t)(dims[i] >> shift);
    for (size_t i = 0; i < count; i++) buf[n++] = (uint8_t)i;
    return n;
}

static void put_gz(const char *path, const void *data, size_t size)
{
    gzFile gz = gzopen(path, "wb");
    assert_non_null(gz);
    assert_int_equal(gzwrite(gz, data, (unsigned)size), size);
    assert_int_equal(gzclose(gz), Z_OK);
}

static void test_read(void **state)
{
    uint8_t buf[256];
    size_t n = make_idx(buf, 3, (uint32_t[]){2, 3, 4}, 24);
    for (int gz = 0; gz < 2; gz++) {
        const char *path = in_dir(*state, gz ? "x.gz" : "x");
        TtIdx x;
        gz ? put_gz(path, buf, n) : put_file(path, buf, n);
        assert_int_equal(tt_idx_read(path, &x), TT_OK);
        assert_int_equal(x.rank, 3);
        assert_int_equal(x.dims[0], 2);
        assert_int_equal(x.dims[1], 3);
        assert_int_equal(x.dims[2], 4);
        for (int i = 0; i < 24; i++) assert_int_equal(x.data[i], i);
        tt_idx_free(&x);
    }
}

static void expect_bad(const char *dir, const void *data, size_t size, const char *what)
{
    TtIdx x;
    put_file(in_dir(dir, "bad"), data, size);
    expect_error(tt_idx_read(in_dir(dir, "bad"), &x), TT_EDATA, "/bad: ", what, NULL);
    assert_null(x.data);
}

static void test_hostile(void **state)
{
    const char *dir = *state;
    uint8_t buf[256];
    size_t n = make_idx(buf, 3, (uint32_t[]){2, 3, 4}, 24);
    for (size_t cut = 0; cut < n; cut++) { /* every length that is too short */
        TtIdx x;
        put_file(in_dir(dir, "cut"), buf, cut);
        expect_error(tt_idx_read(in_dir(dir, "cut"), &x), TT_EDATA, "/cut: ", NULL);
    }
    buf[n] = 0;
    expect_bad(dir, buf, n + 1, "more data");
    expect_bad(dir, "\0\0\x0D\x01\0\0\0\1abcd", 12, "at byte 2");
    expect_bad(dir, "\0\0\x08\x00", 4, "at byte 3");
    expect_bad(dir, "\0\0\x08\x05", 4, "at byte 3");
    expect_bad(dir, "\1\0\x08\x01", 4, "not an IDX file");
    expect_bad(dir, "\0\0\x08\x01\0\0\0\0", 8, "dimension 0 is 0");
    /* 2^32 - 1 in each of four dimensions: the product overflows 64 bits */
    expect_bad(dir, "\0\0\x08\x04\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 20, "cannot hold");
    expect_bad(dir, "\0\0\x08\x02\0\1\0\0\0\1\0\0zz", 14, "cannot hold");
}

static void test_damaged_gzip(void **state)
{
    const char *dir = *state;
    uint8_t buf[4096];
    char *gz;
    size_t n = make_idx(buf, 2, (uint32_t[]){40, 100}, 4000), size;
    TtIdx x;
    put_gz(in_dir(dir, "a.gz"), buf, n);
    assert_int_equal(tt_fs_read(in_dir(dir, "a.gz"), 1 << 20, TT_EDATA, &gz, &size), TT_OK);
    for (size_t cut = 1; cut < size; cut += 7) {
        put_file(in_dir(dir, "cut.gz"), gz, cut);
        expect_error(tt_idx_read(in_dir(dir, "cut.gz"), &x), TT_EDATA, "/cut.gz: ", NULL);
    }
    put_file(in_dir(dir, "cut.gz"), gz, size - 1);
    expect_error(tt_idx_read(in_dir(dir, "cut.gz"), &x), TT_EDATA, "/cut.gz: ", NULL);
    gz[size - 6] ^= 1; /* the checksum */
    put_file(in_dir(dir, "crc.gz"), gz, size);
    expect_error(tt_idx_read(in_dir(dir, "crc.gz"), &x), TT_EDATA, "/crc.gz: ", "damaged", NULL);
    free(gz);
    /* a small compressed file cannot hold what this header promises */
    n = make_idx(buf, 3, (uint32_t[]){60000, 280, 280}, 10);
    put_gz(in_dir(dir, "liar.gz"), buf, n);
    expect_error(tt_idx_read(in_dir(dir, "liar.gz"), &x), TT_EDATA, "/liar.gz: ", "cannot hold", NULL);
}

static void put_set(const char *images, const char *labels, int n)
{
    uint8_t buf[1024];
    size_t size = make_idx(buf, 3, (uint32_t[]){(uint32_t)n, 2, 3}, (size_t)n * 6);
    put_gz(images, buf, size);
    size = make_idx(buf, 1, (uint32_t[]){(uint32_t)n}, (size_t)n);
    put_file(labels, buf, size);
}

static void test_dataset(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    TtSample s = {0};
    put_set(in_dir(dir, "train-images-idx3-ubyte.gz"), in_dir(dir, "train-labels-idx1-ubyte"), 5);
    put_set(in_dir(dir, "t10k-images-idx3-ubyte.gz"), in_dir(dir, "t10k-labels.idx1-ubyte"), 3);
    assert_int_equal(OPEN(&d, "path", dir), TT_OK);
    assert_int_equal(d->count, 5);
    assert_int_equal(d->classes, 5);
    assert_null(d->class_names);
    assert_int_equal(d->def->read(d, 4, &s), TT_OK);
    assert_int_equal(s.label, 4);
    assert_string_equal(s.name, in_dir(dir, "train-images-idx3-ubyte.gz[4]"));
    assert_int_equal(s.image.h, 2);
    assert_int_equal(s.image.w, 3);
    assert_int_equal(s.image.c, 3);
    assert_int_equal(s.image.dtype, TT_U8);
    for (int i = 0; i < 18; i++) assert_int_equal(((uint8_t *)s.image.data)[i], 24 + i / 3);
    tt_dataset_close(d);
    assert_int_equal(OPEN(&d, "path", dir, "split", "test", "classes", "[a, b, c]"), TT_OK);
    assert_int_equal(d->count, 3);
    assert_string_equal(d->class_names[2], "c");
    tt_dataset_close(d);
    expect_error(OPEN(&d, "path", dir, "classes", "[a, b, c]"), TT_EDATA, "label 3", "3 names", NULL);
    expect_error(OPEN(&d, "path", in_dir(dir, "none")), TT_EDATA, "train-images-idx3-ubyte", NULL);
    expect_error(OPEN(&d, "split", "train"), TT_ECONFIG, "path", "images", NULL);
    expect_error(OPEN(&d, "path", dir, "images", "x"), TT_ECONFIG, "not both", NULL);
    expect_error(
        OPEN(&d, "images", in_dir(dir, "train-images-idx3-ubyte.gz"), "labels", in_dir(dir, "t10k-labels.idx1-ubyte")),
        TT_EDATA, "5 pictures", "3 labels", NULL);
    expect_error(
        OPEN(&d, "images", in_dir(dir, "t10k-labels.idx1-ubyte"), "labels", in_dir(dir, "t10k-labels.idx1-ubyte")),
        TT_EDATA, "1 dimensions", NULL);
    tt_sample_free(&s);
}

static void test_colour(void **state)
{
    const char *dir = *state;
    uint8_t buf[256];
    TtDataset *d;
    TtSample s = {0};
    put_file(in_dir(dir, "x"), buf, make_idx(buf, 4, (uint32_t[]){2, 1, 2, 3}, 12));
    put_file(in_dir(dir, "y"), buf, make_idx(buf, 1, (uint32_t[]){2}, 2));
    assert_int_equal(OPEN(&d, "images", in_dir(dir, "x"), "labels", in_dir(dir, "y")), TT_OK);
    assert_int_equal(d->def->read(d, 1, &s), TT_OK);
    for (int i = 0; i < 6; i++) assert_int_equal(((uint8_t *)s.image.data)[i], 6 + i);
    tt_dataset_close(d);
    put_file(in_dir(dir, "x"), buf, make_idx(buf, 4, (uint32_t[]){2, 1, 3, 2}, 12));
    expect_error(OPEN(&d, "images", in_dir(dir, "x"), "labels", in_dir(dir, "y")), TT_EDATA, "2 channels", NULL);
    put_file(in_dir(dir, "x"), buf, make_idx(buf, 3, (uint32_t[]){2, 4, 5}, 40));
    TtNode *map = config_map(&arena, "type", "mnist", "images", in_dir(dir, "x"), "labels", in_dir(dir, "y"), NULL);
    expect_error(tt_dataset_open(map, &(TtImageOptions){.max_pixels = 19}, &d), TT_EDATA, "4x5", "max_pixels", NULL);
    tt_sample_free(&s);
}

static int teardown(void **state)
{
    tt_arena_free(&arena);
    return temp_teardown(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_read), TEST(test_hostile), TEST(test_damaged_gzip), TEST(test_dataset),
                                       TEST(test_colour)};
    return cmocka_run_group_tests_name("idx", tests, NULL, NULL);
}
