/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_text.c - edit distances, vocabularies and lexicons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "audio/edit_distance.h"
#include "audio/lexicon.h"
#include "tensor/utf8.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"
#include "tests/support/values.h"

#define VALUES_TEXT
#include "tests/text_values.inc"

static TtArena arena;
static const char wav2letter[] = "* 'abcdefghijklmnopqrstuvwxyz";

/* ---- UTF-8 */

static void test_utf8(void **state)
{
    static const char *const bad[] = {
        "\x80", "\xC0\xAF", "\xC1\x81",     "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xFF",         "\xC3\x28"};
    uint32_t code;
    char text[4];
    for (int i = 0; i < TT_COUNT(bad); i++) assert_int_equal(tt_utf8_decode(bad[i], strlen(bad[i]), &code), 0);
    assert_int_equal(tt_utf8_decode("\xF0\x9F\x98\x80", 4, &code), 4);
    assert_int_equal(code, 0x1F600);
    for (uint32_t c = 0; c < 0x110000; c++) {
        if (c >= 0xD800 && c < 0xE000) continue;
        int n = tt_utf8_encode(c, text);
        assert_int_equal(tt_utf8_decode(text, (size_t)n, &code), n);
        assert_int_equal(code, c);
        if (n > 1) assert_int_equal(tt_utf8_decode(text, (size_t)n - 1, &code), 0);
    }
}

/* ---- edit distance */

static void same_edits(const TtEdits *a, const TtEdits *b)
{
    assert_int_equal(a->substitutions, b->substitutions);
    assert_int_equal(a->insertions, b->insertions);
    assert_int_equal(a->deletions, b->deletions);
    assert_int_equal(a->reference, b->reference);
}

static void test_edits(void **state)
{
    TtEdits all = {0};
    int64_t distance = 0, reference = 0;
    for (int i = 0; i < TT_COUNT(edit_cases); i++) {
        const EditCase *c = &edit_cases[i];
        TtEdits e = {0}, w = {0};
        values_ok(tt_edit_distance_chars(c->a, c->b, &e));
        values_ok(tt_edit_distance_words(c->a, c->b, &w));
        same_edits(&e, &c->chars);
        same_edits(&w, &c->words);
        /* The other way round insertions and deletions change places. */
        TtEdits back = {0},
                turned = {e.substitutions, e.deletions, e.insertions, e.reference + e.insertions - e.deletions};
        values_ok(tt_edit_distance_chars(c->b, c->a, &back));
        same_edits(&back, &turned);
        values_ok(tt_edit_distance_words(c->a, c->b, &all));
        distance += tt_edits_distance(&c->words), reference += c->words.reference;
    }
    assert_int_equal(tt_edits_distance(&all), distance);
    assert_int_equal(all.reference, reference);
    assert_true(tt_edits_rate(&all) == (double)distance / (double)reference);
    assert_true(tt_edits_rate(&(TtEdits){0}) == 0);
    assert_true(tt_edits_rate(&(TtEdits){.insertions = 1}) > 1e308);
}

static void test_edits_of_bytes(void **state)
{
    TtEdits e = {0};
    values_ok(tt_edit_distance_chars("a\xFF\xC3", "a\xFE\xC3", &e)); /* no UTF-8 */
    same_edits(&e, &(TtEdits){.substitutions = 1, .reference = 3});
    const int64_t a[] = {INT64_MIN, 5, INT64_MAX}, b[] = {5, INT64_MAX};
    e = (TtEdits){0};
    values_ok(tt_edit_distance(a, 3, b, 2, &e));
    same_edits(&e, &(TtEdits){.deletions = 1, .reference = 3});
    e = (TtEdits){0};
    values_ok(tt_edit_distance(a, 0, b, 0, &e));
    same_edits(&e, &(TtEdits){0});
    assert_int_equal(tt_edit_distance(a, INT64_MAX, b, 2, &e), TT_EDATA);
}

/* ---- vocabulary */

static void test_lower(void **state)
{
    uint64_t h = 0;
    for (uint32_t c = 0; c < 0x110000; c++) h = h * 31 + tt_lower(c);
    assert_true(h == lower_hash);
    TtVocabulary v;
    values_ok(tt_vocabulary_new(
        NULL,
        "* .'abcstunl\xc3\xa0\xc3\xa9\xc3\xbe\xc3\xbf\xce\xbf\xce\xb4\xcf\x83\xcf\x82\xce\xb1\xcc\x81"
        "i\xcc\x87\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0\xd1\x91\xd0\xb6\xc3\x9f\xe1\xbc\x80"
        "hedowr",
        0, &arena, &v));
    for (int i = 0; i < TT_COUNT(lower_cases); i++) {
        int64_t *classes = TT_NEWN(&arena, int64_t, strlen(lower_cases[i][0])), n;
        values_ok(tt_vocabulary_encode(&v, lower_cases[i][0], "x:1", classes, &n));
        assert_string_equal(tt_vocabulary_decode(&v, classes, n, &arena), lower_cases[i][1]);
    }
}

