/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/options.c - parse, check, print and document by option table. */
#include "tensor/options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int tt_options_count(const TtOption *table)
{
    int n = 0;
    while (table[n].key) n++;
    return n;
}

static TtNode *part_of(const TtNode *map, const TtOption *table, bool inside, TtArena *arena)
{
    if (!map || map->kind != TT_NODE_MAP) return (TtNode *)(uintptr_t)map;
    TtNode *part = tt_arena_copy(arena, map, sizeof *map);
    part->items = TT_NEWN(arena, TtNode *, map->count + 1);
    part->keys = TT_NEWN(arena, TtNode *, map->count + 1);
    part->count = 0;
    for (int i = 0; i < map->count; i++) {
        bool known = false;
        for (const TtOption *o = table; o->key && !known; o++) known = strcmp(map->keys[i]->text, o->key) == 0;
        if (known != inside) continue;
        part->keys[part->count] = map->keys[i];
        part->items[part->count++] = map->items[i];
    }
    return part;
}

TtNode *tt_node_without(const TtNode *map, const TtOption *table, TtArena *arena)
{
    return part_of(map, table, false, arena);
}

TtNode *tt_node_only(const TtNode *map, const TtOption *table, TtArena *arena)
{
    return part_of(map, table, true, arena);
}

const char *tt_float_text(double v, char buf[TT_FLOAT_TEXT])
{
    if (isnan(v)) return strcpy(buf, ".nan");
    if (isinf(v)) return strcpy(buf, v < 0 ? "-.inf" : ".inf");
    char e[TT_FLOAT_TEXT];
    int digits = 0;
    do snprintf(e, sizeof e, "%.*e", digits, v);
    while (strtod(e, NULL) != v && ++digits < 17);
    int exponent = atoi(strchr(e, 'e') + 1);
    if (exponent >= -4 && exponent < 16) { /* as Python's repr: an exponent only outside this range */
        snprintf(buf, TT_FLOAT_TEXT, "%.*f", TT_MAX(digits - exponent, 0), v);
        if (!strchr(buf, '.')) strcat(buf, ".0");
    } else {
        strcpy(buf, e);
    }
    return buf;
}

/* ---- parsing */

static TtStatus check_number(const TtOption *o, const TtNode *n, double v)
{
    char a[TT_FLOAT_TEXT], b[TT_FLOAT_TEXT];
    if (!isfinite(v)) return tt_node_fail(n, "%s must be a finite number, not %s", o->key, n ? n->text : "this");
    if (!(o->flags & TT_OPT_RANGED)) return TT_OK;
    bool low = o->flags & TT_OPT_ABOVE_MIN ? v <= o->min : v < o->min;
    bool high = o->flags & TT_OPT_BELOW_MAX ? v >= o->max : v > o->max;
    if (!low && !high) return TT_OK;
    snprintf(a, sizeof a, "%.15g", low ? o->min : o->max);
    snprintf(b, sizeof b, "%.15g", v);
    return tt_node_fail(n, "%s must be %s %s, not %s", o->key,
                        low ? (o->flags & TT_OPT_ABOVE_MIN ? "greater than" : "at least")
                            : (o->flags & TT_OPT_BELOW_MAX ? "less than" : "at most"),
                        a, b);
}

static TtStatus parse_enum(const TtOption *o, const TtNode *n, int *out)
{
    const char *text, *names[64];
    char copy[1024];
    if ((o->flags & TT_OPT_NULL) && tt_node_is_null(n))
        text = "null";
    else
        TT_TRY(tt_node_string(n, o->key, &text));
    snprintf(copy, sizeof copy, "%s", o->choices);
    int count = 0;
    for (char *save = NULL, *p = strtok_r(copy, "|", &save); p && count < 64; p = strtok_r(NULL, "|", &save)) {
        if (strcmp(p, text) == 0) {
            *out = count;
            return TT_OK;
        }
        names[count++] = p;
    }
    const char *near = tt_nearest(text, names, count);
    char list[1100] = "";
    for (int i = 0; i < count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 i == 0           ? ""
                 : i == count - 1 ? " or "
                                  : ", ",
                 names[i]);
    return tt_node_fail(n, "%s must be %s, not '%.60s'%s%s%s", o->key, list, text, near ? "; did you mean '" : "",
                        near ? near : "", near ? "'?" : "");
}

