/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_ctc_decode.c - greedy decoding, alignment and prefix beam search: against torchaudio's decoder and
 * aligner, and against the sum over all alignments where there are few enough to write them all down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "audio/ctc_decode.h"
#include "tests/support/dataset_config.h"
#include "tests/support/noise.h"
#include "tests/support/temp.h"
#include "tests/support/values.h"

#define VALUES_CTC
#define VALUES_ARPA
#include "tests/text_values.inc"

enum { SPACE = 1 };
static TtArena arena;
static float data[4096];

static TtVocabulary vocabulary(const char *labels)
{
    TtVocabulary v;
    values_ok(tt_vocabulary_new(NULL, labels, 0, &arena, &v));
    return v;
}

/* ---- greedy */

static void one_hot(const char *classes, int n)
{
    for (int t = 0; t < (int)strlen(classes); t++)
        for (int c = 0; c < n; c++) data[t * n + c] = c == classes[t] - '0' ? 0 : -9;
}

static void test_greedy(void **state)
{
    int64_t token[32], begin[32], end[32];
    static const int64_t tokens[] = {2, 3, 3, 1}, begins[] = {1, 4, 6, 8}, ends[] = {3, 5, 8, 9};
    one_hot("0220303310", 4);
    TtLogProbs x = {data, 10, 4, 4};
    assert_int_equal(tt_ctc_greedy(&x, 0, token, begin, end), 4);
    assert_memory_equal(token, tokens, sizeof tokens);
    assert_memory_equal(begin, begins, sizeof begins);
    assert_memory_equal(end, ends, sizeof ends);
    x.frames = 5; /* only what is valid */
    assert_int_equal(tt_ctc_greedy(&x, 0, token, NULL, NULL), 2);
    x.frames = 0;
    assert_int_equal(tt_ctc_greedy(&x, 0, token, begin, end), 0);
    /* The lowest of equals, NaN never; the blank may be any class; every second row. */
    const float ties[] = {NAN, 1, 1, 9, 9, 9, 1, NAN, 1, 9, 9, 9, NAN, NAN, NAN};
    assert_int_equal(tt_ctc_greedy(&(TtLogProbs){ties, 3, 6, 3}, 2, token, begin, end), 2);
    assert_int_equal(token[0], 1);
    assert_int_equal(token[1], 0);
    assert_int_equal(end[1], 3);
}

static void test_words(void **state)
{
    TtVocabulary v = vocabulary("* ab");
    TtCtcWord *word;
    static const int64_t token[] = {1, 2, 3, 1, 1, 3, 1}, begin[] = {0, 2, 4, 6, 8, 10, 13},
                         end[] = {1, 3, 6, 7, 9, 12, 14};
    assert_int_equal(tt_ctc_words(&v, SPACE, token, 7, begin, end, &arena, &word), 2);
    assert_string_equal(word[0].text, "ab");
    assert_int_equal(word[0].begin, 2);
    assert_int_equal(word[0].end, 6);
    assert_string_equal(word[1].text, "b");
    assert_int_equal(word[1].begin, 10);
    assert_int_equal(word[1].end, 12);
    assert_int_equal(tt_ctc_words(&v, SPACE, token, 0, begin, end, &arena, &word), 0);
    assert_int_equal(tt_ctc_words(&v, -1, token, 7, begin, end, &arena, &word), 1);
    assert_string_equal(word[0].text, " ab  b ");
}

/* ---- alignment */

static void test_align(void **state)
{
    int64_t begin[16], end[16];
    double score;
    for (int i = 0; i < TT_COUNT(align_cases); i++) {
        make_log_probs(data, align_cases[i].frames, align_cases[i].classes, (uint32_t)align_cases[i].seed,
                       align_cases[i].scale);
        TtLogProbs x = {data, align_cases[i].frames, align_cases[i].classes, align_cases[i].classes};
        values_ok(tt_ctc_align(&x, 0, align_cases[i].token, align_cases[i].n, begin, end, &score));
        for (int k = 0; k < align_cases[i].n; k++) {
            assert_int_equal(begin[k], align_cases[i].begin[k]);
            assert_int_equal(end[k], align_cases[i].end[k]);
        }
        assert_true(fabs(score - align_cases[i].score) < 1e-4);
    }
}

