/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/yaml.c - libyaml's events to a tree.
 *
 * libyaml tokenises; everything that has to do with trees is here, because its own document loader has neither
 * bounds nor errors for duplicate keys. Places are computed from libyaml's character index and not from its lines:
 * it still counts YAML 1.1's line separators, and editors do not. */
#include "pipeline/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "tensor/rng.h"

typedef struct Frame {
    TtNode *node;
    TtNode *key;   /* map: the key whose value comes next */
    TtNode *merge; /* map: what stands behind << */
    int anchor;    /* index of its anchor, or -1 */
} Frame;

typedef struct Anchor {
    const char *name;
    TtNode *node;
    bool open; /* its end has not come yet: an alias here would hold itself */
} Anchor;

typedef struct Parser {
    yaml_parser_t yaml;
    TtMark origin;
    TtArena *arena;
    const char *text;
    size_t size;
    int64_t *lines; /* character index at which each line starts */
    int line_count, line_capacity;
    int64_t nodes;
    Frame stack[TT_YAML_DEPTH];
    int depth;
    Anchor anchors[TT_YAML_ANCHORS];
    int anchor_count;
    int *slots; /* key set of the map that is being closed */
    size_t slots_capacity;
    TtNode *root;
} Parser;

/* ---- places */

static TtMark mark_at(const Parser *p, int64_t index)
{
    TtMark m = p->origin;
    int low = 0, high = p->line_count - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (p->lines[middle] <= index)
            low = middle;
        else
            high = middle - 1;
    }
    m.line = low + 1;
    m.col = (int)(index - p->lines[low]) + 1;
    return m;
}

static void start_line(Parser *p, int64_t index)
{
    if (p->line_count == p->line_capacity) {
        p->line_capacity = p->line_capacity ? p->line_capacity * 2 : 256;
        p->lines = tt_realloc(p->lines, sizeof *p->lines * (size_t)p->line_capacity);
    }
    p->lines[p->line_count++] = index;
}

#define FAIL_AT(p, index, ...) tt_node_fail(&(TtNode){.mark = mark_at((p), (int64_t)(index))}, __VA_ARGS__)

/* Length of the UTF-8 sequence at S with LEFT bytes behind it, 0 when it is none (overlong forms, surrogates and
 * values beyond U+10FFFF included). */
static int utf8_length(const unsigned char *s, size_t left, unsigned *code)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    if (n == 0 || (size_t)n > left) return 0;
    *code = n == 1 ? s[0] : s[0] & (0x7FU >> n);
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        *code = *code << 6 | (s[i] & 0x3FU);
    }
    bool surrogate = *code >= 0xD800 && *code < 0xE000;
    return *code < least[n] || *code > 0x10FFFF || surrogate ? 0 : n;
}

/* YAML's printable characters. */
static bool printable(unsigned c)
{
    if (c == '\t' || c == '\n' || c == '\r' || c == 0x85) return true;
    return c >= 32 && c != 127 && !(c >= 0x80 && c < 0xA0) && c != 0xFFFE && c != 0xFFFF;
}

bool tt_yaml_is_text(const char *s)
{
    size_t left = strlen(s);
    for (unsigned c; left;) {
        int n = utf8_length((const unsigned char *)s, left, &c);
        if (n == 0 || !printable(c)) return false;
        s += n;
        left -= (size_t)n;
    }
    return true;
}

/* Check every character and note where lines start: after LF, CR LF, or CR alone. */
static TtStatus scan_text(Parser *p)
{
    const unsigned char *s = (const unsigned char *)p->text;
    int64_t index = 0;
    start_line(p, 0);
    for (size_t i = 0; i < p->size; index++) {
        unsigned c = 0;
        int n = utf8_length(s + i, p->size - i, &c);
        if (n == 0) return FAIL_AT(p, index, "the byte 0x%02x is not UTF-8; save the file in the encoding UTF-8", s[i]);
        if (!printable(c))
            return FAIL_AT(p, index, "the control character U+%04X is not allowed; write it as an escape in \"...\"",
                           c);
        i += (size_t)n;
        if (c == '\n' || (c == '\r' && !(i < p->size && s[i] == '\n'))) start_line(p, index + 1);
    }
    return TT_OK;
}

/* Byte offset of a character index. */
static size_t offset_of(const Parser *p, int64_t index)
{
    size_t i = 0;
    for (; i < p->size && index > 0; index--) do
            i++;
        while (i < p->size && ((unsigned char)p->text[i] & 0xC0) == 0x80);
    return i;
}

/* ---- syntax errors */

/* Character index of a tab that indents the line of INDEX, or -1. */
static int64_t indenting_tab(const Parser *p, int64_t index)
{
    int64_t start = p->lines[mark_at(p, index).line - 1];
    size_t i = offset_of(p, start);
    for (; i < p->size && p->text[i] == ' '; i++) start++;
    return i < p->size && p->text[i] == '\t' ? start : -1;
}

