/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_npy.c - .npy files against the bytes that numpy.save writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "data/npy.h"
#include "tensor/fs.h"
#include "tests/support/temp.h"

static void expect_file(const char *dir, const TtTensor *t, const char *header, const void *data, size_t n)
{
    char *path = tt_fs_join(dir, "a.npy"), *got;
    size_t size;
    assert_int_equal(tt_npy_write(path, t), TT_OK);
    assert_int_equal(tt_fs_read(path, 10000, TT_EDATA, &got, &size), TT_OK);
    assert_int_equal(size, 128 + n);
    /* numpy.save (NumPy 1.26): version 1.0, 118 bytes of text, padded to 128 in all */
    assert_memory_equal(got, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_memory_equal(got + 10, header, strlen(header));
    for (size_t i = 10 + strlen(header); i < 127; i++) assert_int_equal(got[i], ' ');
    assert_int_equal(got[127], '\n');
    assert_memory_equal(got + 128, data, n);
    assert_int_equal(temp_entries(dir), 1);
    free(got);
    free(path);
}

static void test_write(void **state)
{
    uint8_t bytes[6] = {1, 2, 3, 4, 5, 250};
    TtTensor t = tt_tensor(bytes, TT_U8, TT_SHAPE(1, 2, 3));
    expect_file(*state, &t, "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 3), }", bytes, sizeof bytes);
    uint16_t words[3] = {1, 258, 65535};
    t = tt_tensor(words, TT_U16, TT_SHAPE(3));
    expect_file(*state, &t, "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }", "\1\0\2\1\377\377",
                sizeof words);
    float one = 1;
    t = tt_tensor(&one, TT_F32, (TtShape){0});
    expect_file(*state, &t, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "\0\0\x80\x3f", sizeof one);
    t = tt_tensor(&one, TT_F32, TT_SHAPE(2, 0));
    expect_file(*state, &t, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }", "", 0);
    int64_t longs[1] = {-2};
    t = tt_tensor(longs, TT_I64, TT_SHAPE(1, 1));
    expect_file(*state, &t, "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1), }",
                "\376\377\377\377\377\377\377\377", sizeof longs);
}

static int no_space(TtFsOp op, const char *path, const char *target)
{
    return op == TT_FS_OP_WRITE ? 28 /* ENOSPC */ : 0;
}

static void test_failure_leaves_nothing(void **state)
{
    uint8_t bytes[6] = {0};
    TtTensor t = tt_tensor(bytes, TT_U8, TT_SHAPE(6));
    char *path = tt_fs_join(*state, "a.npy"), *nowhere = tt_fs_join(*state, "none/a.npy");
    tt_fs_test_hook(no_space);
    assert_int_equal(tt_npy_write(path, &t), TT_EINTERNAL);
    tt_fs_test_hook(NULL);
    assert_non_null(strstr(tt_error_message(), path));
    assert_int_equal(temp_entries(*state), 0);
    assert_int_equal(tt_npy_write(nowhere, &t), TT_EINTERNAL);
    assert_non_null(strstr(tt_error_message(), nowhere));
    free(path);
    free(nowhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_write, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_failure_leaves_nothing, temp_setup, temp_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