static void test_align_errors(void **state)
{
    int64_t begin[8], end[8];
    double score;
    one_hot("0123", 4);
    TtLogProbs x = {data, 4, 4, 4};
    expect_error(tt_ctc_align(&x, 0, (int64_t[]){2, 2, 2}, 3, begin, end, NULL), TT_EDATA, "5 frames", NULL);
    expect_error(tt_ctc_align(&x, 0, (int64_t[]){2, 0}, 2, begin, end, NULL), TT_EDATA, "the blank", NULL);
    expect_error(tt_ctc_align(&x, 0, (int64_t[]){4}, 1, begin, end, NULL), TT_EDATA, "no class", NULL);
    values_ok(tt_ctc_align(&x, 0, NULL, 0, begin, end, &score));
    assert_true(score == -27);
    x.frames = 0;
    values_ok(tt_ctc_align(&x, 0, NULL, 0, begin, end, &score));
    assert_true(score == 0);
    /* Impossible, but it must not lead astray. */
    for (int i = 0; i < 16; i++) data[i] = -INFINITY;
    x.frames = 4;
    values_ok(tt_ctc_align(&x, 0, (int64_t[]){1, 2}, 2, begin, end, &score));
    assert_true(score == -INFINITY);
    for (int i = 0; i < 2; i++) assert_true(begin[i] >= 0 && begin[i] <= end[i] && end[i] <= 4);
}

/* ---- beam search */

static TtCtcResult *search(const TtCtcDecoder *d, const TtLogProbs *x, int64_t *n)
{
    TtCtcResult *r;
    values_ok(tt_ctc_beam_search(d, x, &arena, &r, n));
    return r;
}

static void test_torchaudio(void **state)
{
    for (int i = 0; i < TT_COUNT(beam_cases); i++) {
        int frames = beam_cases[i].frames, classes = beam_cases[i].classes;
        TtVocabulary v = vocabulary(classes == 4 ? "* ab" : classes == 5 ? "* abc" : "* abcd");
        TtCtcOptions o = {TT_CTC_DEFAULTS};
        o.nbest = 4, o.beam_size = 50000, o.beam_threshold = 1000;
        o.beam_size_token = beam_cases[i].beam_size_token, o.log_add = beam_cases[i].log_add;
        make_log_probs(data, frames, classes, (uint32_t)beam_cases[i].seed, beam_cases[i].scale);
        data[SPACE] -= 100; /* as the script says */
        data[(frames - 1) * classes + SPACE] -= 100;
        TtCtcDecoder *d = tt_ctc_decoder_new(&o, &v, SPACE, NULL, NULL);
        int64_t n;
        TtCtcResult *r = search(d, &(TtLogProbs){data, frames, classes, classes}, &n);
        assert_int_equal(n, 4);
        for (int k = 0; k < n; k++) {
            if (fabs(r[k].score - beam_cases[i].result[k].score) > 1e-4)
                fail_msg("case %d, result %d: %.9g, expected %.9g", i, k, r[k].score, beam_cases[i].result[k].score);
            assert_int_equal(r[k].n, beam_cases[i].result[k].n);
            assert_memory_equal(r[k].token, beam_cases[i].result[k].token, (size_t)r[k].n * sizeof *r[k].token);
        }
        tt_ctc_decoder_free(d);
    }
}

/* Every sequence with the log of the sum (or the largest) of its alignments' probabilities. */
enum { FRAMES = 6, CLASSES = 4 };
typedef struct All {
    int n;
    struct {
        char text[FRAMES + 1];
        double p, score, lm;
    } list[4096];
} All;

static void all_sequences(const char *labels, bool add, All *all)
{
    all->n = 0;
    for (int path = 0; path < 1 << (2 * FRAMES); path++) {
        char text[FRAMES + 1];
        int length = 0, before = 0, k = 0;
        double p = 0;
        for (int t = 0; t < FRAMES; t++) {
            int c = path >> (2 * t) & 3;
            p += (double)data[t * CLASSES + c];
            if (c != 0 && c != before) text[length++] = labels[c];
            before = c;
        }
        text[length] = '\0';
        while (k < all->n && strcmp(all->list[k].text, text) != 0) k++;
        if (k == all->n) {
            strcpy(all->list[all->n++].text, text);
            all->list[k].p = p;
        } else {
            double m = fmax(all->list[k].p, p);
            all->list[k].p = add ? m + log(exp(all->list[k].p - m) + exp(p - m)) : m;
        }
    }
}

