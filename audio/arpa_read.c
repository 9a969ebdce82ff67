/* SPDX-License-Identifier: Apache-2.0 */
/* audio/arpa_read.c - reading ARPA files. Lines come through zlib, which takes plain files as they are. Nothing is
 * allocated because a header promises it: lists grow with what is read. An n-gram of order k is found in the finished
 * levels below by its first k-1 words, which every tool writes; a level is then sorted and joined to the one below. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "audio/arpa_impl.h"
#include "tensor/arena.h"
#include "tensor/file.h"

enum { LINE_ROOM = 1 << 20, FIELDS = TT_ARPA_ORDER + 2 };

/* ---- lines */

typedef struct Lines {
    gzFile gz;
    const char *name;
    int64_t line; /* of the text below, from 1 */
    char *text;   /* without its end */
    char *buf;    /* LINE_ROOM + 1 */
    size_t at, filled;
    bool ended; /* nothing more to read into buf */
} Lines;

#define FAIL_LINE(l, ...) fail_line((l), __LINE__, __VA_ARGS__)
static TtStatus fail_line(const Lines *l, int source_line, const char *fmt, ...) TT_PRINTF(3, 4);
static TtStatus fail_line(const Lines *l, int source_line, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return tt_fail_at(TT_EDATA, __FILE__, source_line, "%s:%lld: %s", l->name, (long long)l->line, text);
}

static TtStatus fill(Lines *l)
{
    memmove(l->buf, l->buf + l->at, l->filled - l->at);
    l->filled -= l->at;
    l->at = 0;
    int n = gzread(l->gz, l->buf + l->filled, (unsigned)(LINE_ROOM - l->filled)), code;
    const char *why = gzerror(l->gz, &code);
    if (n < 0 || (code != Z_OK && code != Z_STREAM_END))
        return TT_FAIL(TT_EDATA, "%s: at byte %lld: damaged or cut: %s", l->name, (long long)gzoffset(l->gz), why);
    l->filled += (size_t)n;
    l->ended = n == 0;
    return TT_OK;
}

/* The next line into l->text; *MORE is false at the end of the file. */
static TtStatus next_line(Lines *l, bool *more)
{
    char *end;
    l->line++;
    while (!(end = memchr(l->buf + l->at, '\n', l->filled - l->at)) && !l->ended) {
        if (l->filled - l->at == LINE_ROOM) return FAIL_LINE(l, "the line is longer than %d bytes", LINE_ROOM);
        TT_TRY(fill(l));
    }
    *more = end || l->filled > l->at;
    if (!end) end = l->buf + l->filled;
    size_t size = (size_t)(end - (l->buf + l->at));
    l->text = l->buf + l->at;
    l->at = TT_MIN(l->at + size + 1, l->filled);
    if (memchr(l->text, '\0', size)) return FAIL_LINE(l, "the line has a NUL byte: not an ARPA file");
    if (size && l->text[size - 1] == '\r') size--;
    while (size && (l->text[size - 1] == ' ' || l->text[size - 1] == '\t')) size--;
    l->text[size] = '\0';
    return TT_OK;
}

/* The next line that is not empty; the end of the file is an error that says what is MISSING. */
static TtStatus next_text(Lines *l, const char *missing)
{
    bool more;
    do {
        TT_TRY(next_line(l, &more));
        if (!more) return FAIL_LINE(l, "the file ends before %s", missing);
    } while (!l->text[0]);
    return TT_OK;
}

/* ---- header */

static TtStatus read_counts(Lines *l, TtArpa *a, uint32_t counts[TT_ARPA_ORDER])
{
    do TT_TRY(next_text(l, "\\data\\: not an ARPA file"));
    while (strcmp(l->text, "\\data\\") != 0);
    for (;;) {
        int order, used = 0;
        long long count;
        TT_TRY(next_text(l, "\\1-grams:"));
        if (l->text[0] == '\\') break;
        if (sscanf(l->text, " ngram %9d = %18lld%n", &order, &count, &used) != 2 || l->text[used])
            return FAIL_LINE(l, "'%.60s' is not 'ngram ORDER=COUNT'", l->text);
        if (order != a->order + 1)
            return FAIL_LINE(l, "the count of order %d stands where that of order %d is expected", order, a->order + 1);
        if (order > TT_ARPA_ORDER) return FAIL_LINE(l, "order %d; orders up to %d are read", order, TT_ARPA_ORDER);
        if (count < 0 || count >= (long long)TT_ARPA_NONE) return FAIL_LINE(l, "%lld n-grams are too many", count);
        counts[a->order++] = (uint32_t)count;
    }
    if (a->order == 0) return FAIL_LINE(l, "no line 'ngram 1=COUNT' behind \\data\\");
    if (counts[0] == 0) return FAIL_LINE(l, "a model without words");
    return TT_OK;
}

