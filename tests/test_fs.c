/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_fs.c - atomic writes under injected faults, folders, links, removal, locks. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tensor/fs.h"
#include "tests/support/temp.h"

static int fail_at, fail_with, calls;

static int failing(TtFsOp op, const char *path, const char *target)
{
    (void)op, (void)path, (void)target;
    return calls++ == fail_at ? fail_with : 0;
}

static void assert_content(const char *path, const char *want)
{
    char *data;
    size_t size;
    assert_int_equal(tt_fs_read(path, 1000, TT_EDATA, &data, &size), TT_OK);
    assert_int_equal(size, strlen(want));
    assert_string_equal(data, want);
    free(data);
}

static void test_write(void **state)
{
    const char *dir = *state;
    char *path = tt_fs_join(dir, "a.txt");
    assert_int_equal(tt_fs_write(path, "old", 3), TT_OK);
    assert_content(path, "old");
    assert_int_equal(tt_fs_write(path, "", 0), TT_OK);
    assert_content(path, "");
    assert_int_equal(tt_fs_write(path, "old", 3), TT_OK);
    /* whichever operation fails: the old or the new content, and no leftover */
    int failures = 0;
    for (fail_at = 0, fail_with = ENOSPC;; fail_at++) {
        calls = 0;
        tt_fs_test_hook(failing);
        TtStatus status = tt_fs_write(path, "new content", 11);
        tt_fs_test_hook(NULL);
        if (status == TT_OK) break;
        failures++;
        assert_int_equal(status, TT_EINTERNAL);
        assert_non_null(strstr(tt_error_message(), "No space left on device"));
        char *data;
        size_t size;
        assert_int_equal(tt_fs_read(path, 1000, TT_EDATA, &data, &size), TT_OK);
        assert_true(strcmp(data, "old") == 0 || strcmp(data, "new content") == 0);
        free(data);
        assert_int_equal(temp_entries(dir), 1);
    }
    assert_int_equal(failures, 5); /* open, write, flush, rename, flush of the folder */
    assert_content(path, "new content");
    /* a long name leaves room for the temporary one; a device is not replaced; a folder is refused */
    char name[256];
    memset(name, 'n', 255), name[255] = '\0';
    char *lengthy = tt_fs_join(dir, name);
    assert_int_equal(tt_fs_write(lengthy, "x", 1), TT_OK);
    assert_content(lengthy, "x");
    assert_int_equal(tt_fs_write("/dev/null", "x", 1), TT_OK);
    struct stat st;
    assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    assert_int_equal(tt_fs_write(dir, "x", 1), TT_EINTERNAL);
    char *nowhere = tt_fs_join(dir, "none/a.txt");
    assert_int_equal(tt_fs_write(nowhere, "x", 1), TT_EINTERNAL);
    assert_non_null(strstr(tt_error_message(), nowhere));
    free(nowhere), free(lengthy), free(path);
}

static void test_writer(void **state)
{
    char *path = tt_fs_join(*state, "b.bin");
    TtFsWriter w;
    assert_int_equal(tt_fs_open(&w, path, TT_FS_NEW), TT_OK);
    char digest[TT_FS_DIGEST], again[TT_FS_DIGEST];
    tt_fs_digest(&w, digest);
    assert_string_equal(digest, "99aa06d3014798d86001c324468d497f"); /* the specification's value for no input */
    for (int i = 0; i < 1000; i++) assert_int_equal(tt_fs_put(&w, "0123456789", 10), TT_OK);
    tt_fs_digest(&w, digest);
    assert_int_equal(tt_fs_commit(&w), TT_OK);
    tt_fs_discard(&w); /* closed: nothing happens */
    uint64_t size;
    assert_int_equal(tt_fs_checksum(path, TT_EDATA, &size, again), TT_OK);
    assert_int_equal(size, 10000);
    assert_string_equal(digest, again);
    assert_int_equal(tt_fs_open(&w, path, TT_FS_NEW), TT_EINTERNAL); /* exists */
    assert_int_equal(tt_fs_open(&w, path, TT_FS_ATOMIC), TT_OK);
    assert_int_equal(tt_fs_put(&w, "x", 1), TT_OK);
    tt_fs_discard(&w);
    assert_int_equal(tt_fs_checksum(path, TT_EDATA, &size, again), TT_OK);
    assert_string_equal(digest, again);
    assert_int_equal(temp_entries(*state), 1);
    char *missing = tt_fs_join(*state, "missing");
    assert_int_equal(tt_fs_checksum(missing, TT_ECHECKPOINT, &size, again), TT_ECHECKPOINT);
    assert_non_null(strstr(tt_error_message(), missing));
    free(missing), free(path);
}

