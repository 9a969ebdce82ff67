/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_dataset.c - the registry, class lists, and image_folder against torchvision.datasets.ImageFolder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "data/dataset.h"
#include "data/strmap.h"
#include "tensor/fs.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"

static TtArena arena;

#define OPEN(out, ...) open_dataset(config_map(&arena, __VA_ARGS__, NULL), out)

/* ---- registry */

static void test_types(void **state)
{
    TtDataset *d;
    expect_error(OPEN(&d, "path", "x"), TT_ECONFIG, "test.yaml:1:1:", "type", NULL);
    expect_error(OPEN(&d, "type", "image_foldr", "path", "x"), TT_ECONFIG, "image_foldr", "'image_folder'", NULL);
    expect_error(OPEN(&d, "type", "zebra"), TT_ECONFIG, "zebra", "there are image_folder, image_manifest", NULL);
    expect_error(OPEN(&d, "type", "image_folder"), TT_ECONFIG, "path", NULL);
    expect_error(OPEN(&d, "type", "image_folder", "path", "x", "alow_empty", "true"), TT_ECONFIG, "alow_empty",
                 "allow_empty", NULL);
    expect_error(open_dataset(NULL, &d), TT_ECONFIG, "type", NULL);
    for (int i = 0; tt_datasets[i]; i++) {
        assert_non_null(tt_datasets[i]->help);
        assert_non_null(tt_datasets[i]->read);
        assert_non_null(tt_datasets[i]->describe);
    }
}

/* ---- image_folder */

static void test_order(void **state)
{
    const char *dir = *state;
    const char *files[] = {"b/2.png",     "b/10.png",    "b/1.PNG",         "b/x.b/3.jpg", "b/x/4.JPEG", "b/x/z/5.png",
                           "b/x-y/6.png", "b/notes.txt", "b/.hidden.png",   "b/.d/7.png",  "a/é.png",    "a/z.png",
                           "a/Z.webp",    "a/_.tiff",    ".h/8.png",        "Ä/9.pgm",     "b/noext",    "b/jpg",
                           "b/.jpg",      "a/x.png.bak", "c/deep/er/1.bmp", "top.png"};
    for (int i = 0; i < TT_COUNT(files); i++) put_text(in_dir(dir, "%s", files[i]), "");
    assert_int_equal(symlink("../c/deep", in_dir(dir, "b/link")), 0);
    assert_int_equal(symlink("nowhere.png", in_dir(dir, "b/broken.png")), 0);
    assert_int_equal(symlink("2.png", in_dir(dir, "b/file-link.png")), 0);

    /* torchvision 0.2x: ImageFolder(dir).classes and .samples of this tree */
    const char *classes[] = {".h", "a", "b", "c", "Ä"};
    const struct {
        const char *path;
        int label;
    } want[] = {{".h/8.png", 0},    {"a/Z.webp", 1},        {"a/_.tiff", 1},        {"a/z.png", 1},
                {"a/é.png", 1},     {"b/.hidden.png", 2},   {"b/.jpg", 2},          {"b/1.PNG", 2},
                {"b/10.png", 2},    {"b/2.png", 2},         {"b/broken.png", 2},    {"b/file-link.png", 2},
                {"b/.d/7.png", 2},  {"b/link/er/1.bmp", 2}, {"b/x/4.JPEG", 2},      {"b/x-y/6.png", 2},
                {"b/x.b/3.jpg", 2}, {"b/x/z/5.png", 2},     {"c/deep/er/1.bmp", 3}, {"Ä/9.pgm", 4}};
    TtDataset *d;
    char name[4096];
    capture_warnings();
    assert_int_equal(OPEN(&d, "type", "image_folder", "path", dir), TT_OK);
    release_warnings();
    assert_non_null(strstr(captured_warnings(), "/.h: a hidden folder counts as a class"));
    assert_int_equal(d->classes, 5);
    for (int i = 0; i < 5; i++) assert_string_equal(d->class_names[i], classes[i]);
    assert_int_equal(d->count, TT_COUNT(want));
    for (int i = 0; i < TT_COUNT(want); i++) {
        d->def->describe(d, i, name, sizeof name);
        assert_string_equal(name, in_dir(dir, "%s", want[i].path));
        assert_int_equal(d->def->label(d, i), want[i].label);
    }
    tt_dataset_close(d);
}