static TtStatus syntax_error(const Parser *p)
{
    const yaml_parser_t *y = &p->yaml;
    if (y->error == YAML_MEMORY_ERROR) return TT_FAIL(TT_EINTERNAL, "out of memory while reading the configuration");
    const char *problem = y->problem ? y->problem : "not valid YAML";
    int64_t at = (int64_t)y->problem_mark.index;
    int64_t tab = y->flow_level ? -1 : indenting_tab(p, at);
    size_t here = offset_of(p, at);
    if (here < p->size && p->text[here] == '\t') tab = at;
    if (tab >= 0 && tab <= at) return FAIL_AT(p, tab, "a tab cannot indent; use spaces");
    /* What was opened and never closed is found where it begins. */
    if (y->context && strstr(problem, "unexpected end of stream")) at = (int64_t)y->context_mark.index;
    const char *hint = "";
    if (here > 0 && here < p->size && p->text[here - 1] == '$' && p->text[here] == '{')
        hint = "; inside [] and {} put quotes around a value with ${...}";
    else if (strstr(problem, "mapping values are not allowed"))
        hint = "; a text with ': ' in it needs quotes";
    return FAIL_AT(p, at, "%s%s%s%s%s", problem, y->context ? " (" : "", y->context ? y->context : "",
                   y->context ? ")" : "", hint);
}

/* ---- nodes */

static TtStatus too_many(const TtNode *at)
{
    return tt_node_fail(at, "more than %d nodes, counting what aliases and references repeat", TT_YAML_NODES);
}

static TtStatus new_node(Parser *p, TtNodeKind kind, yaml_mark_t start, TtNode **out)
{
    TtNode *n = TT_NEW(p->arena, TtNode);
    n->kind = kind;
    n->mark = mark_at(p, (int64_t)start.index);
    *out = n;
    return ++p->nodes > TT_YAML_NODES ? too_many(n) : TT_OK;
}

void tt_node_append(TtNode *n, TtArena *arena, TtNode *key, TtNode *item)
{
    /* Capacities are powers of two from 4, so that no field is needed for them. */
    if (n->count == 0 || (n->count >= 4 && (n->count & (n->count - 1)) == 0)) {
        size_t old = sizeof(TtNode *) * (size_t)n->count, capacity = (size_t)TT_MAX(4, n->count * 2);
        TtNode **items = TT_NEWN(arena, TtNode *, capacity);
        if (old) memcpy(items, n->items, old);
        n->items = items;
        if (key) {
            TtNode **keys = TT_NEWN(arena, TtNode *, capacity);
            if (old) memcpy(keys, n->keys, old);
            n->keys = keys;
        }
    }
    if (key) n->keys[n->count] = key;
    n->items[n->count++] = item;
}

TtStatus tt_node_copy(const TtNode *n, TtArena *arena, const TtNode *at, int depth, int64_t *nodes, TtNode **out)
{
    TtNode *copy = tt_arena_copy(arena, n, sizeof *n);
    *out = copy;
    if (++*nodes > TT_YAML_NODES) return too_many(at);
    if (n->kind == TT_NODE_SCALAR) return TT_OK;
    if (depth >= TT_YAML_DEPTH) return tt_node_fail(at, "nested more than %d levels deep", TT_YAML_DEPTH);
    copy->count = 0;
    copy->items = copy->keys = NULL;
    for (int i = 0; i < n->count; i++) {
        TtNode *key = NULL, *item;
        if (n->keys) key = tt_arena_copy(arena, n->keys[i], sizeof *key);
        TT_TRY(tt_node_copy(n->items[i], arena, at, depth + 1, nodes, &item));
        tt_node_append(copy, arena, key, item);
    }
    return TT_OK;
}

/* Where in the key set a key is or would be. */
static int *key_slot(Parser *p, size_t size, TtNode *const *keys, const char *key)
{
    for (uint64_t i = tt_hash_name(key);; i++) {
        int *slot = &p->slots[i & (size - 1)];
        if (*slot < 0 || strcmp(keys[*slot]->text, key) == 0) return slot;
    }
}

static void merge_map(Parser *p, size_t size, TtNode *into, const TtNode *from)
{
    for (int i = 0; i < from->count; i++) {
        int *slot = key_slot(p, size, into->keys, from->keys[i]->text);
        if (*slot >= 0) continue; /* the map's own key, or that of an earlier merge, wins */
        *slot = into->count;
        tt_node_append(into, p->arena, from->keys[i], from->items[i]);
    }
}