/* A list, or one scalar as a list of one. */
static TtStatus list_of(const TtOption *o, const TtNode *n, int *count, TtNode *const **items, TtNode *one[1])
{
    if (n->kind == TT_NODE_MAP) return tt_node_fail(n, "%s must be a list, not a map", o->key);
    one[0] = (TtNode *)(uintptr_t)n;
    *count = n->kind == TT_NODE_LIST ? n->count : 1;
    *items = n->kind == TT_NODE_LIST ? n->items : one;
    if (o->min_n && *count < o->min_n)
        return tt_node_fail(n, "%s needs at least %d value%s, not %d", o->key, o->min_n, o->min_n > 1 ? "s" : "",
                            *count);
    if (o->max_n && *count > o->max_n)
        return tt_node_fail(n, "%s takes at most %d values, not %d", o->key, o->max_n, *count);
    return TT_OK;
}

static TtStatus parse_list(const TtOption *o, const TtNode *n, TtArena *arena, void *field)
{
    int count = 0;
    TtNode *const *items = NULL;
    TtNode *one[1];
    if (!(tt_node_is_null(n) && (o->flags & TT_OPT_NULL))) TT_TRY(list_of(o, n, &count, &items, one));
    TtInts ints = {.n = count};
    TtFloats floats = {.n = count};
    TtStrings strings = {.n = count};
    if (o->type == TT_OPT_INTS && count > TT_COUNT(ints.v))
        return tt_node_fail(n, "%s takes at most %d values, not %d", o->key, TT_COUNT(ints.v), count);
    if (o->type == TT_OPT_FLOATS && count) floats.v = TT_NEWN(arena, double, count);
    if (o->type == TT_OPT_STRINGS && count) strings.v = TT_NEWN(arena, const char *, count);
    for (int i = 0; i < count; i++) {
        if (o->type == TT_OPT_INTS) {
            TT_TRY(tt_node_int(items[i], o->key, &ints.v[i]));
            TT_TRY(check_number(o, items[i], (double)ints.v[i]));
        } else if (o->type == TT_OPT_FLOATS) {
            TT_TRY(tt_node_float(items[i], o->key, &floats.v[i]));
            TT_TRY(check_number(o, items[i], floats.v[i]));
        } else {
            TT_TRY(tt_node_string(items[i], o->key, &strings.v[i]));
            strings.v[i] = tt_arena_strdup(arena, strings.v[i]);
        }
    }
    if (o->type == TT_OPT_INTS) *(TtInts *)field = ints;
    if (o->type == TT_OPT_FLOATS) *(TtFloats *)field = floats;
    if (o->type == TT_OPT_STRINGS) *(TtStrings *)field = strings;
    return TT_OK;
}

static TtStatus parse_scalar(const TtOption *o, const TtNode *n, TtArena *arena, void *field)
{
    bool null = tt_node_is_null(n) && (o->flags & TT_OPT_NULL);
    switch (o->type) {
    case TT_OPT_BOOL: return tt_node_bool(n, o->key, field);
    case TT_OPT_INT: {
        int64_t v = TT_NULL_INT;
        bool word = (o->flags & TT_OPT_AUTO) && n->kind == TT_NODE_SCALAR && strcmp(n->text, "auto") == 0;
        if (word) v = TT_AUTO_INT;
        if (!null && !word) {
            TT_TRY(tt_node_int(n, o->key, &v));
            TT_TRY(check_number(o, n, (double)v));
        }
        *(int64_t *)field = v;
        return TT_OK;
    }
    case TT_OPT_FLOAT: {
        double v = NAN;
        if (!null) {
            TT_TRY(tt_node_float(n, o->key, &v));
            TT_TRY(check_number(o, n, v));
        }
        *(double *)field = v;
        return TT_OK;
    }
    case TT_OPT_STRING: {
        const char *text = NULL;
        if (!null) TT_TRY(tt_node_string(n, o->key, &text));
        *(const char **)field = text ? tt_arena_strdup(arena, text) : NULL;
        return TT_OK;
    }
    default: TT_ASSERT(o->type == TT_OPT_ENUM); return parse_enum(o, n, field);
    }
}

