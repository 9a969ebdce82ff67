/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/tree.c - overrides and references in a config tree. */
#include "pipeline/tree.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/yaml.h"

/* ---- paths */

/* The first step of a path into BUF; returns what follows the dot, or NULL after the last step. A step that is too
 * long for BUF is cut: no key is that long and still known. */
static const char *next_step(const char *path, char *buf, size_t size)
{
    size_t n = strcspn(path, "."), fit = TT_MIN(n, size - 1);
    memcpy(buf, path, fit);
    buf[fit] = '\0';
    return path[n] ? path + n + 1 : NULL;
}

/* Index of a step in a list, or -1. */
static int list_index(const TtNode *list, const char *step)
{
    if (!*step || strlen(step) > 9 || strspn(step, "0123456789") != strlen(step)) return -1;
    int i = atoi(step);
    return i < list->count ? i : -1;
}

static int map_index(const TtNode *map, const char *key)
{
    for (int i = 0; i < map->count; i++)
        if (strcmp(map->keys[i]->text, key) == 0) return i;
    return -1;
}

TtNode *tt_tree_find(const TtNode *root, const char *path, TtNode **key)
{
    const TtNode *n = root;
    TtNode *item = NULL, *last_key = NULL;
    char step[256];
    while (path) {
        path = next_step(path, step, sizeof step);
        int i = n->kind == TT_NODE_LIST ? list_index(n, step) : n->kind == TT_NODE_MAP ? map_index(n, step) : -1;
        if (i < 0) return NULL;
        last_key = n->keys ? n->keys[i] : NULL;
        n = item = n->items[i];
    }
    if (key) *key = last_key;
    return item;
}

/* ---- overrides */

static TtNode *new_scalar(TtArena *arena, const char *text, TtMark mark)
{
    TtNode *n = TT_NEW(arena, TtNode);
    n->text = tt_arena_strdup(arena, text);
    n->mark = mark;
    return n;
}

/* Make a map of a scalar that an override goes through: null, or a list's bare name (`- RandomHorizontalFlip`). */
static TtStatus open_scalar(TtNode *n, TtNode *key, const TtNode *parent, const char *step, TtMark mark, TtArena *arena)
{
    bool bare = parent && parent->kind == TT_NODE_LIST && strcmp(n->text, step) == 0;
    if (!tt_node_is_null(n) && !bare)
        return tt_node_fail(&(TtNode){.mark = mark}, "'%.80s' cannot be set inside the single value '%.80s'", step,
                            n->text);
    TtNode *inner = bare ? new_scalar(arena, n->text, n->mark) : NULL;
    TtMark place = bare ? n->mark : mark;
    if (!bare && key) key->mark = mark;
    *n = (TtNode){.kind = TT_NODE_MAP, .mark = place};
    if (bare) tt_node_append(n, arena, inner, new_scalar(arena, "", mark));
    return TT_OK;
}

/* Where the step leads: the place of the item in its collection, and its key. */
static TtStatus enter(TtNode *n, const char *step, TtMark mark, TtArena *arena, TtNode ***slot, TtNode **key)
{
    *key = NULL;
    if (n->kind == TT_NODE_LIST) {
        int i = list_index(n, step);
        if (i < 0)
            return tt_node_fail(&(TtNode){.mark = mark},
                                "'%.80s' is no index of a list of %d element%s; indices count from 0", step, n->count,
                                n->count == 1 ? "" : "s");
        *slot = &n->items[i];
        return TT_OK;
    }
    int i = map_index(n, step);
    if (i < 0) {
        tt_node_append(n, arena, new_scalar(arena, step, mark), new_scalar(arena, "", mark));
        i = n->count - 1;
    }
    *slot = &n->items[i];
    *key = n->keys[i];
    return TT_OK;
}