static void test_link_loop(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    put_text(in_dir(dir, "a/b/1.png"), "");
    assert_int_equal(symlink("..", in_dir(dir, "a/b/up")), 0);
    assert_int_equal(symlink(".", in_dir(dir, "a/self")), 0);
    capture_warnings();
    assert_int_equal(OPEN(&d, "type", "image_folder", "path", dir), TT_OK);
    release_warnings();
    assert_int_equal(d->count, 1);
    assert_non_null(strstr(captured_warnings(), "/a/b/up: "));
    assert_non_null(strstr(captured_warnings(), "/a/self: "));
    tt_dataset_close(d);
}

static void test_read(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    TtSample s = {0};
    put_png(in_dir(dir, "cat/1.png"), 2, 3, 10, 20, 30);
    put_png(in_dir(dir, "dog/it's.png"), 4, 1, 7, 8, 9);
    put_text(in_dir(dir, "dog/bad.png"), "no picture");
    put_text(in_dir(dir, "dog/empty.png"), "");
    assert_int_equal(mkfifo(in_dir(dir, "dog/fifo.png"), 0600), 0);
    assert_int_equal(OPEN(&d, "type", "image_folder", "path", dir), TT_OK);
    assert_int_equal(d->count, 5);
    assert_int_equal(d->def->read(d, 0, &s), TT_OK);
    assert_int_equal(s.image.h, 2);
    assert_int_equal(s.image.w, 3);
    assert_int_equal(s.image.c, 3);
    assert_int_equal(((uint8_t *)s.image.data)[16], 20);
    assert_int_equal(s.label, 0);
    assert_string_equal(s.name, in_dir(dir, "cat/1.png"));
    assert_int_equal(d->def->read(d, 4, &s), TT_OK); /* the buffers are used again */
    assert_int_equal(s.image.h, 4);
    assert_int_equal(s.label, 1);
    expect_error(d->def->read(d, 1, &s), TT_EDATA, "dog/bad.png", NULL);
    expect_error(d->def->read(d, 2, &s), TT_EDATA, "dog/empty.png", "at byte 0", NULL);
    expect_error(d->def->read(d, 3, &s), TT_EDATA, "dog/fifo.png", NULL);
    unlink(in_dir(dir, "cat/1.png"));
    expect_error(d->def->read(d, 0, &s), TT_EDATA, "cat/1.png", "No such file", NULL);
    char replay[4096], want[4096];
    tt_dataset_replay(d, 4, replay, sizeof replay);
    snprintf(want, sizeof want, "ttrain decode '%s/dog/it'\\''s.png'", dir);
    assert_string_equal(replay, want);
    tt_dataset_close(d);
    tt_sample_free(&s);
}

static void test_empty_classes(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    expect_error(OPEN(&d, "type", "image_folder", "path", in_dir(dir, "none")), TT_EDATA, "/none", NULL);
    expect_error(OPEN(&d, "type", "image_folder", "path", dir), TT_EDATA, "no class folders", NULL);
    put_text(in_dir(dir, "a/1.png"), "");
    put_text(in_dir(dir, "b/readme.md"), "");
    put_text(in_dir(dir, "c/1.png"), "");
    expect_error(OPEN(&d, "type", "image_folder", "path", dir), TT_EDATA, "'b'", "allow_empty", NULL);
    assert_int_equal(OPEN(&d, "type", "image_folder", "path", dir, "allow_empty", "true"), TT_OK);
    assert_int_equal(d->count, 2);
    assert_int_equal(d->classes, 3);
    assert_int_equal(d->def->label(d, 1), 2);
    tt_dataset_close(d);
    assert_int_equal(OPEN(&d, "type", "image_folder", "path", dir, "extensions", "[.MD]", "allow_empty", "true"),
                     TT_OK);
    assert_int_equal(d->count, 1);
    tt_dataset_close(d);
    expect_error(OPEN(&d, "type", "image_folder", "path", dir, "extensions", "[.tif]", "allow_empty", "true"), TT_EDATA,
                 "no pictures", NULL);
}