/* Scores by the definition; sequences that WORDS (if any) does not allow go to the end. */
static void score_all(All *all, const TtCtcOptions *o, const TtArpa *lm, const char *words)
{
    for (int i = 0; i < all->n; i++) {
        char text[FRAMES + 1], padded[16], *rest;
        TtArpaState s = {0};
        double score = all->list[i].p, sum = 0;
        if (lm) s = tt_arpa_begin(lm);
        strcpy(text, all->list[i].text);
        for (const char *c = text; *c; c++) score += *c == ' ' ? o->sil_score : 0;
        for (char *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
            bool known = true;
            snprintf(padded, sizeof padded, " %s ", w);
            if (words) known = strstr(words, padded);
            score += o->word_score + (known ? 0 : isnan(o->unk_score) ? -INFINITY : o->unk_score);
            if (lm) sum += tt_arpa_score(lm, &s, tt_arpa_word(lm, known ? w : "<unk>"), &s);
        }
        if (lm) sum += tt_arpa_end(lm, &s);
        all->list[i].score = score + o->lm_weight * sum;
        all->list[i].lm = sum;
    }
}

static void check_all(const TtCtcOptions *options, const TtArpa *lm, const char *words, uint32_t seed)
{
    static All all;
    static const char labels[] = "* ab";
    TtVocabulary v = vocabulary(labels);
    TtLexicon lexicon;
    TtCtcOptions o = *options;
    o.nbest = 10000, o.beam_size = 5000, o.beam_threshold = 1e6;
    make_log_probs(data, FRAMES, CLASSES, seed, 2);
    all_sequences(labels, o.log_add, &all);
    score_all(&all, &o, lm, words);
    if (words) {
        char lines[64];
        int n = 0;
        for (const char *c = words; *c; c++) lines[n++] = *c == ' ' ? '\n' : *c;
        values_ok(tt_lexicon_parse(lines, (size_t)n, "words", &v, SPACE, &lexicon));
    }
    TtCtcDecoder *d = tt_ctc_decoder_new(&o, &v, SPACE, lm, words ? &lexicon : NULL);
    int64_t n, expected = 0;
    TtCtcResult *r = search(d, &(TtLogProbs){data, FRAMES, CLASSES, CLASSES}, &n);
    for (int i = 0; i < all.n; i++) expected += all.list[i].score > -INFINITY;
    assert_int_equal(n, expected);
    for (int64_t k = 0; k < n; k++) {
        const char *text = tt_vocabulary_decode(&v, r[k].token, r[k].n, &arena);
        int i = 0;
        while (i < all.n && strcmp(all.list[i].text, text) != 0) i++;
        assert_true(i < all.n);
        if (!(fabs(r[k].score - all.list[i].score) < 1e-6 && fabs(r[k].log_prob - all.list[i].p) < 1e-6))
            fail_msg("seed %u, '%s': score %.9g and log p %.9g, expected %.9g and %.9g", seed, text, r[k].score,
                     r[k].log_prob, all.list[i].score, all.list[i].p);
        if (lm) assert_true(fabs(r[k].lm_score - all.list[i].lm) < 1e-6);
        assert_true(k == 0 || r[k].score <= r[k - 1].score);
        all.list[i].text[0] = '\x7F'; /* each once */
    }
    tt_ctc_decoder_free(d);
    if (words) tt_lexicon_free(&lexicon);
}

static TtArpa *model(const char *dir)
{
    TtArpa *a;
    put_text(in_dir(dir, "a.arpa"), arpa_four);
    values_ok(tt_arpa_read(in_dir(dir, "a.arpa"), &a));
    return a;
}