/* A default's YAML text as a node: a scalar, a flow list of scalars, or {} for an absent map. */
static TtNode *default_node(const TtOption *o, TtArena *arena)
{
    TtNode *n = TT_NEW(arena, TtNode);
    n->text = o->def;
    if (o->def[0] != '[') return n;
    n->kind = TT_NODE_LIST;
    char *copy = tt_arena_strdup(arena, o->def + 1);
    n->items = TT_NEWN(arena, TtNode *, strlen(copy) / 2 + 1);
    for (char *save = NULL, *p = strtok_r(copy, ", ]", &save); p; p = strtok_r(NULL, ", ]", &save)) {
        n->items[n->count] = TT_NEW(arena, TtNode);
        n->items[n->count++]->text = p;
    }
    return n;
}

static TtStatus parse_one(const TtOption *o, const TtNode *n, const TtNode *key, TtArena *arena, char *out)
{
    void *field = out + o->offset;
    switch (o->type) {
    case TT_OPT_NODE: *(const TtNode **)field = n; return TT_OK;
    case TT_OPT_MAP: return tt_options_parse(o->sub, n, NULL, key, arena, field);
    case TT_OPT_INTS:
    case TT_OPT_FLOATS:
    case TT_OPT_STRINGS: return parse_list(o, n, arena, field);
    default: return parse_scalar(o, n, arena, field);
    }
}

static TtStatus refuse_unknown(const TtOption *table, const TtNode *map, const char *skip)
{
    for (int i = 0; i < map->count; i++) {
        const char *key = map->keys[i]->text, *names[128];
        int n = 0;
        bool known = skip && strcmp(key, skip) == 0;
        for (const TtOption *o = table; o->key && !known && n < 127; o++) {
            known = strcmp(key, o->key) == 0;
            names[n++] = o->key;
        }
        if (known) continue;
        if (skip) names[n++] = skip;
        const char *near = tt_nearest(key, names, n);
        if (near) return tt_node_fail(map->keys[i], "unknown key '%.80s'; did you mean '%s'?", key, near);
        char list[700] = "";
        for (int k = 0; k < n && strlen(list) < sizeof list - 40; k++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", k ? ", " : "", names[k]);
        return tt_node_fail(map->keys[i], "unknown key '%.80s'; known here: %s", key, n ? list : "none");
    }
    return TT_OK;
}

TtStatus tt_options_parse(const TtOption *table, const TtNode *map, const char *skip, const TtNode *parent_key,
                          TtArena *arena, void *out)
{
    if (map && map->kind != TT_NODE_MAP && !tt_node_is_null(map)) {
        const char *what = parent_key ? parent_key->text : "this";
        return tt_node_fail(map, "%s must be a map of keys to values, not a %s", what,
                            map->kind == TT_NODE_LIST ? "list" : "single value");
    }
    if (map && map->kind != TT_NODE_MAP) map = NULL; /* `key:` with nothing behind it: all defaults */
    if (map) TT_TRY(refuse_unknown(table, map, skip));
    for (const TtOption *o = table; o->key; o++) {
        const TtNode *n = tt_node_get(map, o->key);
        if (!n && o->type == TT_OPT_NODE) {
            *(const TtNode **)(void *)((char *)out + o->offset) = NULL;
            continue;
        }
        if (!n && o->type != TT_OPT_MAP) {
            if (!o->def && parent_key)
                return tt_node_fail(parent_key, "%s: the key '%s' is missing", parent_key->text, o->key);
            if (!o->def) return tt_node_fail(map && map->count ? map->keys[0] : map, "the key '%s' is missing", o->key);
            n = default_node(o, arena);
        }
        TT_TRY(parse_one(o, n, map ? tt_node_key(map, o->key) : NULL, arena, out));
    }
    return TT_OK;
}

/* ---- printing */

/* Whether plain text is something else than a string by the core schema. */
static bool is_typed(const char *s)
{
    TtNode n = {.text = s};
    bool b;
    double v;
    int64_t i;
    bool typed = tt_node_is_null(&n) || tt_node_bool(&n, "", &b) == TT_OK || tt_node_float(&n, "", &v) == TT_OK ||
                 tt_node_int(&n, "", &i) == TT_OK;
    tt_error_clear();
    return typed;
}

/* Characters that YAML wants escaped: C0, DEL, C1, line and paragraph separator, byte-order mark. Returns the length
 * in bytes of the one at S and its code point, or 0 for any other character. */
static int escaped_char(const char *s, unsigned *code)
{
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] < 32 || u[0] == 127) return *code = u[0], 1;
    if (u[0] == 0xC2 && u[1] >= 0x80 && u[1] < 0xA0) return *code = u[1], 2;
    if (u[0] == 0xE2 && u[1] == 0x80 && (u[2] == 0xA8 || u[2] == 0xA9)) return *code = 0x2000U + (u[2] & 63), 3;
    if (u[0] == 0xEF && u[1] == 0xBB && u[2] == 0xBF) return *code = 0xFEFF, 3;
    return 0;
}