static void test_fixed_classes(void **state)
{
    const char *dir = *state;
    char name[4096];
    TtDataset *d;
    put_text(in_dir(dir, "data/a/1.png"), "");
    put_text(in_dir(dir, "data/b/1.png"), "");
    put_text(in_dir(dir, "data/c/1.png"), "");
    char path[4096];
    snprintf(path, sizeof path, "%s/data", dir);
    capture_warnings();
    assert_int_equal(OPEN(&d, "type", "image_folder", "path", path, "classes", "[c, a]"), TT_OK);
    release_warnings();
    assert_non_null(strstr(captured_warnings(), "'b'"));
    assert_int_equal(d->count, 2); /* in order of the names, with the given index */
    d->def->describe(d, 0, name, sizeof name);
    assert_string_equal(name, in_dir(path, "a/1.png"));
    assert_int_equal(d->def->label(d, 0), 1);
    assert_int_equal(d->def->label(d, 1), 0);
    tt_dataset_close(d);
    expect_error(OPEN(&d, "type", "image_folder", "path", path, "classes", "[a, b, c, gone]"), TT_EDATA, "'gone'",
                 NULL);
    expect_error(OPEN(&d, "type", "image_folder", "path", path, "classes", "[a, b, a]"), TT_ECONFIG, "'a'", "twice",
                 NULL);
    expect_error(OPEN(&d, "type", "image_folder", "path", path, "classes", "[]"), TT_ECONFIG, "empty", NULL);

    put_text(in_dir(dir, "names.txt"), "\xEF\xBB\xBF"
                                       "b\r\na\r\nc\r\n\r\n");
    assert_int_equal(OPEN(&d, "type", "image_folder", "path", path, "classes", in_dir(dir, "names.txt")), TT_OK);
    assert_int_equal(d->classes, 3);
    assert_string_equal(d->class_names[0], "b");
    assert_int_equal(d->def->label(d, 0), 1);
    tt_dataset_close(d);
    put_text(in_dir(dir, "names.json"), "[\"c\", \"b\", \"a\"]");
    assert_int_equal(OPEN(&d, "type", "image_folder", "path", path, "classes", in_dir(dir, "names.json")), TT_OK);
    assert_string_equal(d->class_names[2], "a");
    tt_dataset_close(d);
    put_text(in_dir(dir, "names.json"), "[\"c\", 3]");
    expect_error(OPEN(&d, "type", "image_folder", "path", path, "classes", in_dir(dir, "names.json")), TT_EDATA,
                 "names.json", "element 1", NULL);
    put_text(in_dir(dir, "names.json"), "[\"c\",\n ");
    expect_error(OPEN(&d, "type", "image_folder", "path", path, "classes", in_dir(dir, "names.json")), TT_EDATA,
                 "names.json:2", NULL);
    expect_error(OPEN(&d, "type", "image_folder", "path", path, "classes", in_dir(dir, "none.txt")), TT_EDATA,
                 "none.txt", NULL);
}

static void test_many_files(void **state)
{
    const char *dir = *state;
    char name[4096], last[4096] = "";
    TtDataset *d;
    for (int i = 0; i < 3000; i++) put_text(in_dir(dir, "c%d/%d.png", i % 3, i * 7919 % 3000), "");
    assert_int_equal(OPEN(&d, "type", "image_folder", "path", dir), TT_OK);
    assert_int_equal(d->count, 3000);
    for (int i = 0; i < 3000; i++) {
        d->def->describe(d, i, name, sizeof name);
        assert_true(strcmp(last, name) < 0);
        strcpy(last, name);
    }
    tt_dataset_close(d);
}