TtStatus tt_tree_override(TtNode *root, const char *argument, TtArena *arena)
{
    TtMark mark = {.argument = tt_arena_strdup(arena, argument)};
    TtNode here = {.mark = mark}, *value, *n = root, *parent = NULL, *key = NULL;
    const char *equals = strchr(argument, '=');
    if (!equals) return tt_node_fail(&here, "expected key=value, such as optimizer.lr=0.1");
    const char *path = tt_arena_strndup(arena, argument, (size_t)(equals - argument));
    if (!tt_yaml_is_text(path)) return tt_node_fail(&here, "the key before '=' is not UTF-8 text");
    size_t steps = 1;
    for (const char *p = path; *p; p++) steps += *p == '.';
    if (steps > TT_YAML_DEPTH) return tt_node_fail(&here, "the key has more than %d levels", TT_YAML_DEPTH);
    TT_TRY(tt_yaml_parse(equals + 1, strlen(equals + 1), mark, arena, &value));
    while (path) {
        char step[256];
        TtNode **slot = NULL;
        path = next_step(path, step, sizeof step);
        if (!*step) return tt_node_fail(&here, "the key before '=' has an empty part");
        if (n->kind == TT_NODE_SCALAR) TT_TRY(open_scalar(n, key, parent, step, mark, arena));
        TT_TRY(enter(n, step, mark, arena, &slot, &key));
        parent = n;
        n = *slot;
        if (!path) *slot = value;
    }
    if (key) key->mark = mark;
    return TT_OK;
}

/* ---- references */

typedef struct Context {
    const TtTreeDefault *defaults;
    TtNode *root;
    TtArena *arena;
    int64_t nodes;
    int references;
    const TtNode *open[TT_YAML_DEPTH]; /* values being replaced: meeting one again is a circle */
    int open_count;
} Context;

static TtStatus resolve(Context *c, TtNode *n, int depth);

static int64_t count_nodes(const TtNode *n)
{
    int64_t total = 1;
    if (n->kind != TT_NODE_SCALAR)
        for (int i = 0; i < n->count; i++) total += count_nodes(n->items[i]);
    return total;
}

/* Full paths of all keys, for suggestions. */
static int collect_paths(const TtNode *n, const char *prefix, TtArena *arena, const char **out, int count, int max)
{
    for (int i = 0; n->kind == TT_NODE_MAP && i < n->count && count < max; i++) {
        const char *path = tt_arena_printf(arena, "%s%.200s", prefix, n->keys[i]->text);
        out[count++] = path;
        if (n->items[i]->kind == TT_NODE_MAP && strlen(path) < 200)
            count = collect_paths(n->items[i], tt_arena_printf(arena, "%s.", path), arena, out, count, max);
    }
    return count;
}

static TtStatus unknown_key(Context *c, const TtNode *n, const char *path)
{
    enum { MAX = 1000 };
    const char **names = TT_NEWN(c->arena, const char *, MAX);
    int count = 0;
    for (const TtTreeDefault *d = c->defaults; d->path && count < MAX; d++) names[count++] = d->path;
    count = collect_paths(c->root, "", c->arena, names, count, MAX);
    const char *near = tt_nearest(path, names, count);
    if (near) return tt_node_fail(n, "${%.80s} refers to no key; did you mean ${%s}?", path, near);
    return tt_node_fail(n, "${%.80s} refers to no key of the configuration", path);
}

extern char **environ;

static TtStatus from_environment(Context *c, const TtNode *n, const char *name, TtNode *out)
{
    char *fallback = strchr(name, ',');
    if (fallback) *fallback++ = '\0';
    const char *text = getenv(name);
    if (!text) text = fallback;
    *out = (TtNode){.text = text ? tt_arena_strdup(c->arena, text) : NULL, .mark = n->mark};
    if (text && !tt_yaml_is_text(text))
        return tt_node_fail(n, "the environment variable '%.80s' is not UTF-8 text", name);
    if (text) return TT_OK;
    const char *names[1000], *near;
    int count = 0;
    for (char **e = environ; *e && count < TT_COUNT(names); e++)
        names[count++] = tt_arena_strndup(c->arena, *e, strcspn(*e, "="));
    near = tt_nearest(name, names, count);
    return tt_node_fail(n, "the environment variable '%.80s' is not set%s%s%s; ${env:NAME,default} gives a default",
                        name, near ? " (there is " : "", near ? near : "", near ? ")" : "");
}

/* What ${NAME} stands for: a node of the tree, complete, or *TEMPORARY. */
static TtStatus look_up(Context *c, const TtNode *n, char *name, TtNode *temporary, TtNode **out)
{
    *out = temporary;
    if (++c->references > TT_TREE_REFERENCES)
        return tt_node_fail(n, "more than %d references ${...}", TT_TREE_REFERENCES);
    if (strncmp(name, "env:", 4) == 0) return from_environment(c, n, name + 4, temporary);
    TtNode *target = tt_tree_find(c->root, name, NULL);
    if (target) {
        *out = target;
        int depth = 1;
        for (const char *p = name; *p; p++) depth += *p == '.';
        return resolve(c, target, depth);
    }
    for (const TtTreeDefault *d = c->defaults; d->path; d++) {
        if (strcmp(d->path, name) != 0) continue;
        if (!d->text) return tt_node_fail(n, "${%.80s} is not given in this configuration", name);
        *temporary = (TtNode){.text = d->text, .mark = n->mark};
        return TT_OK;
    }
    return unknown_key(c, n, name);
}