/* Whether a string must be quoted to stay a string, for readers of YAML 1.1 as well (yes, no, 1_000, 12:30:45). */
static bool needs_quotes(const char *s)
{
    static const char *const words[] = {"yes", "no", "on", "off", "y", "n"};
    unsigned code;
    if (!*s || strpbrk(s, ":#{}[],&*!|>'\"%@`\\") || strchr(" -?=<.", *s) || s[strlen(s) - 1] == ' ') return true;
    for (const char *p = s; *p; p++)
        if (escaped_char(p, &code)) return true;
    for (int i = 0; i < TT_COUNT(words); i++)
        if (strcasecmp(s, words[i]) == 0) return true;
    return strspn(s, "+0123456789_.") == strlen(s) || is_typed(s);
}

/* In a config's value ${...} is a reference and $$ a dollar sign: with DOLLARS, a text that holds them as such is
 * written with $$. Keys have no references. */
static void print_char(FILE *f, const char *s, bool dollars)
{
    if (dollars && s[0] == '$' && (s[1] == '$' || s[1] == '{')) fputc('$', f);
    fputc(*s, f);
}

static void print_escaped(FILE *f, const char *s, bool dollars)
{
    bool quotes = needs_quotes(s);
    if (quotes) fputc('"', f);
    while (*s) {
        unsigned code;
        int n = escaped_char(s, &code);
        if (n == 0) {
            if (quotes && (*s == '"' || *s == '\\')) fputc('\\', f);
            print_char(f, s, dollars);
        } else if (code == '\n' || code == '\t') {
            fputs(code == '\n' ? "\\n" : "\\t", f);
        } else {
            fprintf(f, "\\u%04x", code);
        }
        s += n ? n : 1;
    }
    if (quotes) fputc('"', f);
}

static void print_text(FILE *f, const char *s)
{
    print_escaped(f, s, true);
}

void tt_node_print_key(FILE *f, const TtNode *key)
{
    print_escaped(f, key->text, false);
    fputc(':', f);
}

void tt_node_print_flow(FILE *f, const TtNode *n)
{
    if (!n) {
        fputs("null", f);
    } else if (n->kind == TT_NODE_SCALAR) {
        if (n->quoted || !is_typed(n->text))
            print_text(f, n->text);
        else
            fputs(*n->text ? n->text : "null", f);
    } else {
        bool map = n->kind == TT_NODE_MAP;
        fputc(map ? '{' : '[', f);
        for (int i = 0; i < n->count; i++) {
            if (i) fputs(", ", f);
            if (map) {
                tt_node_print_key(f, n->keys[i]);
                fputc(' ', f);
            }
            tt_node_print_flow(f, n->items[i]);
        }
        fputc(map ? '}' : ']', f);
    }
}

static void print_enum(FILE *f, const char *choices, int which)
{
    for (; which > 0 && choices; which--) choices = strchr(choices, '|') ? strchr(choices, '|') + 1 : NULL;
    if (choices) fprintf(f, "%.*s", (int)strcspn(choices, "|"), choices);
}

/* 1e-05 becomes 1.0e-05, which readers of YAML 1.1 take for a number too. */
static void print_float(FILE *f, double v)
{
    char buf[TT_FLOAT_TEXT];
    tt_float_text(v, buf);
    char *e = strchr(buf, 'e');
    if (isnan(v))
        fputs("null", f);
    else if (e && !strchr(buf, '.'))
        fprintf(f, "%.*s.0%s", (int)(e - buf), buf, e);
    else
        fputs(buf, f);
}

static void print_list(FILE *f, const TtOption *o, const void *field)
{
    const TtInts *ints = field;
    const TtFloats *floats = field;
    const TtStrings *strings = field;
    int n = o->type == TT_OPT_INTS ? ints->n : o->type == TT_OPT_FLOATS ? floats->n : strings->n;
    if (n == 0 && (o->flags & TT_OPT_NULL)) {
        fputs("null", f);
        return;
    }
    fputc('[', f);
    for (int i = 0; i < n; i++) {
        if (i) fputs(", ", f);
        if (o->type == TT_OPT_INTS)
            fprintf(f, "%" PRId64, ints->v[i]);
        else if (o->type == TT_OPT_FLOATS)
            print_float(f, floats->v[i]);
        else
            print_text(f, strings->v[i]);
    }
    fputc(']', f);
}

