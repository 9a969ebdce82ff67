/* SPDX-License-Identifier: Apache-2.0 */
/* audio/vocabulary.c - texts to classes and back. The table of capital letters is our own because towlower depends on
 * the locale, and a run must not. */
#include "audio/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/utf8.h"

typedef struct TtVocabularyEntry Entry;

/* ---- lower case */

typedef struct Run {
    uint32_t first, last;
    int step, add;
} Run;

static const Run runs[] = {
#include "audio/lower.inc"
};

uint32_t tt_lower(uint32_t code)
{
    int lo = 0, hi = TT_COUNT(runs); /* the first run that does not end before CODE */
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (runs[mid].last < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == TT_COUNT(runs) || code < runs[lo].first || (code - runs[lo].first) % (uint32_t)runs[lo].step) return code;
    return (uint32_t)((int64_t)code + runs[lo].add);
}

static bool is_cased(uint32_t code)
{
    if (tt_lower(code) != code) return true;
    for (int i = 0; i < TT_COUNT(runs); i++) {
        int64_t upper = (int64_t)code - runs[i].add;
        if (upper >= runs[i].first && upper <= runs[i].last && (upper - runs[i].first) % runs[i].step == 0) return true;
    }
    return code == 0xDF || code == 0x390 || code == 0x3B0; /* small letters without one capital */
}

/* What a word may have between its letters: apostrophes, dots, the soft hyphen, accents of their own. */
static bool is_ignored(uint32_t code)
{
    return code == '\'' || code == '.' || code == ':' || code == 0xAD || code == 0xB7 || code == 0x2019 ||
           (code >= 0x300 && code < 0x370);
}

enum { SIGMA = 0x3A3, SMALL_SIGMA = 0x3C3, FINAL_SIGMA = 0x3C2, I_WITH_DOT = 0x130, DOT_ABOVE = 0x307 };

/* Of the sigma CODES[I]: behind a letter, and no letter behind it. */
static bool ends_word(const int64_t *codes, int64_t n, int64_t i)
{
    int64_t before = i - 1, behind = i + 1;
    while (before >= 0 && is_ignored((uint32_t)codes[before])) before--;
    while (behind < n && is_ignored((uint32_t)codes[behind])) behind++;
    return before >= 0 && is_cased((uint32_t)codes[before]) && !(behind < n && is_cased((uint32_t)codes[behind]));
}

/* ---- the vocabulary */

static int compare(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

enum { NAMED = 32 };
/* "'a' (U+0061)" */
static const char *named(uint32_t code, char buf[NAMED])
{
    char text[5] = "";
    bool shown = code >= 0x20 && !(code >= 0x7F && code < 0xA0) && !(code >= 0x2028 && code <= 0x202E);
    if (shown) text[tt_utf8_encode(code, text)] = '\0';
    snprintf(buf, NAMED, shown ? "'%s' (U+%04X)" : "%sU+%04X", text, (unsigned)code);
    return buf;
}

TtStatus tt_vocabulary_new(const TtNode *where, const char *labels, int64_t blank, TtArena *arena, TtVocabulary *out)
{
    size_t size = strlen(labels);
    char name[NAMED];
    if (size > INT32_MAX) return tt_node_fail(where, "labels: %zu bytes are too many", size);
    TtVocabulary v = {.codes = TT_NEWN(arena, uint32_t, size), .blank = blank};
    for (const char *p = labels, *end = labels + size; p < end;) {
        int n = tt_utf8_decode(p, (size_t)(end - p), &v.codes[v.classes]);
        if (n == 0)
            return tt_node_fail(where, "labels: the byte 0x%02x behind %lld characters is not UTF-8", (unsigned char)*p,
                                (long long)v.classes);
        p += n;
        v.classes++;
    }
    if (v.classes == 0) return tt_node_fail(where, "labels: no characters; give one for each class of the model");
    if (blank < 0 || blank >= v.classes)
        return tt_node_fail(where, "labels: %lld characters, so the blank cannot be class %lld", (long long)v.classes,
                            (long long)blank);
    v.sorted = TT_NEWN(arena, Entry, v.classes);
    for (int64_t i = 0; i < v.classes; i++) {
        v.sorted[i] = (Entry){v.codes[i], (int32_t)i};
        if (i != blank && tt_lower(v.codes[i]) != v.codes[i])
            return tt_node_fail(where, "labels: %s is a capital letter, but texts are lower-cased; write the small one",
                                named(v.codes[i], name));
    }
    qsort(v.sorted, (size_t)v.classes, sizeof *v.sorted, compare);
    for (int64_t i = 1; i < v.classes; i++)
        if (v.sorted[i].code == v.sorted[i - 1].code)
            return tt_node_fail(where, "labels: %s stands there twice, as class %d and class %d",
                                named(v.sorted[i].code, name), v.sorted[i - 1].index, v.sorted[i].index);
    *out = v;
    return TT_OK;
}

int64_t tt_vocabulary_class(const TtVocabulary *v, uint32_t code)
{
    int64_t lo = 0, hi = v->classes;
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if (v->sorted[mid].code < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < v->classes && v->sorted[lo].code == code && v->sorted[lo].index != v->blank ? v->sorted[lo].index : -1;
}

TtStatus tt_vocabulary_encode(const TtVocabulary *v, const char *text, const char *where, int64_t *out, int64_t *n)
{
    const char *end = text + strlen(text);
    char name[NAMED];
    int64_t count = 0;
    *n = 0;
    for (const char *p = text; p < end;) {
        uint32_t code;
        int bytes = tt_utf8_decode(p, (size_t)(end - p), &code);
        if (bytes == 0)
            return TT_FAIL(TT_EDATA, "%s: the byte 0x%02x at position %lld of the text is not UTF-8", where,
                           (unsigned char)*p, (long long)(p - text) + 1);
        p += bytes;
        /* I with a dot has two bytes and room for two. */
        if (code == I_WITH_DOT) out[count++] = 'i', code = DOT_ABOVE;
        out[count++] = code;
    }
    for (int64_t i = 0; i < count; i++) {
        /* What stands before is lower-cased already, so look at letters, not at their case. */
        if (out[i] == SIGMA)
            out[i] = ends_word(out, count, i) ? FINAL_SIGMA : SMALL_SIGMA;
        else
            out[i] = tt_lower((uint32_t)out[i]);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t c = tt_vocabulary_class(v, (uint32_t)out[i]);
        if (c < 0)
            return TT_FAIL(TT_EDATA, "%s: the text's character %s is %s", where, named((uint32_t)out[i], name),
                           v->codes[v->blank] == out[i] ? "the blank's, which stands for no character"
                                                        : "not in labels; add it there or clean the text");
        out[i] = c;
    }
    *n = count;
    return TT_OK;
}

char *tt_vocabulary_decode(const TtVocabulary *v, const int64_t *classes, int64_t n, TtArena *arena)
{
    char *text = tt_arena_alloc(arena, (size_t)n * 4 + 1), *p = text;
    for (int64_t i = 0; i < n; i++) {
        TT_ASSERT(classes[i] >= 0 && classes[i] < v->classes);
        if (classes[i] != v->blank) p += tt_utf8_encode(v->codes[classes[i]], p);
    }
    *p = '\0';
    return text;
}