static void test_vocabulary(void **state)
{
    TtVocabulary v;
    int64_t classes[32], n;
    static const int64_t expected[] = {11, 8, 1, 2, 28};
    values_ok(tt_vocabulary_new(NULL, wav2letter, 0, &arena, &v));
    assert_int_equal(v.classes, 29);
    values_ok(tt_vocabulary_encode(&v, "If 'Z", "train.tsv:2", classes, &n));
    assert_int_equal(n, 5);
    assert_memory_equal(classes, expected, sizeof expected);
    assert_string_equal(tt_vocabulary_decode(&v, (int64_t[]){0, 3, 0, 1, 28}, 5, &arena), "a z");
    values_ok(tt_vocabulary_encode(&v, "", "train.tsv:2", classes, &n));
    assert_int_equal(n, 0);
    assert_int_equal(tt_vocabulary_class(&v, '*'), -1);
    assert_int_equal(tt_vocabulary_class(&v, 'z'), 28);
    expect_error(tt_vocabulary_encode(&v, "a*", "train.tsv:12", classes, &n), TT_EDATA,
                 "train.tsv:12: ", "'*' (U+002A)", "blank", NULL);
    expect_error(tt_vocabulary_encode(&v, "caf\xc3\x89", "train.tsv:3", classes, &n), TT_EDATA,
                 "train.tsv:3: ", "'\xc3\xa9' (U+00E9)", "not in labels", NULL);
    expect_error(tt_vocabulary_encode(&v, "a\tb", "t:1", classes, &n), TT_EDATA, " U+0009 ", NULL);
    expect_error(tt_vocabulary_encode(&v, "a\xC3(", "t:1", classes, &n), TT_EDATA, "0xc3", "position 2", NULL);
}

static void test_vocabulary_errors(void **state)
{
    TtVocabulary v;
    const TtNode at = {.mark = {.file = "c.yaml", .line = 4, .col = 9}};
    expect_error(tt_vocabulary_new(&at, "*abca", 0, &arena, &v), TT_ECONFIG, "c.yaml:4:9: ", "'a' (U+0061)", "class 1",
                 "class 4", NULL);
    expect_error(tt_vocabulary_new(&at, "", 0, &arena, &v), TT_ECONFIG, "no characters", NULL);
    expect_error(tt_vocabulary_new(&at, "abc", 3, &arena, &v), TT_ECONFIG, "class 3", NULL);
    expect_error(tt_vocabulary_new(&at, "abc", -1, &arena, &v), TT_ECONFIG, "class -1", NULL);
    expect_error(tt_vocabulary_new(&at, "*aB", 0, &arena, &v), TT_ECONFIG, "'B'", "capital", NULL);
    expect_error(tt_vocabulary_new(&at, "ab\xFF", 0, &arena, &v), TT_ECONFIG, "0xff", "2 characters", NULL);
    values_ok(tt_vocabulary_new(&at, "Bab", 0, &arena, &v)); /* the blank may be a capital */
}

/* ---- lexicon */

static TtStatus parse(const char *text, const TtVocabulary *v, TtLexicon *l)
{
    return tt_lexicon_parse(text, strlen(text), "words.txt", v, 1, l);
}

static uint32_t walk(const TtLexicon *l, const TtVocabulary *v, const char *letters)
{
    uint32_t node = 0;
    for (; *letters && node != TT_PAIR_NONE; letters++)
        node = tt_pair_map_get(&l->children, node, (uint32_t)tt_vocabulary_class(v, (uint32_t)*letters));
    return node;
}

static void test_lexicon(void **state)
{
    TtVocabulary v;
    TtLexicon l;
    values_ok(tt_vocabulary_new(NULL, wav2letter, 0, &arena, &v));
    values_ok(parse("see\nSEA s e e |\r\n\n  seen\t\nread r e d\nread r e a d |\nsee", &v, &l));
    assert_int_equal(l.words, 5); /* "read" once for each spelling */
    uint32_t node = walk(&l, &v, "see");
    assert_string_equal(l.word[l.node_word[node]].text, "see");
    assert_string_equal(l.word[l.word[l.node_word[node]].next].text, "SEA");
    assert_int_equal(l.word[l.word[l.node_word[node]].next].next, TT_PAIR_NONE);
    assert_int_equal(l.node_word[walk(&l, &v, "se")], TT_PAIR_NONE);
    assert_string_equal(l.word[l.node_word[walk(&l, &v, "red")]].text, "read");
    assert_int_equal(walk(&l, &v, "sex"), TT_PAIR_NONE);
    for (uint32_t i = 1; i < l.nodes; i++) assert_true(l.parent[i] < i);
    tt_lexicon_free(&l);
    put_text(in_dir(*state, "w.txt"), "one\ntwo\n");
    values_ok(tt_lexicon_read(in_dir(*state, "w.txt"), &v, 1, &l));
    assert_int_equal(l.words, 2);
    tt_lexicon_free(&l);
    expect_error(tt_lexicon_read(in_dir(*state, "none.txt"), &v, 1, &l), TT_EDATA, "none.txt", NULL);
    expect_error(parse("one\ntw0\n", &v, &l), TT_EDATA, "words.txt:2: ", "'0'", NULL);
    expect_error(parse("one o ne\n", &v, &l), TT_EDATA, "words.txt:1: ", "'ne'", NULL);
    expect_error(parse("x |\n", &v, &l), TT_EDATA, "words.txt:1: ", "no spelling", NULL);
    expect_error(parse("\n \n", &v, &l), TT_EDATA, "no words", NULL);
    expect_error(parse("", &v, &l), TT_EDATA, "no words", NULL);
    expect_error(tt_lexicon_parse("a\0b", 3, "w", &v, 1, &l), TT_EDATA, "w:1: ", "NUL", NULL);
    char longest[5000];
    memset(longest, 'a', sizeof longest);
    expect_error(tt_lexicon_parse(longest, sizeof longest, "w", &v, 1, &l), TT_EDATA, "w:1: ", "longer", NULL);
    assert_null(l.word);
}

static int free_arena(void **state)
{
    tt_arena_free(&arena);
    return temp_teardown(state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_setup, free_arena)
    const struct CMUnitTest tests[] = {TEST(test_utf8),   TEST(test_edits),      TEST(test_edits_of_bytes),
                                       TEST(test_lower),  TEST(test_vocabulary), TEST(test_vocabulary_errors),
                                       TEST(test_lexicon)};
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
