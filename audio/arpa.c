/* SPDX-License-Identifier: Apache-2.0 */
/* audio/arpa.c - scoring with an ARPA model. Its n-grams are a trie from the first word on: a level holds the n-grams
 * of one order sorted by the n-gram without its last word and then by that word, so that the continuations of an
 * n-gram are neighbours and are found by bisection. A state is the n-grams that end where the text ends, one of each
 * order: the next word is looked up among the continuations of each, which gives its probability and the next state
 * at once. */
#include "audio/arpa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/arpa_impl.h"
#include "tensor/arena.h"

/* ---- words */

static uint32_t find_word(const TtArpa *a, const char *word)
{
    if (a->slots == 0) return TT_ARPA_NONE;
    for (uint64_t i = tt_hash_name(word);; i++) {
        uint32_t id = a->slot[i & (a->slots - 1)];
        if (id == TT_ARPA_NONE || strcmp(tt_arpa_text(a, id), word) == 0) return id;
    }
}

static void put_slot(TtArpa *a, uint32_t id)
{
    uint64_t i = tt_hash_name(tt_arpa_text(a, id));
    while (a->slot[i & (a->slots - 1)] != TT_ARPA_NONE) i++;
    a->slot[i & (a->slots - 1)] = id;
}

uint32_t tt_arpa_find(const TtArpa *a, const char *word)
{
    return find_word(a, word);
}

TtStatus tt_arpa_add_word(TtArpa *a, const char *word, uint32_t id)
{
    size_t size = strlen(word) + 1;
    TT_TRY(tt_arpa_grow((void **)&a->text_at, &a->text_at_room, (size_t)id + 1, sizeof *a->text_at));
    TT_TRY(tt_arpa_grow((void **)&a->text, &a->text_room, a->text_size + size, 1));
    memcpy(a->text + a->text_size, word, size);
    a->text_at[id] = a->text_size;
    a->text_size += size;
    if (2 * ((size_t)id + 1) > a->slots) {
        size_t slots = a->slots ? a->slots * 2 : 64;
        tt_free(a->slot);
        a->slot = NULL, a->slots = 0;
        TT_TRY(tt_alloc((void **)&a->slot, slots * sizeof *a->slot));
        memset(a->slot, 0xFF, slots * sizeof *a->slot);
        a->slots = slots;
        for (uint32_t i = 0; i < id; i++) put_slot(a, i);
    }
    put_slot(a, id);
    return TT_OK;
}

TtStatus tt_arpa_grow(void **p, size_t *room, size_t n, size_t size)
{
    if (n <= *room) return TT_OK;
    size_t more = TT_MAX(n, *room + *room / 2 + 64);
    void *q = more > SIZE_MAX / size ? NULL : realloc(*p, more * size);
    if (!q) return TT_FAIL(TT_EINTERNAL, "out of memory: %zu entries of a language model", more);
    *p = q;
    *room = more;
    return TT_OK;
}

/* ---- n-grams */

uint32_t tt_arpa_child(const TtArpa *a, int level, uint32_t node, uint32_t word)
{
    const TtArpaLevel *l = &a->level[level], *below = l + 1;
    uint32_t lo = l->begin[node], hi = l->begin[node + 1], stop = hi;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (below->word[mid] < word)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < stop && below->word[lo] == word ? lo : TT_ARPA_NONE;
}

/* Contexts that no n-gram goes on from and that have no weight of their own are left out. */
static void trim(const TtArpa *a, TtArpaState *s)
{
    while (s->n > 0) {
        const TtArpaLevel *l = &a->level[s->n - 1];
        uint32_t node = s->node[s->n - 1];
        if (node != TT_ARPA_NONE && (l->begin[node] < l->begin[node + 1] || l->backoff[node] != 0)) break;
        s->n--;
    }
}

static double backoffs(const TtArpa *a, const TtArpaState *s, int from)
{
    double sum = 0;
    for (int i = from; i < s->n; i++)
        if (s->node[i] != TT_ARPA_NONE) sum += (double)a->level[i].backoff[s->node[i]];
    return sum;
}

double tt_arpa_score(const TtArpa *a, const TtArpaState *state, int64_t word, TtArpaState *next)
{
    TtArpaState after = {0};
    double score = TT_ARPA_UNKNOWN;
    int found = 0; /* words of context that the longest n-gram has */
    TT_ASSERT(word < a->level[0].n);
    if (word < 0) {
        score += backoffs(a, state, 0);
    } else {
        uint32_t best = (uint32_t)word;
        if (a->order > 1) after.node[after.n++] = best;
        for (int i = 0; i < state->n; i++) {
            uint32_t node = state->node[i];
            uint32_t child = node == TT_ARPA_NONE ? TT_ARPA_NONE : tt_arpa_child(a, i, node, (uint32_t)word);
            if (child != TT_ARPA_NONE) found = i + 1, best = child;
            if (i + 2 < a->order) after.node[after.n++] = child;
        }
        score = (double)a->level[found].prob[best] + backoffs(a, state, found);
        trim(a, &after);
    }
    if (next) *next = after;
    return score;
}

TtArpaState tt_arpa_begin(const TtArpa *a)
{
    TtArpaState s = {0};
    if (a->begin != TT_ARPA_NONE && a->order > 1) s.node[s.n++] = a->begin;
    trim(a, &s);
    return s;
}

double tt_arpa_end(const TtArpa *a, const TtArpaState *state)
{
    return a->end == TT_ARPA_NONE ? 0 : tt_arpa_score(a, state, a->end, NULL);
}

/* ---- the rest */

int tt_arpa_order(const TtArpa *a)
{
    return a->order;
}

int64_t tt_arpa_count(const TtArpa *a, int order)
{
    TT_ASSERT(order >= 1 && order <= a->order);
    return a->level[order - 1].n;
}

int64_t tt_arpa_word(const TtArpa *a, const char *word)
{
    uint32_t id = find_word(a, word);
    if (id == TT_ARPA_NONE) id = a->unknown;
    return id == TT_ARPA_NONE ? -1 : (int64_t)id;
}

bool tt_arpa_knows(const TtArpa *a, const char *word)
{
    return find_word(a, word) != TT_ARPA_NONE;
}

void tt_arpa_free(TtArpa *a)
{
    if (!a) return;
    for (int i = 0; i < TT_ARPA_ORDER; i++) {
        free(a->level[i].word);
        free(a->level[i].prob);
        free(a->level[i].backoff);
        tt_free(a->level[i].begin);
    }
    free(a->text);
    free(a->text_at);
    tt_free(a->slot);
    free(a);
}