/* A map is complete: refuse repeated keys, then take in what << names. */
static TtStatus finish_map(Parser *p, Frame *f)
{
    TtNode *n = f->node, *merge = f->merge;
    size_t total = (size_t)n->count, size = 8;
    bool list = merge && merge->kind == TT_NODE_LIST;
    int parts = !merge ? 0 : list ? merge->count : 1;
    for (int i = 0; i < parts; i++) {
        const TtNode *part = list ? merge->items[i] : merge;
        if (part->kind != TT_NODE_MAP) return tt_node_fail(part, "<< takes a map or a list of maps");
        total += (size_t)part->count;
    }
    while (size < total * 2) size *= 2;
    if (size > p->slots_capacity) p->slots = tt_realloc(p->slots, sizeof *p->slots * (p->slots_capacity = size));
    memset(p->slots, 0xFF, sizeof *p->slots * size);
    for (int i = 0; i < n->count; i++) {
        int *slot = key_slot(p, size, n->keys, n->keys[i]->text);
        if (*slot >= 0)
            return tt_node_fail(n->keys[i], "the key '%.80s' is given twice; it is already at line %d",
                                n->keys[i]->text, n->keys[*slot]->mark.line);
        *slot = i;
    }
    for (int i = 0; i < parts; i++) merge_map(p, size, n, list ? merge->items[i] : merge);
    return TT_OK;
}

/* A finished value goes into the collection that is open, or becomes the root. */
static TtStatus place(Parser *p, TtNode *n)
{
    if (p->depth == 0) {
        p->root = n;
        return TT_OK;
    }
    Frame *f = &p->stack[p->depth - 1];
    if (f->node->kind == TT_NODE_LIST) {
        tt_node_append(f->node, p->arena, NULL, n);
    } else if (!f->key) {
        if (n->kind != TT_NODE_SCALAR) return tt_node_fail(n, "a key must be a word, not a list or a map");
        f->key = n;
    } else if (!f->key->quoted && strcmp(f->key->text, "<<") == 0) {
        if (f->merge) return tt_node_fail(f->key, "the key '<<' is given twice; give it a list of maps");
        f->merge = n;
        f->key = NULL;
    } else {
        tt_node_append(f->node, p->arena, f->key, n);
        f->key = NULL;
    }
    return TT_OK;
}

static TtStatus add_anchor(Parser *p, const yaml_char_t *name, TtNode *n, bool open, int *index)
{
    *index = -1;
    if (!name) return TT_OK;
    if (p->anchor_count == TT_YAML_ANCHORS) return tt_node_fail(n, "more than %d anchors", TT_YAML_ANCHORS);
    *index = p->anchor_count++;
    p->anchors[*index] = (Anchor){tt_arena_strdup(p->arena, (const char *)name), n, open};
    return TT_OK;
}

/* ---- events */

/* Tags of the core schema say what a value is; any other asks for a type that a configuration does not have. */
static TtStatus check_tag(const TtNode *n, const yaml_char_t *tag, const char *const *known)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    const char *t = (const char *)tag;
    if (!t || strcmp(t, "!") == 0) return TT_OK;
    if (strncmp(t, prefix, sizeof prefix - 1) == 0)
        for (; *known; known++)
            if (strcmp(t + sizeof prefix - 1, *known) == 0) return TT_OK;
    return tt_node_fail(n, "the tag '%.80s' means nothing here; remove it", t);
}

static TtStatus on_scalar(Parser *p, const yaml_event_t *e)
{
    static const char *const known[] = {"str", "int", "float", "bool", "null", NULL};
    TtNode *n;
    int anchor;
    const char *text = (const char *)e->data.scalar.value, *tag = (const char *)e->data.scalar.tag;
    size_t length = e->data.scalar.length;
    TT_TRY(new_node(p, TT_NODE_SCALAR, e->start_mark, &n));
    TT_TRY(check_tag(n, e->data.scalar.tag, known));
    if (length > TT_YAML_SCALAR)
        return tt_node_fail(n, "a text of %zu bytes; at most %d are allowed", length, TT_YAML_SCALAR);
    if (memchr(text, 0, length)) return tt_node_fail(n, "a text cannot hold the character \\0");
    n->text = tt_arena_strndup(p->arena, text, length);
    n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (tag) n->quoted = strcmp(tag, "!") == 0 || strcmp(tag, YAML_STR_TAG) == 0;
    n->pending = strchr(n->text, '$') != NULL;
    TT_TRY(add_anchor(p, e->data.scalar.anchor, n, false, &anchor));
    return place(p, n);
}

static TtStatus on_alias(Parser *p, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    TtNode here = {.mark = mark_at(p, (int64_t)e->start_mark.index)}, *copy;
    int i = p->anchor_count - 1;
    while (i >= 0 && strcmp(p->anchors[i].name, name) != 0) i--;
    if (i < 0) return tt_node_fail(&here, "the alias '*%.80s' has no anchor '&%.80s' before it", name, name);
    if (p->anchors[i].open) return tt_node_fail(&here, "the alias '*%.80s' stands inside its own anchor", name);
    TT_TRY(tt_node_copy(p->anchors[i].node, p->arena, &here, p->depth, &p->nodes, &copy));
    return place(p, copy);
}

