/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_tar.c - tar files written by Python's tarfile in each of its formats, hostile ones, path patterns, and the
 * webdataset data set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "data/dataset.h"
#include "tensor/file.h"
#include "data/paths.h"
#include "data/tar.h"
#include "tensor/fs.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"

static TtArena arena;

#define OPEN(out, ...) open_dataset(config_map(&arena, "type", "webdataset", __VA_ARGS__, NULL), out)

/* ---- a writer of ustar headers, so that tests can bend them */

typedef struct Tar {
    uint8_t data[1 << 16];
    size_t size;
} Tar;

static void seal(uint8_t *h)
{
    unsigned sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++) sum += h[i];
    snprintf((char *)h + 148, 8, "%06o", sum);
}

/* Returns the header, to be bent and sealed again. */
static uint8_t *add(Tar *t, char type, const char *name, const void *data, size_t size)
{
    uint8_t *h = t->data + t->size;
    memset(h, 0, 512);
    memcpy(h, name, TT_MIN(strlen(name), (size_t)100));
    snprintf((char *)h + 100, 8, "%07o", 0644);
    snprintf((char *)h + 124, 12, "%011zo", size);
    h[156] = (uint8_t)type;
    memcpy(h + 257, "ustar\00000", 8);
    seal(h);
    t->size += 512;
    memset(t->data + t->size, 0, (size + 511) / 512 * 512);
    memcpy(t->data + t->size, data, size);
    t->size += (size + 511) / 512 * 512;
    return h;
}

static void add_text(Tar *t, const char *name, const char *text)
{
    add(t, '0', name, text, strlen(text));
}

static void end_tar(Tar *t)
{
    memset(t->data + t->size, 0, 1024);
    t->size += 1024;
}

/* ---- the scanner */

typedef struct Listing {
    char text[8192];
    int n;
} Listing;

static TtStatus note(void *user, const TtTarMember *m)
{
    Listing *l = user;
    size_t used = strlen(l->text);
    snprintf(l->text + used, sizeof l->text - used, "%s@%llu+%llu\n", m->name, (unsigned long long)m->offset,
             (unsigned long long)m->size);
    l->n++;
    return TT_OK;
}

static TtStatus scan(const char *path, Listing *l)
{
    int fd;
    uint64_t size;
    *l = (Listing){0};
    TT_TRY(tt_file_open(path, &fd, &size));
    TtStatus st = tt_tar_scan(fd, size, path, note, l);
    close(fd);
    return st;
}

static TtStatus scan_tar(const char *dir, const Tar *t, Listing *l)
{
    put_file(in_dir(dir, "t.tar"), t->data, t->size);
    return scan(in_dir(dir, "t.tar"), l);
}

/* tests/data/tar/NAME was written by Python 3.11's tarfile; NAME.txt is what it says of name, offset_data and size. */
static void expect_listing(const char *name)
{
    char path[256], *want;
    size_t size;
    Listing l;
    snprintf(path, sizeof path, "tests/data/tar/%s.txt", name);
    assert_int_equal(tt_fs_read(path, 1 << 16, TT_EDATA, &want, &size), TT_OK);
    snprintf(path, sizeof path, "tests/data/tar/%s", name);
    assert_int_equal(scan(path, &l), TT_OK);
    assert_string_equal(l.text, want);
    free(want);
}

static void test_formats(void **state)
{
    expect_listing("ustar.tar");
    expect_listing("gnu.tar");
    expect_listing("pax.tar");
}

static void test_numbers(void **state)
{
    const char *dir = *state;
    Listing l;
    Tar t = {0};
    uint8_t *h = add(&t, '0', "binary", "hello", 5);
    memcpy(h + 124, "\x80\0\0\0\0\0\0\0\0\0\0\5", 12); /* GNU's base 256 */
    seal(h);
    h = add(&t, '0', "blanks", "abc", 3);
    memcpy(h + 124, "         3 \0", 12);
    seal(h);
    h = add(&t, '\0', "old", "xy", 2); /* before POSIX: no type, no magic, signed checksum */
    memset(h + 257, 0, 8);
    h[0] = 0xE9;
    seal(h);
    int sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++) sum += (int8_t)h[i];
    snprintf((char *)h + 148, 8, "%06o", (unsigned)sum);
    end_tar(&t);
    assert_int_equal(scan_tar(dir, &t, &l), TT_OK);
    assert_string_equal(l.text, "binary@512+5\nblanks@1536+3\n\xE9ld@2560+2\n");
}

