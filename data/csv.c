/* SPDX-License-Identifier: Apache-2.0 */
/* data/csv.c - a reader of delimited text that leaves the fields where they are. */
#include "data/csv.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/arena.h"
#include "tensor/fs.h"

#define LARGEST_TEXT ((size_t)4 << 30)
enum { MOST_FIELDS = 4096 };

TtStatus tt_csv_open_text(TtCsv *c, char *text, size_t size, const char *name, char delimiter)
{
    *c = (TtCsv){.name = name, .delimiter = delimiter, .text = text, .at = text, .end = text + size, .line = 1};
    if (size >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
        return TT_FAIL(TT_EDATA, "%s: the text is UTF-16; save it as UTF-8", name);
    const char *nul = memchr(text, '\0', size);
    if (nul)
        return TT_FAIL(TT_EDATA, "%s: at byte %zu: a NUL byte; this is not a text file", name, (size_t)(nul - text));
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) c->at += 3;
    return TT_OK;
}

TtStatus tt_csv_open(TtCsv *c, const char *path, char delimiter)
{
    char *text;
    size_t size;
    *c = (TtCsv){0};
    TT_TRY(tt_fs_read(path, LARGEST_TEXT, TT_EDATA, &text, &size));
    return tt_csv_open_text(c, text, size, path, delimiter);
}

static TtStatus add_field(TtCsv *c, char *field)
{
    if (c->n == MOST_FIELDS)
        return TT_FAIL(TT_EDATA, "%s:%lld: more than %d fields in a row", c->name, (long long)c->row, MOST_FIELDS);
    if (c->n == c->capacity) {
        c->capacity = TT_MAX(16, 2 * c->capacity);
        c->fields = tt_realloc(c->fields, (size_t)c->capacity * sizeof *c->fields);
    }
    c->fields[c->n++] = field;
    return TT_OK;
}

/* Step over a line end at `at`, which is there. */
static void skip_line_end(TtCsv *c)
{
    if (*c->at == '\r' && c->at + 1 < c->end && c->at[1] == '\n') c->at++;
    c->at++;
    c->line++;
}

/* A quoted field: unescape it towards its front. `at` is on the opening quote, and after it behind the closing one. */
static TtStatus quoted_field(TtCsv *c, char **stop)
{
    int64_t line = c->line;
    char *to = c->at++;
    for (; c->at < c->end; c->at++) {
        if (*c->at == '"') {
            if (c->at + 1 == c->end || c->at[1] != '"') {
                c->at++;
                *stop = to;
                return TT_OK;
            }
            c->at++;
        } else if (*c->at == '\n') {
            c->line++;
        }
        *to++ = *c->at;
    }
    return TT_FAIL(TT_EDATA, "%s:%lld: the quote that opens here is never closed", c->name, (long long)line);
}

/* One field; *last tells that it ended the record. */
static TtStatus next_field(TtCsv *c, bool *last)
{
    char *start = c->at, *stop = start;
    if (c->at < c->end && *c->at == '"') {
        TT_TRY(quoted_field(c, &stop));
        if (c->at < c->end && *c->at != c->delimiter && *c->at != '\n' && *c->at != '\r')
            return TT_FAIL(TT_EDATA, "%s:%lld: text follows a closing quote; a quote inside a field is written twice",
                           c->name, (long long)c->line);
    } else {
        while (c->at < c->end && *c->at != c->delimiter && *c->at != '\n' && *c->at != '\r') c->at++;
        stop = c->at;
    }
    *last = c->at == c->end || *c->at != c->delimiter;
    if (c->at < c->end) {
        if (*last)
            skip_line_end(c);
        else
            c->at++;
    }
    *stop = '\0'; /* where the delimiter was, or before it; text ends with a NUL of its own */
    return add_field(c, start);
}

TtStatus tt_csv_next(TtCsv *c, bool *more)
{
    c->n = 0;
    while (c->at < c->end && (*c->at == '\n' || *c->at == '\r')) skip_line_end(c);
    *more = c->at < c->end;
    c->row = c->line;
    for (bool last = !*more; !last;) TT_TRY(next_field(c, &last));
    return TT_OK;
}

void tt_csv_close(TtCsv *c)
{
    free(c->text);
    free(c->fields);
    *c = (TtCsv){0};
}