static void print_value(FILE *f, const TtOption *o, const void *field)
{
    switch (o->type) {
    case TT_OPT_BOOL: fputs(*(const bool *)field ? "true" : "false", f); break;
    case TT_OPT_INT: {
        int64_t v = *(const int64_t *)field;
        if (v == TT_NULL_INT || v == TT_AUTO_INT)
            fputs(v == TT_NULL_INT ? "null" : "auto", f);
        else
            fprintf(f, "%" PRId64, v);
        break;
    }
    case TT_OPT_FLOAT: print_float(f, *(const double *)field); break;
    case TT_OPT_STRING: {
        const char *s = *(const char *const *)field;
        if (s)
            print_text(f, s);
        else
            fputs("null", f);
        break;
    }
    case TT_OPT_ENUM: print_enum(f, o->choices, *(const int *)field); break;
    case TT_OPT_INTS:
    case TT_OPT_FLOATS:
    case TT_OPT_STRINGS: print_list(f, o, field); break;
    case TT_OPT_NODE: tt_node_print_flow(f, *(const TtNode *const *)field); break;
    case TT_OPT_MAP: break;
    }
}

void tt_options_print(FILE *f, const TtOption *table, const void *values, int indent, bool help)
{
    for (const TtOption *o = table; o->key; o++) {
        const char *field = (const char *)values + o->offset;
        if (o->flags & TT_OPT_HIDDEN) continue;
        fprintf(f, "%*s%s:", indent, "", o->key);
        if (o->type == TT_OPT_MAP) {
            if (help && o->help) fprintf(f, "  # %s", o->help);
            fputc('\n', f);
            tt_options_print(f, o->sub, field, indent + 2, help);
            continue;
        }
        fputc(' ', f);
        print_value(f, o, field);
        if (help && o->help) fprintf(f, "  # %s", o->help);
        if (help && o->def) fprintf(f, " (default %s)", o->def);
        fputc('\n', f);
    }
}

static void markdown_range(FILE *f, const TtOption *o)
{
    if (o->choices) {
        for (const char *p = o->choices; *p; p++) {
            if (*p == '|')
                fputs(", ", f);
            else
                fputc(*p, f);
        }
    } else if (o->flags & TT_OPT_RANGED) {
        if (o->max >= 1e15) /* a bound on nonsense, not one to know */
            fprintf(f, "%s %.15g", o->flags & TT_OPT_ABOVE_MIN ? "above" : "at least", o->min);
        else
            fprintf(f, "%s%.15g to %.15g%s", o->flags & TT_OPT_ABOVE_MIN ? "above " : "", o->min, o->max,
                    o->flags & TT_OPT_BELOW_MAX ? ", excluded" : "");
    }
}

void tt_options_markdown(FILE *f, const TtOption *table, const char *prefix)
{
    static const char *const types[] = {
        [TT_OPT_BOOL] = "boolean",   [TT_OPT_INT] = "integer",     [TT_OPT_FLOAT] = "number",
        [TT_OPT_STRING] = "string",  [TT_OPT_ENUM] = "choice",     [TT_OPT_INTS] = "integers",
        [TT_OPT_FLOATS] = "numbers", [TT_OPT_STRINGS] = "strings", [TT_OPT_NODE] = "section",
        [TT_OPT_MAP] = "map",
    };
    for (const TtOption *o = table; o->key; o++) {
        char deeper[256];
        if (o->flags & TT_OPT_HIDDEN) continue;
        if (o->type == TT_OPT_MAP) {
            snprintf(deeper, sizeof deeper, "%s%s.", prefix, o->key);
            tt_options_markdown(f, o->sub, deeper);
            continue;
        }
        fprintf(f, "| `%s%s` | %s%s%s | %s%s%s | ", prefix, o->key, types[o->type],
                o->flags & TT_OPT_NULL ? " or null" : "", o->flags & TT_OPT_AUTO ? " or auto" : "", o->def ? "`" : "",
                o->def                   ? o->def
                : o->type == TT_OPT_NODE ? ""
                                         : "required",
                o->def ? "`" : "");
        markdown_range(f, o);
        fprintf(f, " | %s |\n", o->help ? o->help : "");
    }
}