/* Find the next ${NAME} at or after *AT, copying what lies before it to *TEXT with $$ as $. NAME is NULL at the end. */
static TtStatus next_reference(Context *c, const TtNode *n, const char **at, char *text, size_t *length, char **name)
{
    const char *p = *at;
    *name = NULL;
    while (*p && !(p[0] == '$' && p[1] == '{')) {
        if (p[0] == '$' && p[1] == '$') p++;
        text[(*length)++] = *p++;
    }
    *at = p;
    if (!*p) return TT_OK;
    const char *end = strchr(p, '}');
    if (!end) return tt_node_fail(n, "'${' without a '}' behind it; write $${ for the text ${");
    *name = tt_arena_strndup(c->arena, p + 2, (size_t)(end - p - 2));
    *at = end + 1;
    return TT_OK;
}

/* The value is one reference: take over what it leads to. */
static TtStatus take_over(Context *c, TtNode *n, char *name, int depth)
{
    TtNode temporary, *target, *copy;
    TT_TRY(look_up(c, n, name, &temporary, &target));
    TT_TRY(tt_node_copy(target, c->arena, n, depth, &c->nodes, &copy));
    copy->mark = n->mark;
    *n = *copy;
    return TT_OK;
}

/* Replace the references within a text. */
static TtStatus fill_in(Context *c, TtNode *n)
{
    size_t length = 0, capacity = strlen(n->text) + 1;
    char *text = tt_arena_alloc(c->arena, capacity), *name;
    const char *at = n->text;
    for (;;) {
        TtNode temporary, *target;
        TT_TRY(next_reference(c, n, &at, text, &length, &name));
        if (!name) break;
        TT_TRY(look_up(c, n, name, &temporary, &target));
        if (target->kind != TT_NODE_SCALAR)
            return tt_node_fail(n, "${%.80s} is a %s and cannot be part of a text", name,
                                target->kind == TT_NODE_LIST ? "list" : "map");
        size_t more = strlen(target->text);
        if (length + more + strlen(at) > TT_YAML_SCALAR)
            return tt_node_fail(n, "the text is longer than %d bytes after its references are replaced",
                                TT_YAML_SCALAR);
        if (length + more + strlen(at) + 1 > capacity) {
            capacity = 2 * (length + more + strlen(at) + 1);
            char *larger = tt_arena_alloc(c->arena, capacity);
            memcpy(larger, text, length);
            text = larger;
        }
        memcpy(text + length, target->text, more);
        length += more;
    }
    text[length] = '\0';
    n->text = text;
    return TT_OK;
}

static TtStatus resolve_scalar(Context *c, TtNode *n, int depth)
{
    for (int i = 0; i < c->open_count; i++)
        if (c->open[i] == n) return tt_node_fail(n, "the reference in '%.80s' leads back to itself", n->text);
    if (c->open_count == TT_YAML_DEPTH)
        return tt_node_fail(n, "more than %d references lead from one to the next", TT_YAML_DEPTH);
    c->open[c->open_count++] = n;
    const char *s = n->text, *end = strchr(s, '}');
    if (strncmp(s, "${", 2) == 0 && end && !end[1])
        TT_TRY(take_over(c, n, tt_arena_strndup(c->arena, s + 2, strlen(s) - 3), depth));
    else
        TT_TRY(fill_in(c, n));
    n->pending = false;
    c->open_count--;
    return TT_OK;
}

static TtStatus resolve(Context *c, TtNode *n, int depth)
{
    if (n->kind == TT_NODE_SCALAR) return n->pending ? resolve_scalar(c, n, depth) : TT_OK;
    for (int i = 0; i < n->count; i++) TT_TRY(resolve(c, n->items[i], depth + 1));
    return TT_OK;
}

TtStatus tt_tree_interpolate(TtNode *root, const TtTreeDefault *defaults, TtArena *arena)
{
    Context c = {.defaults = defaults, .root = root, .arena = arena, .nodes = count_nodes(root)};
    return resolve(&c, root, 0);
}