static void test_all_alignments(void **state)
{
    TtArpa *lm = model(*state);
    for (uint32_t seed = 100; seed < 104; seed++) {
        TtCtcOptions o = {TT_CTC_DEFAULTS};
        o.unk_score = NAN;
        for (int add = 0; add < 2; add++) {
            o.log_add = add;
            o.word_score = 0, o.sil_score = 0;
            check_all(&o, NULL, NULL, seed);
            o.word_score = 0.7, o.sil_score = -0.3, o.lm_weight = 1.5;
            check_all(&o, lm, NULL, seed);
            check_all(&o, NULL, " a ab bb ", seed);
            check_all(&o, lm, " a ab bb ", seed);
            TtCtcOptions u = o;
            u.unk_score = -1.25;
            check_all(&u, lm, " a ab bb ", seed);
            u.lm_weight = 0;
            check_all(&u, lm, NULL, seed);
        }
    }
    tt_arpa_free(lm);
}

/* With everything pruned, the best path remains. */
static void test_pruning(void **state)
{
    TtVocabulary v = vocabulary("* ab");
    TtCtcOptions o = {TT_CTC_DEFAULTS};
    o.beam_size = 1, o.beam_size_token = 1, o.nbest = 5, o.beam_threshold = 0;
    one_hot("0223311200", 4);
    TtLogProbs x = {data, 10, 4, 4};
    TtCtcDecoder *d = tt_ctc_decoder_new(&o, &v, SPACE, NULL, NULL);
    int64_t n;
    TtCtcResult *r = search(d, &x, &n);
    assert_int_equal(n, 1);
    assert_int_equal(r->words, 2);
    assert_string_equal(r->word[0].text, "ab");
    assert_string_equal(r->word[1].text, "a");
    assert_int_equal(r->word[0].begin, 1);
    assert_int_equal(r->word[0].end, 5);
    assert_int_equal(r->word[1].begin, 7);
    assert_int_equal(r->word[1].end, 8);
    assert_true(fabs(r->score) < 1e-12);
    tt_ctc_decoder_free(d);
    /* Many classes, few kept: the selection finds what sorting all would. */
    o = (TtCtcOptions){TT_CTC_DEFAULTS};
    o.nbest = 3;
    make_log_probs(data, 60, 4, 9, 5);
    double best[4];
    for (int k = 0; k < 4; k++) {
        o.beam_size = (int64_t[]){2, 10, 50, 400}[k];
        d = tt_ctc_decoder_new(&o, &v, SPACE, NULL, NULL);
        r = search(d, &(TtLogProbs){data, 60, 4, 4}, &n);
        assert_true(n >= 2 && r[0].score >= r[1].score);
        best[k] = r[0].score;
        if (k) assert_true(best[k] >= best[k - 1] - 1e-9);
        tt_ctc_decoder_free(d);
    }
    double path = 0; /* with log_add false, the best text has the best path */
    for (int t = 0; t < 60; t++)
        path += fmax(fmax((double)data[4 * t], (double)data[4 * t + 1]),
                     fmax((double)data[4 * t + 2], (double)data[4 * t + 3]));
    assert_true(fabs(best[3] - path) < 1e-9);
}