static TtStatus on_start(Parser *p, const yaml_event_t *e)
{
    static const char *const seq[] = {"seq", NULL}, *const map[] = {"map", NULL};
    bool list = e->type == YAML_SEQUENCE_START_EVENT;
    const yaml_char_t *tag = list ? e->data.sequence_start.tag : e->data.mapping_start.tag;
    const yaml_char_t *anchor = list ? e->data.sequence_start.anchor : e->data.mapping_start.anchor;
    TtNode *n;
    TT_TRY(new_node(p, list ? TT_NODE_LIST : TT_NODE_MAP, e->start_mark, &n));
    TT_TRY(check_tag(n, tag, list ? seq : map));
    if (p->depth == TT_YAML_DEPTH) return tt_node_fail(n, "nested more than %d levels deep", TT_YAML_DEPTH);
    Frame *f = &p->stack[p->depth++];
    *f = (Frame){.node = n};
    return add_anchor(p, anchor, n, true, &f->anchor);
}

static TtStatus on_end(Parser *p)
{
    Frame *f = &p->stack[p->depth - 1];
    TtNode *n = f->node;
    if (n->kind == TT_NODE_MAP) TT_TRY(finish_map(p, f));
    if (f->anchor >= 0) p->anchors[f->anchor].open = false;
    p->depth--;
    return place(p, n);
}

static TtStatus on_event(Parser *p, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (p->root)
            return FAIL_AT(p, e->start_mark.index, "a second document begins here; a configuration is one document");
        return TT_OK;
    case YAML_SCALAR_EVENT: return on_scalar(p, e);
    case YAML_ALIAS_EVENT: return on_alias(p, e);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT: return on_start(p, e);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return on_end(p);
    default: return TT_OK;
    }
}

static TtStatus parse_events(Parser *p)
{
    for (bool done = false; !done;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&p->yaml, &e)) return syntax_error(p);
        done = e.type == YAML_STREAM_END_EVENT;
        TtStatus status = on_event(p, &e);
        yaml_event_delete(&e);
        TT_TRY(status);
    }
    return TT_OK;
}

static TtStatus parse_document(Parser *p)
{
    yaml_parser_set_encoding(&p->yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p->yaml, (const unsigned char *)p->text, p->size);
    TT_TRY(scan_text(p));
    TT_TRY(parse_events(p));
    if (p->root) return TT_OK;
    if (!p->origin.argument) return FAIL_AT(p, 0, "the configuration is empty");
    p->root = TT_NEW(p->arena, TtNode);
    *p->root = (TtNode){.mark = mark_at(p, 0), .text = ""};
    return TT_OK;
}

TtStatus tt_yaml_parse(const char *text, size_t size, TtMark origin, TtArena *arena, TtNode **out)
{
    bool bom = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
    Parser *p = tt_realloc(NULL, sizeof *p);
    memset(p, 0, sizeof *p);
    p->origin = origin;
    p->arena = arena;
    p->text = bom ? text + 3 : text;
    p->size = bom ? size - 3 : size;
    TtStatus status;
    if (yaml_parser_initialize(&p->yaml))
        status = parse_document(p);
    else
        status = TT_FAIL(TT_EINTERNAL, "out of memory while reading the configuration");
    *out = status == TT_OK ? p->root : NULL;
    yaml_parser_delete(&p->yaml);
    free(p->lines);
    free(p->slots);
    free(p);
    return status;
}

TtStatus tt_yaml_read_file(const char *path, TtArena *arena, const char **bytes, size_t *size)
{
    TtStatus status = TT_OK;
    char *buffer = NULL;
    size_t n = 0, capacity = 64 << 10;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return TT_FAIL(TT_ECONFIG, "%s: cannot open the configuration: %s", path, strerror(errno));
    for (;;) {
        buffer = tt_realloc(buffer, capacity);
        ssize_t got = read(fd, buffer + n, capacity - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) status = TT_FAIL(TT_ECONFIG, "%s: cannot read the configuration: %s", path, strerror(errno));
        if (got <= 0) break;
        n += (size_t)got;
        if (n > TT_YAML_BYTES) {
            status = TT_FAIL(TT_ECONFIG, "%s:1:1: the file is larger than %d MB, too large for a configuration", path,
                             TT_YAML_BYTES >> 20);
            break;
        }
        if (n == capacity) capacity *= 2;
    }
    close(fd);
    if (status == TT_OK) {
        *bytes = tt_arena_strndup(arena, buffer, n);
        *size = n;
    }
    free(buffer);
    return status;
}
