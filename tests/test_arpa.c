/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_arpa.c - n-gram models: probabilities, and files that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "audio/arpa.h"
#include "tensor/fs.h"
#include "tests/support/dataset_config.h"
#include "tests/support/temp.h"
#include "tests/support/values.h"

#define VALUES_ARPA
#include "tests/text_values.inc"

static TtArpa *read_text(const char *dir, const char *text)
{
    TtArpa *a;
    put_text(in_dir(dir, "a.arpa"), text);
    values_ok(tt_arpa_read(in_dir(dir, "a.arpa"), &a));
    return a;
}

/* Each word's probability, then that of the sentence's end. */
static void check_sentence(const TtArpa *a, const char *text, int n, const double *p)
{
    char words[128], *rest;
    TtArpaState s = tt_arpa_begin(a);
    int i = 0;
    snprintf(words, sizeof words, "%s", text);
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest), i++) {
        double got = tt_arpa_score(a, &s, tt_arpa_word(a, w), &s);
        if (!(fabs(got - p[i]) < 1e-6)) fail_msg("'%s', word %d: %.9g, expected %.9g", text, i, got, p[i]);
    }
    assert_int_equal(i, n - 1);
    double got = tt_arpa_end(a, &s);
    if (!(fabs(got - p[i]) < 1e-6)) fail_msg("'%s', end: %.9g, expected %.9g", text, got, p[i]);
}