static void test_homophones(void **state)
{
    TtVocabulary v = vocabulary("* ab");
    TtLexicon l;
    TtArpa *lm;
    TtCtcOptions o = {TT_CTC_DEFAULTS};
    o.nbest = 4, o.lm_weight = 1;
    static const char words[] = "ab\nAB a b |\nba\n";
    put_text(in_dir(*state, "h.arpa"),
             "\\data\\\nngram 1=4\nngram 2=2\n\\1-grams:\n-2 ab\n-1 AB\n-1 ba\n-9 <unk>\n\\2-grams:\n"
             "-0.1 ab ba\n-1 AB ba\n\\end\\\n");
    values_ok(tt_arpa_read(in_dir(*state, "h.arpa"), &lm));
    values_ok(tt_lexicon_parse(words, sizeof words - 1, "w", &v, SPACE, &l));
    TtCtcDecoder *d = tt_ctc_decoder_new(&o, &v, SPACE, lm, &l);
    int64_t n;
    one_hot("02301", 4);
    TtCtcResult *r = search(d, &(TtLogProbs){data, 5, 4, 4}, &n);
    assert_true(n >= 2);
    assert_string_equal(r[0].word[0].text, "AB");
    assert_true(fabs(r[0].score + 1) < 1e-6);
    assert_string_equal(r[1].word[0].text, "ab");
    r = search(d, &(TtLogProbs){data, 4, 4, 4}, &n); /* the word ends with the clip */
    assert_string_equal(r[0].word[0].text, "AB");
    assert_string_equal(r[1].word[0].text, "ab");
    one_hot("02310032", 4); /* -1 - 1 for "AB ba", -2 - 0.1 for "ab ba" */
    r = search(d, &(TtLogProbs){data, 8, 4, 4}, &n);
    assert_int_equal(r[0].words, 2);
    assert_string_equal(r[0].word[1].text, "ba");
    assert_true(fabs(r[0].lm_score - -2.0) < 1e-6);
    assert_true(fabs(r[1].lm_score - -2.1) < 1e-6);
    assert_string_equal(r[1].word[0].text, "ab");
    tt_ctc_decoder_free(d);
    /* Nothing but half a word: it is no word, but its tokens are there. */
    o.beam_size = 1, o.beam_threshold = 1;
    d = tt_ctc_decoder_new(&o, &v, SPACE, NULL, &l);
    one_hot("0022", 4);
    r = search(d, &(TtLogProbs){data, 4, 4, 4}, &n);
    assert_int_equal(n, 1);
    assert_int_equal(r->n, 1);
    assert_int_equal(r->words, 0);
    tt_ctc_decoder_free(d);
    tt_lexicon_free(&l);
    tt_arpa_free(lm);
}

static void test_odd_input(void **state)
{
    TtVocabulary v = vocabulary("* ab");
    TtCtcOptions o = {TT_CTC_DEFAULTS};
    TtCtcResult *r;
    int64_t n;
    TtCtcDecoder *d = tt_ctc_decoder_new(&o, &v, -1, NULL, NULL);
    TtLogProbs x = {data, 0, 4, 4};
    r = search(d, &x, &n);
    assert_int_equal(n, 1);
    assert_int_equal(r->n, 0);
    assert_int_equal(r->words, 0);
    assert_true(r->score == 0);
    x.frames = 3;
    for (int i = 0; i < 12; i++) data[i] = -INFINITY;
    search(d, &x, &n);
    assert_int_equal(n, 0);
    one_hot("213", 4);
    r = search(d, &x, &n);
    assert_int_equal(r->words, 1); /* no class between words */
    assert_string_equal(r->word->text, "a b");
    data[5] = NAN;
    expect_error(tt_ctc_beam_search(d, &x, &arena, &r, &n), TT_EDIVERGED, "class 1", "frame 1", NULL);
    data[5] = INFINITY;
    expect_error(tt_ctc_beam_search(d, &x, &arena, &r, &n), TT_EDIVERGED, "class 1", "frame 1", NULL);
    x.classes = 3;
    expect_error(tt_ctc_beam_search(d, &x, &arena, &r, &n), TT_EINTERNAL, "3 classes", NULL);
    tt_ctc_decoder_free(d);
    tt_ctc_decoder_free(NULL);
}

static void test_options(void **state)
{
    TtCtcOptions o, defaults = {TT_CTC_DEFAULTS};
    values_ok(tt_options_parse(tt_ctc_options, NULL, NULL, NULL, &arena, &o));
    assert_int_equal(o.nbest, defaults.nbest);
    assert_int_equal(o.beam_size, defaults.beam_size);
    assert_int_equal(o.beam_size_token, defaults.beam_size_token);
    assert_true(o.beam_threshold == defaults.beam_threshold && o.lm_weight == defaults.lm_weight);
    assert_true(o.word_score == 0 && o.sil_score == 0 && isnan(o.unk_score) && !o.log_add);
}

static int free_arena(void **state)
{
    tt_arena_free(&arena);
    return temp_teardown(state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_setup, free_arena)
    const struct CMUnitTest tests[] = {TEST(test_greedy),       TEST(test_words),      TEST(test_align),
                                       TEST(test_align_errors), TEST(test_torchaudio), TEST(test_all_alignments),
                                       TEST(test_pruning),      TEST(test_homophones), TEST(test_odd_input),
                                       TEST(test_options)};
    return cmocka_run_group_tests_name("ctc_decode", tests, NULL, NULL);
}