/* ---- n-grams */

typedef struct Entry {
    uint32_t parent, word; /* the place of the n-gram without its last word in the level below, and that word */
    float prob, backoff;
    uint32_t line; /* counted from the section's heading */
} Entry;

static TtStatus parse_number(const Lines *l, const char *text, const char *what, float *out)
{
    char *end;
    *out = strtof(text, &end);
    if (end == text || *end || isnan(*out)) return FAIL_LINE(l, "'%.40s' is no %s", text, what);
    return TT_OK;
}

/* Into fields of l->text; returns how many, FIELDS + 1 when there are more. */
static int split(Lines *l, char *field[FIELDS])
{
    int n = 0;
    for (char *p = l->text;;) {
        p += strspn(p, " \t");
        if (!*p) return n;
        if (n == FIELDS) return FIELDS + 1;
        field[n++] = p;
        p += strcspn(p, " \t");
        if (*p) *p++ = '\0';
    }
}

/* The line's probability and weight, and its words from field[1] on. */
static TtStatus parse_entry(Lines *l, int order, char *field[FIELDS], Entry *e)
{
    int n = split(l, field);
    if (n != order + 1 && n != order + 2)
        return FAIL_LINE(l, "not a probability, %d word%s and perhaps a backoff weight", order, order > 1 ? "s" : "");
    TT_TRY(parse_number(l, field[0], "log10 of a probability", &e->prob));
    if (e->prob > 0) return FAIL_LINE(l, "'%.40s' is the log10 of a probability above 1", field[0]);
    e->backoff = 0;
    if (n == order + 2) TT_TRY(parse_number(l, field[order + 1], "backoff weight", &e->backoff));
    if (isinf(e->backoff)) return FAIL_LINE(l, "'%.40s' is no backoff weight", field[order + 1]);
    return TT_OK;
}

/* The place of the n-gram of the first ORDER - 1 words, and the number of the last one. */
static TtStatus find_parent(const Lines *l, const TtArpa *a, int order, char *const word[], Entry *e)
{
    uint32_t node = 0;
    for (int i = 0; i < order; i++) {
        e->word = tt_arpa_find(a, word[i]);
        if (e->word == TT_ARPA_NONE) return FAIL_LINE(l, "the word '%.60s' is not among the 1-grams", word[i]);
        if (i == order - 1) break;
        node = i == 0 ? e->word : tt_arpa_child(a, i - 1, node, e->word);
        if (node == TT_ARPA_NONE)
            return FAIL_LINE(l, "an n-gram whose first %d words are not among the %d-grams", i + 1, i + 1);
    }
    e->parent = node;
    return TT_OK;
}