static int syncs;

static int count_syncs(TtFsOp op, const char *path, const char *target)
{
    (void)path, (void)target;
    syncs += op == TT_FS_OP_SYNC;
    return op == TT_FS_OP_SYNC ? EIO : 0;
}

/* Many files, flushed once: none of them asks for a flush, the folder's is made or fails. */
static void test_unflushed(void **state)
{
    char *path = tt_fs_join(*state, "u");
    TtFsWriter w;
    tt_fs_test_hook(count_syncs);
    assert_int_equal(tt_fs_open(&w, path, TT_FS_UNFLUSHED), TT_OK);
    assert_int_equal(tt_fs_put(&w, "abc", 3), TT_OK);
    assert_int_equal(tt_fs_commit(&w), TT_OK);
    assert_int_equal(syncs, 0);
    assert_content(path, "abc");
    assert_int_equal(tt_fs_open(&w, path, TT_FS_UNFLUSHED), TT_EINTERNAL); /* exists */
    assert_int_equal(tt_fs_sync_all(*state), TT_EINTERNAL);
    assert_int_equal(syncs, 1);
    assert_non_null(strstr(tt_error_message(), "flush"));
    tt_fs_test_hook(NULL);
    assert_int_equal(tt_fs_sync_all(*state), TT_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(tt_fs_open(&w, path, TT_FS_UNFLUSHED), TT_OK);
    tt_fs_discard(&w);
    assert_int_equal(temp_entries(*state), 0);
    assert_int_equal(tt_fs_sync_all(path), TT_EINTERNAL);
    free(path);
}

static void test_read(void **state)
{
    char *path = tt_fs_join(*state, "r"), *data;
    size_t size;
    assert_int_equal(tt_fs_write(path, "12345", 5), TT_OK);
    assert_int_equal(tt_fs_read(path, 5, TT_EDATA, &data, &size), TT_OK);
    assert_int_equal(size, 5);
    free(data);
    assert_int_equal(tt_fs_read(path, 4, TT_ECONFIG, &data, &size), TT_ECONFIG);
    assert_non_null(strstr(tt_error_message(), "larger than 4 bytes"));
    assert_null(data);
    assert_int_equal(tt_fs_read(*state, 4, TT_EDATA, &data, &size), TT_EDATA);
    assert_int_equal(tt_fs_read("/dev/zero", 10000, TT_EDATA, &data, &size), TT_EDATA); /* without an end */
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    char text[9000], name[32];
    memset(text, 'p', sizeof text);
    assert_int_equal(write(fds[1], text, sizeof text), sizeof text);
    close(fds[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", fds[0]);
    assert_int_equal(tt_fs_read(name, 10000, TT_EDATA, &data, &size), TT_OK); /* without a size */
    assert_int_equal(size, sizeof text);
    assert_memory_equal(data, text, size);
    free(data);
    close(fds[0]);
    free(path);
}

static void test_folders(void **state)
{
    const char *dir = *state;
    char *deep = tt_fs_join(dir, "a/b//c/"), *outside = tt_fs_join(dir, "outside"), *b = tt_fs_join(dir, "a/b");
    char *link = tt_fs_join(dir, "a/b/link"), *file = tt_fs_join(dir, "a/b/c/file"), text[64];
    assert_int_equal(tt_fs_mkdirs(deep), TT_OK);
    assert_int_equal(tt_fs_mkdirs(deep), TT_OK);
    assert_true(tt_fs_is_dir(deep));
    assert_int_equal(tt_fs_write(outside, "kept", 4), TT_OK);
    assert_int_equal(tt_fs_mkdirs(outside), TT_EINTERNAL);
    assert_int_equal(tt_fs_write(file, "x", 1), TT_OK);
    /* links are replaced, point where told, and are never followed on removal */
    assert_int_equal(tt_fs_symlink("../../outside", link), TT_OK);
    assert_content(link, "kept");
    assert_int_equal(tt_fs_symlink("c/file", link), TT_OK);
    assert_content(link, "x");
    ssize_t n = readlink(link, text, sizeof text);
    assert_true(n == 6 && memcmp(text, "c/file", 6) == 0);
    assert_int_equal(tt_fs_symlink("../..", link), TT_OK);
    assert_int_equal(tt_fs_remove_tree(dir, "a"), TT_OK);
    assert_false(tt_fs_exists(b));
    assert_content(outside, "kept");
    assert_int_equal(tt_fs_remove_tree(dir, "a"), TT_OK);
    /* a link in the place of the tree */
    char *target = tt_fs_join(dir, "t"), *alias = tt_fs_join(dir, "alias");
    assert_int_equal(tt_fs_mkdirs(target), TT_OK);
    assert_int_equal(tt_fs_symlink("t", alias), TT_OK);
    assert_int_equal(tt_fs_remove_tree(dir, "alias"), TT_OK);
    assert_true(tt_fs_is_dir(target) && !tt_fs_exists(alias));
    /* too deep */
    char path[300] = "d";
    for (int i = 0; i < 40; i++) strcat(path, "/d");
    char *abyss = tt_fs_join(dir, path);
    assert_int_equal(tt_fs_mkdirs(abyss), TT_OK);
    assert_int_equal(tt_fs_remove_tree(dir, "d"), TT_EINTERNAL);
    assert_non_null(strstr(tt_error_message(), "folders deep"));
    uint64_t space = tt_fs_free_bytes(dir);
    assert_true(space > 0 && space != UINT64_MAX);
    assert_true(tt_fs_free_bytes(file) == UINT64_MAX); /* its folder is gone */
    free(abyss), free(alias), free(target), free(file), free(link), free(b), free(outside), free(deep);
}

static void test_temps(void **state)
{
    /* a writer killed between open and rename leaves a file; a later one clears it */
    char *path = tt_fs_join(*state, "k");
    pid_t child = fork();
    if (child == 0) {
        TtFsWriter w;
        if (tt_fs_open(&w, path, TT_FS_ATOMIC) == TT_OK) _exit(7);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(temp_entries(*state), 1);
    assert_int_equal(tt_fs_write(path, "k", 1), TT_OK);
    assert_int_equal(tt_fs_remove_temps(*state), TT_OK);
    assert_int_equal(temp_entries(*state), 1);
    assert_content(path, "k");
    free(path);
}

static void test_lock(void **state)
{
    char *path = tt_fs_join(*state, ".lock");
    TtFsLock a = {0}, b = {0};
    assert_int_equal(tt_fs_lock(&a, path), TT_OK);
    assert_int_equal(tt_fs_lock(&b, path), TT_ECONFIG); /* a second one within the process */
    char host[128] = "", pid[32];
    gethostname(host, sizeof host - 1);
    snprintf(pid, sizeof pid, "process %ld on", (long)getpid());
    assert_non_null(strstr(tt_error_message(), path));
    assert_non_null(strstr(tt_error_message(), host));
    assert_non_null(strstr(tt_error_message(), pid));
    assert_null(strchr(tt_error_message(), '\n'));
    tt_fs_unlock(&b);
    tt_fs_unlock(&a);
    tt_fs_unlock(&a);
    assert_int_equal(tt_fs_lock(&b, path), TT_OK);
    tt_fs_unlock(&b);
    /* another process holds it until it dies, without any word of its own */
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        if (tt_fs_lock(&a, path) != TT_OK) _exit(1);
        if (write(fds[1], "x", 1) != 1) _exit(1);
        pause();
    }
    char c;
    assert_int_equal(read(fds[0], &c, 1), 1);
    assert_int_equal(tt_fs_lock(&b, path), TT_ECONFIG);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(tt_fs_lock(&b, path), TT_OK);
    tt_fs_unlock(&b);
    close(fds[0]), close(fds[1]);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_write, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_writer, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_unflushed, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_read, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_folders, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_temps, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_lock, temp_setup, temp_teardown),
    };
    return cmocka_run_group_tests_name("fs", tests, NULL, NULL);
}
