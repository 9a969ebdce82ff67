/* SPDX-License-Identifier: Apache-2.0 */
/* data/paths.c - brace and wildcard expansion. */
#include "data/paths.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PATHS = 1000000, MOST_DIGITS = 9 };

typedef struct List {
    const char **v;
    int n, room;
} List;

static TtStatus add(List *l, const char *text)
{
    if (l->n == MOST_PATHS) return TT_FAIL(TT_ECONFIG, "a path pattern gives more than %d paths", MOST_PATHS);
    if (l->n == l->room) l->v = tt_realloc(l->v, (size_t)(l->room = TT_MAX(16, 2 * l->room)) * sizeof *l->v);
    l->v[l->n++] = text;
    return TT_OK;
}

/* The closing brace that belongs to the opening one at OPEN, or NULL. */
static const char *closing(const char *open)
{
    int depth = 0;
    for (const char *p = open; *p; p++) {
        depth += (*p == '{') - (*p == '}');
        if (depth == 0) return p;
    }
    return NULL;
}

/* "000..012" between OPEN and CLOSE: its ends and the number of digits to keep. */
static bool parse_range(const char *open, const char *close, long *from, long *to, int *width)
{
    size_t a = strspn(open + 1, "0123456789");
    const char *dots = open + 1 + a;
    if (a == 0 || a > MOST_DIGITS || strncmp(dots, "..", 2) != 0) return false;
    size_t b = strspn(dots + 2, "0123456789");
    if (b == 0 || b > MOST_DIGITS || dots + 2 + b != close) return false;
    *from = strtol(open + 1, NULL, 10);
    *to = strtol(dots + 2, NULL, 10);
    /* As in a shell: either end written with zeros in front sets the width. */
    bool padded = (a > 1 && open[1] == '0') || (b > 1 && dots[2] == '0');
    *width = padded ? (int)TT_MAX(a, b) : 0;
    return true;
}

/* Put each alternative of the pair at OPEN into the text around it. */
static TtStatus expand_pair(const char *text, const char *open, const char *close, TtArena *arena, List *out)
{
    long from, to;
    int width, before = (int)(open - text), depth = 0;
    if (parse_range(open, close, &from, &to, &width)) {
        for (long v = from, step = to >= from ? 1 : -1; v != to + step; v += step)
            TT_TRY(add(out, tt_arena_printf(arena, "%.*s%0*ld%s", before, text, width, v, close + 1)));
        return TT_OK;
    }
    const char *start = open + 1;
    for (const char *p = start; p <= close; p++) {
        depth += (*p == '{') - (*p == '}' && p < close);
        if (p != close && !(*p == ',' && depth == 0)) continue;
        TT_TRY(add(out, tt_arena_printf(arena, "%.*s%.*s%s", before, text, (int)(p - start), start, close + 1)));
        start = p + 1;
    }
    return TT_OK;
}

/* The first pair that stands for alternatives, at or behind FROM. */
static const char *find_pair(const char *from, const char **close)
{
    long a, b;
    int w;
    for (const char *open = from; (open = strchr(open, '{')); open++) {
        *close = closing(open);
        if (!*close) continue;
        if (parse_range(open, *close, &a, &b, &w)) return open;
        int depth = 0;
        for (const char *p = open + 1; p < *close; p++) {
            depth += (*p == '{') - (*p == '}');
            if (*p == ',' && depth == 0) return open;
        }
    }
    return NULL;
}

TtStatus tt_paths_braces(const char *pattern, TtArena *arena, TtStrings *out)
{
    List now = {0}, next = {0};
    TtStatus st = add(&now, pattern);
    for (bool again = true; again && st == TT_OK;) {
        again = false;
        next.n = 0;
        for (int i = 0; i < now.n && st == TT_OK; i++) {
            const char *close, *open = find_pair(now.v[i], &close);
            again |= open != NULL;
            st = open ? expand_pair(now.v[i], open, close, arena, &next) : add(&next, now.v[i]);
        }
        List swap = now;
        now = next, next = swap;
    }
    if (st == TT_OK) *out = (TtStrings){.n = now.n, .v = tt_arena_copy(arena, now.v, (size_t)now.n * sizeof *now.v)};
    free(now.v);
    free(next.v);
    return st;
}

static TtStatus expand_wildcards(const char *pattern, TtArena *arena, List *out)
{
    /* A file may really be named so. */
    if (!strpbrk(pattern, "*?[") || access(pattern, F_OK) == 0) return add(out, pattern);
    glob_t g;
    int rc = glob(pattern, 0, NULL, &g);
    TtStatus st = TT_OK;
    if (rc == GLOB_NOMATCH) return TT_FAIL(TT_EDATA, "%s: no file matches", pattern);
    if (rc != 0) return TT_FAIL(TT_EDATA, "%s: the pattern cannot be expanded", pattern);
    for (size_t i = 0; i < g.gl_pathc && st == TT_OK; i++) st = add(out, tt_arena_strdup(arena, g.gl_pathv[i]));
    globfree(&g);
    return st;
}

TtStatus tt_paths_expand(const TtStrings *patterns, TtArena *arena, TtStrings *out)
{
    List list = {0};
    TtStatus st = TT_OK;
    for (int i = 0; i < patterns->n && st == TT_OK; i++) {
        TtStrings some;
        st = tt_paths_braces(patterns->v[i], arena, &some);
        for (int j = 0; st == TT_OK && j < some.n; j++) st = expand_wildcards(some.v[j], arena, &list);
    }
    if (st == TT_OK)
        *out = (TtStrings){.n = list.n, .v = tt_arena_copy(arena, list.v, (size_t)list.n * sizeof *list.v)};
    free(list.v);
    return st;
}