static int compare(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    if (x->word != y->word) return x->word < y->word ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static TtStatus check_doubles(Lines *l, const Entry *e, uint32_t n, int64_t heading)
{
    for (uint32_t i = 1; i < n; i++) {
        if (e[i].parent != e[i - 1].parent || e[i].word != e[i - 1].word) continue;
        l->line = heading + e[i].line;
        return FAIL_LINE(l, "the same n-gram as on line %lld", (long long)(heading + e[i - 1].line));
    }
    return TT_OK;
}

/* Entries, sorted, into level ORDER - 1, and what continues the level below. */
static TtStatus store(TtArpa *a, int order, const Entry *e, uint32_t n)
{
    TtArpaLevel *l = &a->level[order - 1];
    size_t room[3] = {0};
    TT_TRY(tt_arpa_grow((void **)&l->prob, &room[0], (size_t)n + 1, sizeof *l->prob));
    TT_TRY(tt_arpa_grow((void **)&l->backoff, &room[1], (size_t)n + 1, sizeof *l->backoff));
    if (order > 1) TT_TRY(tt_arpa_grow((void **)&l->word, &room[2], (size_t)n + 1, sizeof *l->word));
    for (uint32_t i = 0; i < n; i++) {
        l->prob[i] = e[i].prob, l->backoff[i] = e[i].backoff;
        if (order > 1) l->word[i] = e[i].word;
    }
    l->n = n;
    if (order == 1) return TT_OK;
    TtArpaLevel *below = l - 1;
    TT_TRY(tt_alloc((void **)&below->begin, ((size_t)below->n + 1) * sizeof *below->begin));
    for (uint32_t i = 0, at = 0; i <= below->n; i++) {
        while (at < n && e[at].parent < i) at++;
        below->begin[i] = at;
    }
    return TT_OK;
}

static TtStatus read_entries(Lines *l, TtArpa *a, int order, uint32_t count, Entry **list)
{
    size_t room = 0;
    int64_t heading = l->line;
    uint32_t n = 0;
    char *field[FIELDS];
    for (;; n++) {
        TT_TRY(next_text(l, "\\end\\"));
        if (l->text[0] == '\\') break;
        if (n == count)
            return FAIL_LINE(l, "more %d-grams than the %u that the header promises", order, (unsigned)count);
        TT_TRY(tt_arpa_grow((void **)list, &room, (size_t)n + 1, sizeof **list));
        Entry *e = *list + n;
        *e = (Entry){.line = (uint32_t)(l->line - heading)};
        TT_TRY(parse_entry(l, order, field, e));
        if (order > 1) {
            TT_TRY(find_parent(l, a, order, field + 1, e));
            continue;
        }
        if (tt_arpa_find(a, field[1]) != TT_ARPA_NONE) return FAIL_LINE(l, "the word '%.60s' a second time", field[1]);
        TT_TRY(tt_arpa_add_word(a, field[1], n));
    }
    if (n != count)
        return FAIL_LINE(l, "%u %d-grams stand above, but the header promises %u", (unsigned)n, order, (unsigned)count);
    if (order > 1) {
        int64_t line = l->line;
        if (n) qsort(*list, n, sizeof **list, compare);
        TT_TRY(check_doubles(l, *list, n, heading));
        l->line = line;
    }
    return store(a, order, *list, n);
}

static TtStatus read_model(Lines *l, TtArpa *a)
{
    uint32_t counts[TT_ARPA_ORDER];
    char heading[32];
    bool more = true;
    TT_TRY(read_counts(l, a, counts));
    for (int order = 1; order <= a->order; order++) {
        Entry *list = NULL;
        snprintf(heading, sizeof heading, "\\%d-grams:", order);
        if (strcmp(l->text, heading) != 0)
            return FAIL_LINE(l, "'%.40s' stands where '%s' is expected", l->text, heading);
        TtStatus st = read_entries(l, a, order, counts[order - 1], &list);
        free(list);
        TT_TRY(st);
    }
    if (strcmp(l->text, "\\end\\") != 0) return FAIL_LINE(l, "'%.40s' stands where '\\end\\' is expected", l->text);
    while (more) /* to the end of a compressed file, where its checksum is */
        TT_TRY(next_line(l, &more));
    a->unknown = tt_arpa_find(a, "<unk>");
    if (a->unknown == TT_ARPA_NONE) a->unknown = tt_arpa_find(a, "<UNK>");
    a->begin = tt_arpa_find(a, "<s>");
    a->end = tt_arpa_find(a, "</s>");
    return TT_OK;
}

TtStatus tt_arpa_read_fd(int fd, const char *name, TtArpa **out)
{
    Lines l = {.gz = gzdopen(fd, "rb"), .name = name};
    *out = NULL;
    if (!l.gz) {
        close(fd);
        return TT_FAIL(TT_EINTERNAL, "out of memory: reading %s", name);
    }
    gzbuffer(l.gz, 1 << 17);
    TtArpa *a = calloc(1, sizeof *a);
    TtStatus st =
        a ? tt_alloc((void **)&l.buf, LINE_ROOM + 1) : TT_FAIL(TT_EINTERNAL, "out of memory: reading %s", name);
    if (st == TT_OK) st = read_model(&l, a);
    tt_free(l.buf);
    gzclose(l.gz);
    if (st == TT_OK)
        *out = a;
    else
        tt_arpa_free(a);
    return st;
}

TtStatus tt_arpa_read(const char *path, TtArpa **out)
{
    int fd;
    uint64_t size;
    *out = NULL;
    TT_TRY(tt_file_open(path, &fd, &size));
    return tt_arpa_read_fd(fd, path, out);
}