static void test_other_members(void **state)
{
    const char *dir = *state;
    Listing l;
    Tar t = {0};
    add(&t, '5', "folder/", "", 0);
    uint8_t *h = add(&t, '1', "link", "", 0); /* a hard link may carry the size of what it points to */
    snprintf((char *)h + 124, 12, "%011o", 5000);
    seal(h);
    add(&t, 'g', "global", "20 comment=whatever\n", 20);
    add(&t, 'K', "././@LongLink", "target", 7);
    add(&t, '2', "symlink", "", 0);
    add_text(&t, "file", "1");
    end_tar(&t);
    assert_int_equal(scan_tar(dir, &t, &l), TT_OK);
    assert_int_equal(l.n, 1);
    assert_non_null(strstr(l.text, "file@"));
}

static void test_hostile(void **state)
{
    const char *dir = *state;
    Listing l;
    Tar t = {0};
    add_text(&t, "a.cls", "1");
    add_text(&t, "b.cls", "2");
    size_t whole = t.size;
    end_tar(&t);

    for (size_t cut = 1; cut < t.size; cut += 37) { /* a cut is an error, or a warning at a member's end */
        put_file(in_dir(dir, "cut.tar"), t.data, cut);
        capture_warnings();
        TtStatus st = scan(in_dir(dir, "cut.tar"), &l);
        release_warnings();
        bool in_padding = (cut > 512 && cut <= 1024) || (cut > 1536 && cut <= whole);
        bool at_end = cut >= whole + 512;
        if (in_padding)
            assert_non_null(strstr(captured_warnings(), "no end mark"));
        else if (!at_end)
            expect_error(st, TT_EDATA, "cut.tar: at byte ", NULL);
        if (in_padding || at_end) assert_int_equal(st, TT_OK);
    }
    uint8_t *second = t.data + 1024;
    second[0] ^= 1;
    expect_error(scan_tar(dir, &t, &l), TT_EDATA, "at byte 1024", "checksum", NULL);
    second[0] ^= 1;
    memcpy(second + 124, "77777777777\0", 12); /* 8 GiB in a file of 3 KiB */
    seal(second);
    expect_error(scan_tar(dir, &t, &l), TT_EDATA, "at byte 1024", "beyond the end", NULL);
    memcpy(second + 124, "\x80\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 12);
    seal(second);
    expect_error(scan_tar(dir, &t, &l), TT_EDATA, "at byte 1024", "no number", NULL);
    memcpy(second + 124, "\x80\0\0\0\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 12);
    seal(second);
    expect_error(scan_tar(dir, &t, &l), TT_EDATA, "at byte 1024", NULL);
    memcpy(second + 124, "9z         \0", 12);
    seal(second);
    expect_error(scan_tar(dir, &t, &l), TT_EDATA, "at byte 1024", "no number", NULL);

    put_file(in_dir(dir, "e.tar"), "", 0);
    expect_error(scan(in_dir(dir, "e.tar"), &l), TT_EDATA, "empty", NULL);
    memset(t.data, 'x', 2048);
    expect_error(scan_tar(dir, &t, &l), TT_EDATA, "not a tar file", NULL);
    memcpy(t.data, "\x1F\x8B\x08", 3);
    expect_error(scan_tar(dir, &t, &l), TT_EDATA, "gzip", NULL);
}

static void expect_bad_extra(const char *dir, char type, const char *text, size_t size, const char *what)
{
    Listing l;
    Tar t = {0};
    add(&t, type, "extra", text, size);
    add_text(&t, "a.cls", "1");
    end_tar(&t);
    expect_error(scan_tar(dir, &t, &l), TT_EDATA, "t.tar: at byte ", what, NULL);
}

static void test_hostile_extensions(void **state)
{
    const char *dir = *state;
    char *long_name = malloc(8192);
    memset(long_name, 'n', 8192);
    const char *records[] = {"x",          "5",           "5 ",          "999999999999999999999 path=a\n",
                             "3 =\n",      "8 path=a\n",  "11 path=a\n", "11 path=abc",
                             "0 path=a\n", "-9 path=a\n", "4 a\n\n",     "9 =path\n\n",
                             " 9 path=a\n"};
    for (int i = 0; i < TT_COUNT(records); i++) expect_bad_extra(dir, 'x', records[i], strlen(records[i]), "pax");
    expect_bad_extra(dir, 'x', "12 size=abc\n", 12, "size");
    expect_bad_extra(dir, 'x', "29 size=99999999999999999999\n", 29, "size");
    expect_bad_extra(dir, 'x', "16 size=1000000\n", 16, "beyond the end");
    expect_bad_extra(dir, 'x', "22 GNU.sparse.major=1\n", 22, "sparse");
    expect_bad_extra(dir, 'L', long_name, 8192, "long");
    expect_bad_extra(dir, 'S', "", 0, "sparse");
    free(long_name);
}

/* ---- patterns */

static void expect_braces(const char *pattern, const char *want)
{
    TtStrings got;
    char text[1024] = "";
    assert_int_equal(tt_paths_braces(pattern, &arena, &got), TT_OK);
    for (int i = 0; i < got.n; i++) {
        if (i) strcat(text, " ");
        strcat(text, got.v[i]);
    }
    assert_string_equal(text, want);
}

static void test_braces(void **state)
{
    /* bash -c 'echo PATTERN' */
    expect_braces("a{1..3}.tar", "a1.tar a2.tar a3.tar");
    expect_braces("a{000..002}", "a000 a001 a002");
    expect_braces("a{08..11}", "a08 a09 a10 a11");
    expect_braces("a{8..11}", "a8 a9 a10 a11");
    expect_braces("a{3..1}", "a3 a2 a1");
    expect_braces("{a,b}{1,2}", "a1 a2 b1 b2");
    expect_braces("x{a,b{1..2},}y", "xay xb1y xb2y xy");
    expect_braces("a{b}c", "a{b}c");
    expect_braces("a{}c", "a{}c");
    expect_braces("a{b", "a{b");
    expect_braces("a}b{c,d}", "a}bc a}bd");
    expect_braces("{a}{b,c}", "{a}b {a}c");
    expect_braces("plain", "plain");
    expect_braces("a{1..x}", "a{1..x}");
    TtStrings got;
    expect_error(tt_paths_braces("{1..9}{0..9}{0..9}{0..9}{0..9}{0..9}{0..9}", &arena, &got), TT_ECONFIG, "1000000",
                 NULL);
    expect_error(tt_paths_braces("{0..999999999}", &arena, &got), TT_ECONFIG, "1000000", NULL);
}

static void test_wildcards(void **state)
{
    const char *dir = *state;
    TtStrings got, in = {.n = 2, .v = (const char *[]){in_dir(dir, "{b,a}-*.tar"), in_dir(dir, "odd[1].tar")}};
    put_text(in_dir(dir, "a-2.tar"), "");
    put_text(in_dir(dir, "a-1.tar"), "");
    put_text(in_dir(dir, "b-1.tar"), "");
    put_text(in_dir(dir, "odd[1].tar"), "");
    assert_int_equal(tt_paths_expand(&in, &arena, &got), TT_OK);
    assert_int_equal(got.n, 4);
    assert_string_equal(got.v[0], in_dir(dir, "b-1.tar"));
    assert_string_equal(got.v[1], in_dir(dir, "a-1.tar"));
    assert_string_equal(got.v[2], in_dir(dir, "a-2.tar"));
    assert_string_equal(got.v[3], in_dir(dir, "odd[1].tar"));
    in = (TtStrings){.n = 1, .v = (const char *[]){in_dir(dir, "c-*.tar")}};
    expect_error(tt_paths_expand(&in, &arena, &got), TT_EDATA, "c-*.tar", "no file matches", NULL);
}

/* ---- the data set */

/* A picture of one colour as bytes of a PNG file. */
static size_t png_bytes(const char *dir, uint8_t v, char **out)
{
    size_t size;
    put_png(in_dir(dir, "tmp.png"), 2, 2, v, v, v);
    assert_int_equal(tt_fs_read(in_dir(dir, "tmp.png"), 1 << 16, TT_EDATA, out, &size), TT_OK);
    return size;
}

static void add_png(Tar *t, const char *dir, const char *name, uint8_t v)
{
    char *png;
    size_t size = png_bytes(dir, v, &png);
    add(t, '0', name, png, size);
    free(png);
}

static void test_dataset(void **state)
{
    const char *dir = *state;
    static Tar t;
    TtDataset *d;
    TtSample s = {0};
    char name[4096], replay[4096], want[4096];
    t.size = 0;
    add(&t, '5', "train/", "", 0);
    add_text(&t, "train/a.cls", " 3\n");
    add_png(&t, dir, "train/a.seg.png", 99); /* the extension is seg.png: not the picture */
    add_png(&t, dir, "train/a.PNG", 10);
    add_png(&t, dir, "train/b.png", 20);
    add_text(&t, "train/b.json", "{\"label\": 5, \"caption\": \"x\"}");
    add_text(&t, "train/.hidden", "x");
    end_tar(&t);
    put_file(in_dir(dir, "s-000.tar"), t.data, t.size);
    t.size = 0;
    add_text(&t, "only.txt", "x");
    add_png(&t, dir, "a.png", 30);
    add_text(&t, "a.json", "{\"cls\": 1, \"label\": null}");
    add_png(&t, dir, "it's.png", 40);
    end_tar(&t);
    put_file(in_dir(dir, "s-001.tar"), t.data, t.size);

    capture_warnings();
    assert_int_equal(OPEN(&d, "path", in_dir(dir, "s-{000..001}.tar")), TT_OK);
    release_warnings();
    assert_non_null(
        strstr(captured_warnings(), "1 samples have no .jpg, .jpeg or .png and are left out, 'only' first"));
    assert_int_equal(d->count, 4);
    assert_int_equal(d->classes, 6);
    const int labels[] = {3, 5, -1, -1}, colours[] = {10, 20, 30, 40};
    for (int i = 3; i >= 0; i--) { /* in any order */
        assert_int_equal(d->def->read(d, i, &s), TT_OK);
        assert_int_equal(s.label, labels[i]);
        assert_int_equal(d->def->label(d, i), labels[i]);
        assert_int_equal(((uint8_t *)s.image.data)[0], colours[i]);
    }
    d->def->describe(d, 0, name, sizeof name);
    snprintf(want, sizeof want, "%s/s-000.tar:train/a.PNG", dir);
    assert_string_equal(name, want);
    assert_string_equal(s.name, want);
    tt_dataset_replay(d, 3, replay, sizeof replay);
    snprintf(want, sizeof want, "tar -xOf %s/s-001.tar -- 'it'\\''s.png' >sample && ttrain decode sample", dir);
    assert_string_equal(replay, want);
    tt_dataset_close(d);
    tt_sample_free(&s);
}

static void test_labels(void **state)
{
    const char *dir = *state;
    static Tar t;
    TtDataset *d;
    t.size = 0;
    add_png(&t, dir, "a.png", 1);
    add_text(&t, "a.cls", "dog");
    add_png(&t, dir, "b.png", 2);
    add_text(&t, "b.json", "{\"label\": \"cat\"}");
    add_png(&t, dir, "c.png", 3);
    add_text(&t, "c.cls", "0");
    add_text(&t, "c.json", "{\"label\": 1}"); /* the text file comes first */
    end_tar(&t);
    put_file(in_dir(dir, "s.tar"), t.data, t.size);
    const char *path = in_dir(dir, "s.tar");
    assert_int_equal(OPEN(&d, "path", path, "classes", "[cat, dog]"), TT_OK);
    assert_int_equal(d->def->label(d, 0), 1);
    assert_int_equal(d->def->label(d, 1), 0);
    assert_int_equal(d->def->label(d, 2), 0);
    tt_dataset_close(d);
    expect_error(OPEN(&d, "path", path), TT_EDATA, "s.tar: member a.cls", "'dog'", "classes", NULL);
    expect_error(OPEN(&d, "path", path, "classes", "[dog]"), TT_EDATA, "member b.json", "'cat'", NULL);
}

static void expect_bad_set(const char *dir, const Tar *t, const char *what, const char *more)
{
    TtDataset *d;
    put_file(in_dir(dir, "bad.tar"), t->data, t->size);
    expect_error(OPEN(&d, "path", in_dir(dir, "bad.tar")), TT_EDATA, "bad.tar", what, more, NULL);
}

static void test_bad_sets(void **state)
{
    const char *dir = *state;
    static Tar t;
    TtDataset *d;
    t.size = 0;
    add_png(&t, dir, "a.png", 1);
    add_png(&t, dir, "a.jpg", 1);
    end_tar(&t);
    expect_bad_set(dir, &t, "two pictures", "key a");
    const char *bad[][3] = {{"a.cls", "-1", "'-1'"},
                            {"a.cls", "", "''"},
                            {"a.cls", "1 2", "'1 2'"},
                            {"a.json", "{", "not JSON"},
                            {"a.json", "{\"label\": 1.5}", "no integer"},
                            {"a.cls", "99999999999", "'99999999999'"}};
    for (int i = 0; i < TT_COUNT(bad); i++) {
        t.size = 0;
        add_png(&t, dir, "a.png", 1);
        add_text(&t, bad[i][0], bad[i][1]);
        end_tar(&t);
        expect_bad_set(dir, &t, bad[i][2], bad[i][0]);
    }
    t.size = 0;
    add(&t, '0', "a.png", "", 0);
    end_tar(&t);
    expect_bad_set(dir, &t, "member a.png", "0 bytes");
    t.size = 0;
    end_tar(&t);
    expect_bad_set(dir, &t, "no pictures", "bad.tar");
    expect_error(OPEN(&d, "path", in_dir(dir, "none-{0..3}.tar")), TT_EDATA, "none-0.tar",
                 NULL); /* the first, always */
}

static int teardown(void **state)
{
    tt_arena_free(&arena);
    return temp_teardown(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_formats),
                                       TEST(test_numbers),
                                       TEST(test_other_members),
                                       TEST(test_hostile),
                                       TEST(test_hostile_extensions),
                                       TEST(test_braces),
                                       TEST(test_wildcards),
                                       TEST(test_dataset),
                                       TEST(test_labels),
                                       TEST(test_bad_sets)};
    return cmocka_run_group_tests_name("tar", tests, NULL, NULL);
}