#define CHECK_MODEL(dir, name)                                                                                      \
    do {                                                                                                            \
        TtArpa *model = read_text(dir, arpa_##name);                                                                \
        for (int c = 0; c < TT_COUNT(arpa_##name##_cases); c++)                                                     \
            check_sentence(model, arpa_##name##_cases[c].text, arpa_##name##_cases[c].n, arpa_##name##_cases[c].p); \
        tt_arpa_free(model);                                                                                        \
    } while (0)

static void test_scores(void **state)
{
    CHECK_MODEL(*state, four);
    CHECK_MODEL(*state, closed);
    CHECK_MODEL(*state, uni);
}

/* The example of Jurafsky and Martin's kind: small enough for a head. */
static const char tiny[] =
    "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-99 <s> -0.5\n-1 </s>\n-0.7 hot -0.25\n-0.9 dog\n\n"
    "\\2-grams:\n-0.1 <s> hot\n-0.2 hot dog\n\n\\end\\\n";

static void test_by_hand(void **state)
{
    TtArpa *a = read_text(*state, tiny);
    assert_int_equal(tt_arpa_order(a), 2);
    assert_int_equal(tt_arpa_count(a, 1), 4);
    assert_int_equal(tt_arpa_count(a, 2), 2);
    assert_true(tt_arpa_knows(a, "hot") && !tt_arpa_knows(a, "cold"));
    assert_int_equal(tt_arpa_word(a, "cold"), -1);
    check_sentence(a, "hot dog", 3, (double[]){-0.1, -0.2, -1});
    check_sentence(a, "dog hot", 3, (double[]){-0.5 - 0.9, -0.7, -0.25 - 1});
    check_sentence(a, "hot cold dog", 4, (double[]){-0.1, -0.25 - 100, -0.9, -1});
    /* What follows <s> is not what follows nothing. */
    TtArpaState nothing = {0}, after;
    assert_true(fabs(tt_arpa_score(a, &nothing, tt_arpa_word(a, "dog"), &after) + 0.9) < 1e-6);
    assert_int_equal(after.n, 0); /* nothing follows "dog", and it has no weight */
    tt_arpa_free(a);
    tt_arpa_free(NULL);
}

static void put_gz(const char *path, const void *data, size_t size)
{
    gzFile gz = gzopen(path, "wb");
    assert_non_null(gz);
    assert_int_equal(gzwrite(gz, data, (unsigned)size), size);
    assert_int_equal(gzclose(gz), Z_OK);
}

static void test_gzip(void **state)
{
    const char *dir = *state;
    TtArpa *a;
    char *gz;
    size_t size;
    put_gz(in_dir(dir, "a.arpa.gz"), arpa_four, sizeof arpa_four - 1);
    values_ok(tt_arpa_read(in_dir(dir, "a.arpa.gz"), &a));
    check_sentence(a, arpa_four_cases[3].text, arpa_four_cases[3].n, arpa_four_cases[3].p);
    tt_arpa_free(a);
    values_ok(tt_fs_read(in_dir(dir, "a.arpa.gz"), 1 << 20, TT_EDATA, &gz, &size));
    for (size_t cut = 30; cut < size; cut += 97) {
        put_file(in_dir(dir, "cut.gz"), gz, cut);
        expect_error(tt_arpa_read(in_dir(dir, "cut.gz"), &a), TT_EDATA, "/cut.gz", NULL);
    }
    put_file(in_dir(dir, "cut.gz"), gz, size - 1);
    expect_error(tt_arpa_read(in_dir(dir, "cut.gz"), &a), TT_EDATA, "/cut.gz", NULL);
    gz[size - 6] ^= 1; /* the checksum */
    put_file(in_dir(dir, "crc.gz"), gz, size);
    expect_error(tt_arpa_read(in_dir(dir, "crc.gz"), &a), TT_EDATA, "/crc.gz", "damaged", NULL);
    free(gz);
}

static void test_forms(void **state)
{
    TtArpa *a =
        read_text(*state, "\\data\\\r\nngram 1 = 2\r\n ngram 2=0\r\n\\1-grams:\r\n  -1   a\t0 \r\n-inf b -0.5\r\n"
                          "\\2-grams:\r\n\\end\\\r\nwhatever\r\n");
    TtArpaState s = tt_arpa_begin(a);
    assert_int_equal(s.n, 0);
    assert_true(tt_arpa_score(a, &s, tt_arpa_word(a, "b"), &s) == -INFINITY);
    assert_true(tt_arpa_score(a, &s, tt_arpa_word(a, "a"), &s) == -1.5);
    assert_true(tt_arpa_end(a, &s) == 0);
    tt_arpa_free(a);
    /* A trigram whose ending bigram is not there (pruned). */
    a = read_text(*state, "\\data\\\nngram 1=3\nngram 2=1\nngram 3=1\n\\1-grams:\n-1 a -0.5\n-1.5 b -0.25\n-2 c\n"
                          "\\2-grams:\n-0.5 a b -0.125\n\\3-grams:\n-0.25 a b c\n\\end\\\n");
    s = tt_arpa_begin(a);
    tt_arpa_score(a, &s, tt_arpa_word(a, "a"), &s);
    tt_arpa_score(a, &s, tt_arpa_word(a, "b"), &s);
    assert_true(tt_arpa_score(a, &s, tt_arpa_word(a, "a"), NULL) == -1 - 0.25 - 0.125);
    assert_true(tt_arpa_score(a, &s, tt_arpa_word(a, "c"), &s) == -0.25);
    tt_arpa_free(a);
}

static void bad(const char *dir, const char *text, const char *where, const char *what)
{
    TtArpa *a;
    put_text(in_dir(dir, "bad"), text);
    expect_error(tt_arpa_read(in_dir(dir, "bad"), &a), TT_EDATA, where, what, NULL);
    assert_null(a);
}

static void test_hostile(void **state)
{
    const char *dir = *state;
#define HEAD "\\data\\\nngram 1=2\nngram 2=1\n\\1-grams:\n-1 a\n-1 b\n"
    bad(dir, "", "/bad:1: ", "not an ARPA file");
    bad(dir, "hello\n", "/bad:2: ", "not an ARPA file");
    bad(dir, "\\data\\\nngram 1=2\n", "/bad:3: ", "\\1-grams:");
    bad(dir, "\\data\\\n\\1-grams:\n", "/bad:2: ", "ngram 1=COUNT");
    bad(dir, "\\data\\\nngram 2=2\n", "/bad:2: ", "order 2");
    bad(dir, "\\data\\\nngram 1=-2\n", "/bad:2: ", "too many");
    bad(dir, "\\data\\\nngram 1=4294967295\n", "/bad:2: ", "too many");
    bad(dir, "\\data\\\nngram 1=99999999999999999999999\n", "/bad:2: ", "ORDER=COUNT");
    bad(dir, "\\data\\\nngram 1=2x\n", "/bad:2: ", "ORDER=COUNT");
    bad(dir, "\\data\\\nngram 1=0\n\\1-grams:\n\\end\\\n", "/bad:3: ", "without words");
    bad(dir, "\\data\\\nngram 1=1\nngram 2=1\nngram 3=1\nngram 4=1\nngram 5=1\nngram 6=1\nngram 7=1\n",
        "/bad:8: ", "order 7");
    bad(dir, "\\data\\\nngram 1=4000000000\n\\1-grams:\n-1 a\n\\end\\\n", "/bad:5: ", "promises 4000000000");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\n-1 a\n-1 b\n", "/bad:5: ", "more 1-grams");
    bad(dir, "\\data\\\nngram 1=2\n\\1-grams:\n-1 a\n-1 a\n\\end\\\n", "/bad:5: ", "'a' a second time");
    bad(dir, "\\data\\\nngram 1=1\n\\2-grams:\n", "/bad:3: ", "'\\1-grams:'");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\n-1 a\n\\2-grams:\n", "/bad:5: ", "'\\end\\'");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\n-1 a\n", "/bad:5: ", "ends before \\end\\");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\n0.5 a\n", "/bad:4: ", "above 1");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\nnan a\n", "/bad:4: ", "'nan'");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\n-1x a\n", "/bad:4: ", "'-1x'");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\n-1 a inf\n", "/bad:4: ", "'inf'");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\n-1 a -1e999\n", "/bad:4: ", "backoff");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\n-1\n", "/bad:4: ", "not a probability");
    bad(dir, "\\data\\\nngram 1=1\n\\1-grams:\n-1 a b c d e f g h i j\n", "/bad:4: ", "not a probability");
    bad(dir, HEAD "\\2-grams:\n-1 a c\n\\end\\\n", "/bad:8: ", "'c' is not among");
    bad(dir, HEAD "\\2-grams:\n-1 a\n\\end\\\n", "/bad:8: ", "2 words");
    bad(dir, "\\data\\\nngram 1=1\nngram 2=2\n\\1-grams:\n-1 a\n\\2-grams:\n-1 a a\n\n-1 a a\n\\end\\\n",
        "/bad:9: ", "line 7");
    bad(dir,
        "\\data\\\nngram 1=2\nngram 2=1\nngram 3=1\n\\1-grams:\n-1 a\n-1 b\n\\2-grams:\n-1 a a\n\\3-grams:\n-1 a b "
        "a\n\\end\\\n",
        "/bad:11: ", "not among the 2-grams");
    TtArpa *a;
    put_file(in_dir(dir, "nul"), "\\data\\\0\n", 8);
    expect_error(tt_arpa_read(in_dir(dir, "nul"), &a), TT_EDATA, "/nul:1: ", "NUL", NULL);
    size_t size = (size_t)3 << 20;
    char *large = malloc(size);
    memset(large, 'x', size);
    put_file(in_dir(dir, "long"), large, size);
    free(large);
    expect_error(tt_arpa_read(in_dir(dir, "long"), &a), TT_EDATA, "/long:1: ", "longer", NULL);
    expect_error(tt_arpa_read(dir, &a), TT_EDATA, "folder", NULL);
    /* Cut anywhere: an error, never a crash. */
    for (size_t cut = 0; cut < sizeof tiny - 3; cut++) {
        put_file(in_dir(dir, "cut"), tiny, cut);
        expect_error(tt_arpa_read(in_dir(dir, "cut"), &a), TT_EDATA, "/cut:", NULL);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {TEST(test_scores), TEST(test_by_hand), TEST(test_gzip), TEST(test_forms),
                                       TEST(test_hostile)};
    return cmocka_run_group_tests_name("arpa", tests, NULL, NULL);
}
