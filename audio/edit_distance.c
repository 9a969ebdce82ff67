/* SPDX-License-Identifier: Apache-2.0 */
/* audio/edit_distance.c - Levenshtein distance by rows; texts are turned into sequences of numbers first. */
#include "audio/edit_distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/arena.h"
#include "tensor/utf8.h"

/* A cell is (edits << 32) - substitutions: the smaller one has fewer edits or, of as many, more substitutions. */
#define EDIT ((int64_t)1 << 32)
#define LONGEST ((int64_t)1 << 30) /* so that neither half can overflow */

double tt_edits_rate(const TtEdits *e)
{
    int64_t d = tt_edits_distance(e);
    if (e->reference == 0) return d == 0 ? 0 : INFINITY;
    return (double)d / (double)e->reference;
}

TtStatus tt_edit_distance(const int64_t *reference, int64_t n, const int64_t *hypothesis, int64_t m, TtEdits *sum)
{
    /* Distance and substitutions are the same in both directions, so the row can be the shorter one. */
    const int64_t *a = n < m ? hypothesis : reference, *b = n < m ? reference : hypothesis;
    int64_t na = TT_MAX(n, m), nb = TT_MIN(n, m), *row;
    if (na > LONGEST) return TT_FAIL(TT_EDATA, "a text of %lld symbols is too long to be compared", (long long)na);
    TT_TRY(tt_alloc((void **)&row, (size_t)(nb + 1) * sizeof *row));
    for (int64_t j = 0; j <= nb; j++) row[j] = j * EDIT;
    for (int64_t i = 0; i < na; i++) {
        int64_t corner = row[0], left = row[0] + EDIT;
        row[0] = left;
        for (int64_t j = 0; j < nb; j++) {
            int64_t across = corner + (a[i] == b[j] ? 0 : EDIT - 1), up = row[j + 1] + EDIT;
            left = TT_MIN(across, TT_MIN(left + EDIT, up));
            corner = row[j + 1];
            row[j + 1] = left;
        }
    }
    int64_t edits = (row[nb] + EDIT - 1) / EDIT, substitutions = edits * EDIT - row[nb];
    tt_free(row);
    /* deletions - insertions is the difference of the lengths. */
    int64_t rest = edits - substitutions;
    sum->substitutions += substitutions;
    sum->deletions += (rest + n - m) / 2;
    sum->insertions += (rest - n + m) / 2;
    sum->reference += n;
    return TT_OK;
}

/* ---- texts */

/* The next character of *TEXT, which ends with NUL; a bad byte has a number that no character has. */
static int64_t next_char(const char **text, const char *end)
{
    uint32_t code;
    int n = tt_utf8_decode(*text, (size_t)(end - *text), &code);
    int64_t c = n ? (int64_t)code : -1 - (int64_t)(unsigned char)**text;
    *text += n ? n : 1;
    return c;
}

TtStatus tt_edit_distance_chars(const char *reference, const char *hypothesis, TtEdits *sum)
{
    const char *text[2] = {reference, hypothesis};
    size_t size[2] = {strlen(reference), strlen(hypothesis)};
    int64_t *symbols, n[2];
    TT_TRY(tt_alloc((void **)&symbols, (size[0] + size[1] + 1) * sizeof *symbols));
    int64_t *at = symbols;
    for (int k = 0; k < 2; k++) {
        int64_t *start = at;
        for (const char *p = text[k], *end = p + size[k]; p < end;) *at++ = next_char(&p, end);
        n[k] = at - start;
    }
    TtStatus st = tt_edit_distance(symbols, n[0], symbols + n[0], n[1], sum);
    tt_free(symbols);
    return st;
}

/* Python's str.isspace. */
static bool is_space(int64_t c)
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

typedef struct Word {
    const char *text;
    size_t size;
    int64_t place; /* among the words of both texts */
} Word;

static int64_t split(const char *text, Word *out, int64_t place)
{
    const char *end = text + strlen(text), *start = NULL, *p = text;
    int64_t n = 0;
    while (p < end) {
        const char *at = p;
        bool space = is_space(next_char(&p, end));
        if (!space && !start) start = at;
        if (start && (space || p == end)) {
            const char *stop = space ? at : end;
            out[n] = (Word){start, (size_t)(stop - start), place + n};
            n++;
            start = NULL;
        }
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    const Word *x = a, *y = b;
    int c = memcmp(x->text, y->text, TT_MIN(x->size, y->size));
    return c ? c : (x->size > y->size) - (x->size < y->size);
}

TtStatus tt_edit_distance_words(const char *reference, const char *hypothesis, TtEdits *sum)
{
    size_t most = strlen(reference) / 2 + strlen(hypothesis) / 2 + 2;
    Word *words;
    TT_TRY(tt_alloc((void **)&words, most * (sizeof *words + sizeof(int64_t))));
    int64_t *symbols = (int64_t *)(words + most);
    int64_t n = split(reference, words, 0), m = split(hypothesis, words + n, n);
    /* Equal words are neighbours in the sorted list and get one number. */
    qsort(words, (size_t)(n + m), sizeof *words, compare);
    int64_t number = 0;
    for (int64_t i = 0; i < n + m; i++) {
        if (i && compare(&words[i - 1], &words[i]) != 0) number++;
        symbols[words[i].place] = number;
    }
    TtStatus st = tt_edit_distance(symbols, n, symbols + n, m, sum);
    tt_free(words);
    return st;
}
