/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_manifest.c - delimited text (RFC 4180, against Python's csv module) and the image_manifest data set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "data/csv.h"
#include "data/dataset.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"

static TtArena arena;

#define OPEN(out, ...) open_dataset(config_map(&arena, "type", "image_manifest", __VA_ARGS__, NULL), out)

/* ---- the reader */

static void open_text(TtCsv *c, const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
    assert_int_equal(tt_csv_open_text(c, copy, size, "t.csv", ','), TT_OK);
}

/* All records as "a|b|c\n", for comparison. */
static void expect_records(const char *text, const char *want)
{
    TtCsv c;
    char got[1024] = "";
    bool more;
    open_text(&c, text, strlen(text));
    for (;;) {
        assert_int_equal(tt_csv_next(&c, &more), TT_OK);
        if (!more) break;
        for (int i = 0; i < c.n; i++) {
            if (i) strcat(got, "|");
            strcat(got, c.fields[i]);
        }
        strcat(got, ";");
    }
    tt_csv_close(&c);
    assert_string_equal(got, want);
}

static void test_records(void **state)
{
    /* list(csv.reader(io.StringIO(text, newline=''))), empty lists left out */
    expect_records("a,b\n1,2\n", "a|b;1|2;");
    expect_records("a,b\r\n1,2", "a|b;1|2;");
    expect_records("a,b\r1,2\r", "a|b;1|2;");
    expect_records("\xEF\xBB\xBF"
                   "a,b\n",
                   "a|b;");
    expect_records("\n\na\n\n\nb\n\n", "a;b;");
    expect_records(",\n,,\n", "|;||;");
    expect_records("a,", "a|;");
    expect_records("\"a,b\",c\n", "a,b|c;");
    expect_records("\"say \"\"hi\"\"\",x\n", "say \"hi\"|x;");
    expect_records("\"two\nlines\",x\n", "two\nlines|x;");
    expect_records("\"\",\"\"\n", "|;");
    expect_records("\"a\"", "a;");
    expect_records("5\" disc,x\n", "5\" disc|x;");
    expect_records(" a , b \n", " a | b ;");
    expect_records("\xC3\xA9,\xE6\xBC\xA2\n", "\xC3\xA9|\xE6\xBC\xA2;");
    expect_records("", "");
    expect_records("\n", "");
}

static void test_lines(void **state)
{
    TtCsv c;
    bool more;
    const char text[] = "h\n\"x\ny\"\nz\r\n\n\"open\nand never shut";
    const int lines[] = {1, 2, 4};
    open_text(&c, text, sizeof text - 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tt_csv_next(&c, &more), TT_OK);
        assert_int_equal(c.row, lines[i]);
    }
    expect_error(tt_csv_next(&c, &more), TT_EDATA, "t.csv:6: ", NULL);
    tt_csv_close(&c);
    open_text(&c, "a\n\"b\"c\n", 7);
    assert_int_equal(tt_csv_next(&c, &more), TT_OK);
    expect_error(tt_csv_next(&c, &more), TT_EDATA, "t.csv:2: ", "quote", NULL);
    tt_csv_close(&c);
}

static void test_not_text(void **state)
{
    TtCsv c;
    bool more;
    const char *dir = *state;
    put_file(in_dir(dir, "a.csv"), "a,b\0c\n", 6);
    expect_error(tt_csv_open(&c, in_dir(dir, "a.csv"), ','), TT_EDATA, "at byte 3", NULL);
    tt_csv_close(&c);
    put_file(in_dir(dir, "a.csv"),
             "\xFF\xFE"
             "a\0",
             4);
    expect_error(tt_csv_open(&c, in_dir(dir, "a.csv"), ','), TT_EDATA, "UTF-16", NULL);
    tt_csv_close(&c);
    expect_error(tt_csv_open(&c, in_dir(dir, "none.csv"), ','), TT_EDATA, "none.csv", NULL);
    tt_csv_close(&c);
    char *wide = malloc(10001);
    memset(wide, ',', 10000);
    wide[10000] = '\0';
    assert_int_equal(tt_csv_open_text(&c, wide, 10000, "w", ','), TT_OK);
    expect_error(tt_csv_next(&c, &more), TT_EDATA, "w:1", "fields", NULL);
    tt_csv_close(&c);
}

/* ---- the data set */

static void test_names(void **state)
{
    const char *dir = *state;
    char name[4096];
    TtDataset *d;
    TtSample s = {0};
    put_png(in_dir(dir, "img/a, b.png"), 2, 2, 1, 2, 3);
    put_text(in_dir(dir, "m.csv"),
             "id,label,path\r\n7,dog,\"img/a, b.png\"\r\n8,cat,/abs/c.png\r\n9,Zebra,img/d.png\r\n");
    assert_int_equal(OPEN(&d, "path", in_dir(dir, "m.csv")), TT_OK);
    assert_int_equal(d->count, 3);
    assert_int_equal(d->classes, 3);
    assert_string_equal(d->class_names[0], "Zebra"); /* by code point */
    assert_string_equal(d->class_names[1], "cat");
    assert_int_equal(d->def->label(d, 0), 2);
    assert_int_equal(d->def->label(d, 1), 1);
    assert_int_equal(d->def->label(d, 2), 0);
    d->def->describe(d, 1, name, sizeof name);
    assert_string_equal(name, "/abs/c.png");
    assert_int_equal(d->def->read(d, 0, &s), TT_OK);
    assert_int_equal(s.image.h, 2);
    assert_int_equal(s.label, 2);
    expect_error(d->def->read(d, 2, &s), TT_EDATA, "/img/d.png", "m.csv:4", NULL);
    tt_dataset_close(d);
    assert_int_equal(OPEN(&d, "path", in_dir(dir, "m.csv"), "root", "/elsewhere"), TT_OK);
    d->def->describe(d, 2, name, sizeof name);
    assert_string_equal(name, "/elsewhere/img/d.png");
    tt_dataset_close(d);
    tt_sample_free(&s);
}

