/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/node.c - reading a config tree: lookups, YAML 1.2 core scalars, errors with places. */
#include "tensor/node.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find(const TtNode *map, const char *key)
{
    if (!map || map->kind != TT_NODE_MAP) return -1;
    for (int i = 0; i < map->count; i++)
        if (strcmp(map->keys[i]->text, key) == 0) return i;
    return -1;
}

TtNode *tt_node_get(const TtNode *map, const char *key)
{
    int i = find(map, key);
    return i < 0 ? NULL : map->items[i];
}

TtNode *tt_node_key(const TtNode *map, const char *key)
{
    int i = find(map, key);
    return i < 0 ? NULL : map->keys[i];
}

static bool is_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0) return true;
    return false;
}

bool tt_node_is_null(const TtNode *n)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return !n || (n->kind == TT_NODE_SCALAR && !n->quoted && is_any(n->text, words));
}

/* Texts from outside are cited in messages: one line, and nothing that moves a terminal's cursor. */
static char *on_one_line(char *text)
{
    for (char *p = text; *p; p++)
        if (((unsigned char)*p < 32 && *p != '\t') || *p == 127) *p = ' ';
    return text;
}

TtStatus tt_node_fail(const TtNode *n, const char *fmt, ...)
{
    char text[1000], argument[1000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    on_one_line(text);
    if (n && n->mark.argument) {
        snprintf(argument, sizeof argument, "%s", n->mark.argument);
        return TT_FAIL(TT_ECONFIG, "argument '%s': %s", on_one_line(argument), text);
    }
    if (n && n->mark.file) return TT_FAIL(TT_ECONFIG, "%s:%d:%d: %s", n->mark.file, n->mark.line, n->mark.col, text);
    return TT_FAIL(TT_ECONFIG, "%s", text);
}

/* What a node is, for "expected an integer, got ...". */
static const char *describe(const TtNode *n, char buf[96])
{
    if (n->kind != TT_NODE_SCALAR)
        snprintf(buf, 96, "%s", n->kind == TT_NODE_LIST ? "a list" : "a map");
    else if (tt_node_is_null(n))
        snprintf(buf, 96, "null");
    else
        snprintf(buf, 96, strlen(n->text) > 60 ? "%s'%.60s...'" : "%s'%.60s'", n->quoted ? "the string " : "", n->text);
    return buf;
}

TtStatus tt_node_bool(const TtNode *n, const char *key, bool *out)
{
    static const char *const yes[] = {"true", "True", "TRUE", NULL}, *const no[] = {"false", "False", "FALSE", NULL};
    char buf[96];
    bool plain = n->kind == TT_NODE_SCALAR && !n->quoted;
    if (plain && is_any(n->text, yes))
        *out = true;
    else if (plain && is_any(n->text, no))
        *out = false;
    else
        return tt_node_fail(n, "%s must be a boolean, true or false, not %s", key, describe(n, buf));
    return TT_OK;
}

static bool all_digits(const char *s, const char *digits)
{
    return *s && strspn(s, digits) == strlen(s);
}

/* [-+]?[0-9]+, 0o[0-7]+, 0x[0-9a-fA-F]+ (YAML 1.2 core); *range is set when it is one that does not fit. */
static bool parse_int(const char *s, int64_t *out, bool *range)
{
    const char *digits = s + (*s == '-' || *s == '+');
    int base = 10;
    if (s[0] == '0' && s[1] == 'o' && all_digits(s + 2, "01234567"))
        base = 8, digits = s + 2;
    else if (s[0] == '0' && s[1] == 'x' && all_digits(s + 2, "0123456789abcdefABCDEF"))
        base = 16, digits = s + 2;
    else if (!all_digits(digits, "0123456789"))
        return false;
    errno = 0;
    *out = strtoll(base == 10 ? s : digits, NULL, base);
    *range = errno == ERANGE;
    return true;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?, .inf, .nan (YAML 1.2 core). */
static bool parse_float(const char *s, double *out)
{
    static const char *const inf[] = {".inf", ".Inf", ".INF", NULL}, *const nan_[] = {".nan", ".NaN", ".NAN", NULL};
    const char *p = s + (*s == '-' || *s == '+');
    if (is_any(p, inf) || (p == s && is_any(s, nan_))) {
        *out = *p == '.' && (p[1] == 'n' || p[1] == 'N') ? NAN : *s == '-' ? -INFINITY : INFINITY;
        return true;
    }
    size_t whole = strspn(p, "0123456789"), part = 0;
    p += whole;
    if (*p == '.') part = strspn(++p, "0123456789"), p += part;
    if (whole + part == 0) return false;
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '-' || p[1] == '+');
        if (!strspn(p, "0123456789")) return false;
        p += strspn(p, "0123456789");
    }
    if (*p) return false;
    *out = strtod(s, NULL);
    return true;
}

