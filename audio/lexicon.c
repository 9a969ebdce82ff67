/* SPDX-License-Identifier: Apache-2.0 */
/* audio/lexicon.c - reading a list of words into a trie. */
#include "audio/lexicon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/fs.h"

enum { LONGEST_LINE = 4096 };
#define LARGEST_FILE ((size_t)1 << 30)

typedef struct Reader {
    const char *name;
    const TtVocabulary *v;
    int64_t space;
    TtLexicon *l;
    uint32_t node_room, word_room;
} Reader;

/* Room for one more of *N, doubling *ROOM. */
static void *grow(void *p, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room) return p;
    *room = *room ? *room * 2 : 256;
    return tt_realloc(p, *room * size);
}

static uint32_t add_node(Reader *r, uint32_t parent)
{
    TtLexicon *l = r->l;
    uint32_t room = r->node_room;
    l->parent = grow(l->parent, l->nodes, &room, sizeof *l->parent);
    l->node_word = grow(l->node_word, l->nodes, &r->node_room, sizeof *l->node_word);
    l->parent[l->nodes] = parent;
    l->node_word[l->nodes] = TT_PAIR_NONE;
    return l->nodes++;
}

static void add_word(Reader *r, const char *word, const int64_t *spelling, int64_t n)
{
    TtLexicon *l = r->l;
    uint32_t node = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t child = tt_pair_map_get(&l->children, node, (uint32_t)spelling[i]);
        if (child == TT_PAIR_NONE) {
            child = add_node(r, node);
            tt_pair_map_put(&l->children, node, (uint32_t)spelling[i], child);
        }
        node = child;
    }
    uint32_t *last = &l->node_word[node];
    for (; *last != TT_PAIR_NONE; last = &l->word[*last].next)
        if (strcmp(l->word[*last].text, word) == 0) return; /* there already */
    *last = l->words;
    l->word = grow(l->word, l->words, &r->word_room, sizeof *l->word);
    l->word[l->words++] = (TtLexiconWord){tt_arena_strdup(&l->text, word), TT_PAIR_NONE};
}

/* LINE is "word" or "word c h a r s"; it is cut into its fields. */
static TtStatus read_line(Reader *r, char *line, const char *where)
{
    static const char blank[] = " \t\r";
    int64_t spelling[LONGEST_LINE + 1], n = 0, one;
    char *rest, *word = strtok_r(line, blank, &rest), *field = word ? strtok_r(NULL, blank, &rest) : NULL;
    if (!word) return TT_OK;
    if (!field) TT_TRY(tt_vocabulary_encode(r->v, word, where, spelling, &n));
    while (field) {
        char *next = strtok_r(NULL, blank, &rest);
        if (!next && strcmp(field, "|") == 0 && tt_vocabulary_class(r->v, '|') < 0) break;
        TT_TRY(tt_vocabulary_encode(r->v, field, where, spelling + n, &one));
        if (one != 1)
            return TT_FAIL(TT_EDATA, "%s: '%.40s' in the spelling of '%.60s' is not one character", where, field, word);
        n++;
        field = next;
    }
    if (n == 0) return TT_FAIL(TT_EDATA, "%s: '%.60s' has no spelling", where, word);
    for (int64_t i = 0; i < n; i++)
        if (spelling[i] == r->space)
            return TT_FAIL(TT_EDATA, "%s: the spelling of '%.60s' has the class that is between words", where, word);
    add_word(r, word, spelling, n);
    return TT_OK;
}

TtStatus tt_lexicon_parse(const char *text, size_t size, const char *name, const TtVocabulary *v, int64_t space,
                          TtLexicon *out)
{
    *out = (TtLexicon){0};
    Reader r = {.name = name, .v = v, .space = space, .l = out};
    char line[LONGEST_LINE + 1], where[1024];
    TtStatus st = TT_OK;
    int64_t number = 0;
    add_node(&r, TT_PAIR_NONE);
    for (const char *p = text, *end = text + size; st == TT_OK && p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((stop ? stop : end) - p);
        snprintf(where, sizeof where, "%s:%lld", name, (long long)++number);
        if (n > LONGEST_LINE) {
            st = TT_FAIL(TT_EDATA, "%s: the line is longer than %d bytes", where, LONGEST_LINE);
        } else if (memchr(p, '\0', n)) {
            st = TT_FAIL(TT_EDATA, "%s: the line has a NUL byte: not a list of words", where);
        } else {
            memcpy(line, p, n);
            line[n] = '\0';
            st = read_line(&r, line, where);
        }
        p += n + 1;
    }
    if (st == TT_OK && out->words == 0) st = TT_FAIL(TT_EDATA, "%s: no words", name);
    if (st != TT_OK) tt_lexicon_free(out);
    return st;
}

TtStatus tt_lexicon_read(const char *path, const TtVocabulary *v, int64_t space, TtLexicon *out)
{
    char *text;
    size_t size;
    *out = (TtLexicon){0};
    TT_TRY(tt_fs_read(path, LARGEST_FILE, TT_EDATA, &text, &size));
    TtStatus st = tt_lexicon_parse(text, size, path, v, space, out);
    free(text);
    return st;
}

void tt_lexicon_free(TtLexicon *l)
{
    free(l->parent);
    free(l->node_word);
    free(l->word);
    tt_pair_map_free(&l->children);
    tt_arena_free(&l->text);
    *l = (TtLexicon){0};
}