static void test_columns(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    put_text(in_dir(dir, "m.tsv"), "file\tkind\na,1.png\t1\nb.png\t0\n");
    const char *path = in_dir(dir, "m.tsv");
    expect_error(OPEN(&d, "path", path), TT_EDATA, "m.tsv:1", "'path'", "file, kind", "path_column", NULL);
    expect_error(OPEN(&d, "path", path, "path_column", "file"), TT_EDATA, "'label'", "label_column", NULL);
    assert_int_equal(OPEN(&d, "path", path, "path_column", "file", "label_column", "kind"), TT_OK);
    assert_int_equal(d->count, 2);
    assert_int_equal(d->classes, 2);
    assert_null(d->class_names);
    assert_int_equal(d->def->label(d, 0), 1);
    tt_dataset_close(d);
    assert_int_equal(OPEN(&d, "path", path, "path_column", "file", "label_column", "null"), TT_OK);
    assert_int_equal(d->classes, 0);
    assert_int_equal(d->def->label(d, 0), -1);
    tt_dataset_close(d);
    put_text(in_dir(dir, "s.txt"), "path;label\na.png;x\n");
    assert_int_equal(OPEN(&d, "path", in_dir(dir, "s.txt"), "delimiter", ";"), TT_OK);
    assert_int_equal(d->count, 1);
    tt_dataset_close(d);
    expect_error(OPEN(&d, "path", in_dir(dir, "s.txt"), "delimiter", ";;"), TT_ECONFIG, "delimiter", NULL);
    put_text(in_dir(dir, "two.csv"), "path,label,path\na,b,c\n");
    expect_error(OPEN(&d, "path", in_dir(dir, "two.csv")), TT_EDATA, "two columns", NULL);
}

static void expect_bad(const char *dir, const char *text, const char *where, const char *what)
{
    TtDataset *d;
    put_text(in_dir(dir, "m.csv"), text);
    expect_error(OPEN(&d, "path", in_dir(dir, "m.csv")), TT_EDATA, where, what, NULL);
}

static void test_bad_rows(void **state)
{
    const char *dir = *state;
    expect_bad(dir, "", "m.csv: ", "empty");
    expect_bad(dir, "path,label\n", "m.csv: ", "no rows");
    expect_bad(dir, "path,label\na.png,1\nb.png\n", "m.csv:3: ", "1 fields where the header has 2");
    expect_bad(dir, "path,label\na.png,1\n,1\n", "m.csv:3: ", "path is empty");
    expect_bad(dir, "path,label\na.png,\n", "m.csv:2: ", "label is empty");
    expect_bad(dir, "path,label\n\"a\nb.png\",1\nc,\"d\n", "m.csv:4: ", "never closed");
}

static void test_label_kinds(void **state)
{
    const char *dir = *state;
    TtDataset *d;
    put_text(in_dir(dir, "i.csv"), "path,label\na,10\nb,2\nc,007\n");
    put_text(in_dir(dir, "c.csv"), "path,label\na,10\nb,2\nc,10\n");
    put_text(in_dir(dir, "n.csv"), "path,label\na,cat\nb,dgo\n");
    /* integers are indices */
    assert_int_equal(OPEN(&d, "path", in_dir(dir, "i.csv")), TT_OK);
    assert_int_equal(d->classes, 11);
    assert_int_equal(d->def->label(d, 2), 7);
    tt_dataset_close(d);
    /* unless names are asked for, or the classes are named so */
    assert_int_equal(OPEN(&d, "path", in_dir(dir, "i.csv"), "labels", "names"), TT_OK);
    assert_int_equal(d->classes, 3);
    assert_string_equal(d->class_names[0], "007");
    assert_string_equal(d->class_names[1], "10");
    tt_dataset_close(d);
    assert_int_equal(OPEN(&d, "path", in_dir(dir, "c.csv"), "classes", "[2, 10]"), TT_OK);
    assert_int_equal(d->def->label(d, 0), 1);
    assert_int_equal(d->def->label(d, 1), 0);
    tt_dataset_close(d);
    expect_error(OPEN(&d, "path", in_dir(dir, "c.csv"), "classes", "[x, y]"), TT_EDATA, "c.csv:2", "label 10", NULL);
    expect_error(OPEN(&d, "path", in_dir(dir, "n.csv"), "labels", "indices"), TT_EDATA, "n.csv:2", "'cat'", NULL);
    expect_error(OPEN(&d, "path", in_dir(dir, "n.csv"), "classes", "[cat, dog]"), TT_EDATA, "n.csv:3", "'dgo'", "'dog'",
                 NULL);
    put_text(in_dir(dir, "big.csv"), "path,label\na,99999999999\n");
    expect_error(OPEN(&d, "path", in_dir(dir, "big.csv"), "labels", "indices"), TT_EDATA, "big.csv:2", NULL);
    put_text(in_dir(dir, "neg.csv"), "path,label\na,-1\n");
    expect_error(OPEN(&d, "path", in_dir(dir, "neg.csv"), "labels", "indices"), TT_EDATA, "neg.csv:2", NULL);
}

static int teardown(void **state)
{
    tt_arena_free(&arena);
    return temp_teardown(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_records), TEST(test_lines),    TEST(test_not_text),   TEST(test_names),
                                       TEST(test_columns), TEST(test_bad_rows), TEST(test_label_kinds)};
    return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