TtStatus tt_node_int(const TtNode *n, const char *key, int64_t *out)
{
    char buf[96];
    bool range = false;
    if (n->kind != TT_NODE_SCALAR || n->quoted || !parse_int(n->text, out, &range))
        return tt_node_fail(n, "%s must be an integer, not %s", key, describe(n, buf));
    if (range) return tt_node_fail(n, "%s: the integer %.60s does not fit 64 bits", key, n->text);
    return TT_OK;
}

TtStatus tt_node_float(const TtNode *n, const char *key, double *out)
{
    char buf[96];
    bool range;
    int64_t whole;
    if (n->kind == TT_NODE_SCALAR && !n->quoted) {
        if (parse_float(n->text, out)) return TT_OK;
        if (parse_int(n->text, &whole, &range) && !range) {
            *out = (double)whole;
            return TT_OK;
        }
    }
    return tt_node_fail(n, "%s must be a number, not %s", key, describe(n, buf));
}

TtStatus tt_node_string(const TtNode *n, const char *key, const char **out)
{
    char buf[96];
    if (n->kind != TT_NODE_SCALAR || tt_node_is_null(n))
        return tt_node_fail(n, "%s must be a string, not %s", key, describe(n, buf));
    *out = n->text;
    return TT_OK;
}

static int min3(int a, int b, int c)
{
    return TT_MIN(TT_MIN(a, b), c);
}

/* Optimal string alignment distance: edits and swaps of neighbours, as typing errors are. A difference in case alone
 * costs nothing, since names are case-sensitive but fingers are not. */
static int distance(const char *a, const char *b)
{
    enum { MAX = 64 };
    int n = (int)strlen(a), m = (int)strlen(b), d[3][MAX + 1];
    if (n > MAX || m > MAX) return INT_MAX;
    for (int j = 0; j <= m; j++) d[1][j] = j, d[0][j] = 0;
    for (int i = 1; i <= n; i++) {
        int *before = d[(i - 1) % 3], *last = d[i % 3], *row = d[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int same = (a[i - 1] | 32) == (b[j - 1] | 32);
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + !same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = TT_MIN(row[j], before[j - 2] + 1);
        }
    }
    return d[(n + 1) % 3][m];
}

/* One word within the other: batch_size for global_batch_size, max_epochs for epochs. */
static bool contains(const char *a, const char *b)
{
    enum { LEAST = 4 };
    return (strlen(b) >= LEAST && strstr(a, b)) || (strlen(a) >= LEAST && strstr(b, a));
}

const char *tt_nearest(const char *word, const char *const *candidates, int n)
{
    const char *best = NULL;
    int least = TT_MAX((int)strlen(word) / 3, 1) + 1;
    for (int i = 0; i < n; i++) {
        int d = distance(word, candidates[i]);
        if (d < least) least = d, best = candidates[i];
    }
    for (int i = 0; i < n && !best; i++)
        if (contains(word, candidates[i])) best = candidates[i];
    return best;
}