static void test_unreadable(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    put_text(in_dir(dir, "a/1.png"), "");
    put_text(in_dir(dir, "a/b/1.png"), "");
    assert_int_equal(chmod(in_dir(dir, "a/b"), 0), 0);
    bool root = geteuid() == 0; /* who may read everything */
    if (root) assert_int_equal(chmod(dir, 0755) | seteuid(65534), 0);
    TtStatus st = OPEN(&d, "type", "image_folder", "path", dir);
    if (root) assert_int_equal(seteuid(0), 0);
    expect_error(st, TT_EDATA, "a/b", "Permission denied", NULL);
    chmod(in_dir(dir, "a/b"), 0700);
}

/* ---- shared pieces */

static void test_same_classes(void **state)
{
    const char *dir = *state;
    TtDataset *a, *b;
    for (int i = 0; i < 4; i++) put_text(in_dir(dir, "train/k%d/1.png", i), "");
    for (int i = 0; i < 4; i++) put_text(in_dir(dir, "val/k%d/1.png", i), "");
    assert_int_equal(OPEN(&a, "type", "image_folder", "path", in_dir(dir, "train")), TT_OK);
    assert_int_equal(OPEN(&b, "type", "image_folder", "path", in_dir(dir, "val")), TT_OK);
    assert_int_equal(tt_dataset_same_classes(a, b), TT_OK);
    tt_dataset_close(b);
    put_text(in_dir(dir, "val/k5/1.png"), "");
    assert_int_equal(OPEN(&b, "type", "image_folder", "path", in_dir(dir, "val")), TT_OK);
    expect_error(tt_dataset_same_classes(a, b), TT_EDATA, "/val has 5", "'k5'", "second", NULL);
    tt_dataset_close(b);
    put_text(in_dir(dir, "val/k11/1.png"), "");
    assert_int_equal(OPEN(&b, "type", "image_folder", "path", in_dir(dir, "val")), TT_OK);
    expect_error(tt_dataset_same_classes(a, b), TT_EDATA, "class 2 is 'k2'", "'k11'", NULL);
    tt_dataset_close(b);
    tt_dataset_close(a);
    assert_int_equal(tt_class_names_same(NULL, 3, "x", (const char *[]){"a"}, 1, "y"), TT_OK);
}

static void test_shell_quote(void **state)
{
    char buf[64], tiny[16];
    assert_string_equal(tt_shell_quote("a/b-1.png", buf, sizeof buf), "a/b-1.png");
    assert_string_equal(tt_shell_quote("", buf, sizeof buf), "''");
    assert_string_equal(tt_shell_quote("a b$(c)", buf, sizeof buf), "'a b$(c)'");
    assert_string_equal(tt_shell_quote("a'b", buf, sizeof buf), "'a'\\''b'");
    tt_shell_quote("''''''''''''''''''''", tiny, sizeof tiny);
    assert_true(strlen(tiny) < sizeof tiny);
}

static void test_strmap(void **state)
{
    TtStrMap m = {0};
    assert_int_equal(tt_strmap_get(&m, "x"), -1);
    char names[1000][8];
    for (int i = 0; i < 1000; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        assert_int_equal(*tt_strmap_put(&m, names[i], i), i);
    }
    assert_int_equal(m.count, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(tt_strmap_get(&m, names[i]), i);
    assert_int_equal(*tt_strmap_put(&m, "n5", 77), 5);
    assert_int_equal(tt_strmap_get(&m, "n1000"), -1);
    tt_strmap_free(&m);
}

static int teardown(void **state)
{
    tt_arena_free(&arena);
    return temp_teardown(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_types),         TEST(test_order),         TEST(test_link_loop),  TEST(test_read),
        TEST(test_empty_classes), TEST(test_fixed_classes), TEST(test_many_files), TEST(test_unreadable),
        TEST(test_same_classes),  TEST(test_shell_quote),   TEST(test_strmap),
    };
    return cmocka_run_group_tests_name("dataset", tests, NULL, NULL);
}
