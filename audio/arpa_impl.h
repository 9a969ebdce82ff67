/* SPDX-License-Identifier: Apache-2.0 */
/* audio/arpa_impl.h - what the reader of ARPA files fills and the scoring uses. */
#ifndef TT_AUDIO_ARPA_IMPL_H
#define TT_AUDIO_ARPA_IMPL_H

#include "audio/arpa.h"
#include "tensor/rng.h"

#define TT_ARPA_NONE UINT32_MAX

/* The n-grams of one order, sorted by (n-gram without its last word, last word); those of order 1 by number of the
 * word. */
typedef struct TtArpaLevel {
    uint32_t n;
    uint32_t *word; /* the last word; NULL for order 1, where it is the place */
    float *prob;    /* log10 */
    float *backoff; /* log10 */
    uint32_t
        *begin; /* n + 1: n-gram i is continued by those from begin[i] to begin[i + 1] of the next level; NULL in the
                      * last level */
} TtArpaLevel;

struct TtArpa {
    int order;
    TtArpaLevel level[TT_ARPA_ORDER];
    uint32_t unknown, begin, end; /* <unk>, <s>, </s> or TT_ARPA_NONE */
    char *text;                   /* the words, each with a NUL */
    size_t text_size, text_room;
    size_t *text_at; /* of each word */
    size_t text_at_room;
    uint32_t *slot; /* hash table of the words */
    size_t slots;   /* a power of two, or 0 */
};

static inline const char *tt_arpa_text(const TtArpa *a, uint32_t word)
{
    return a->text + a->text_at[word];
}
uint32_t tt_arpa_find(const TtArpa *a, const char *word);                         /* TT_ARPA_NONE: no such word */
TtStatus tt_arpa_add_word(TtArpa *a, const char *word, uint32_t id) TT_NODISCARD; /* ids in turn, from 0 */
/* The n-gram of LEVEL + 1 that continues NODE of LEVEL (0 is order 1) by WORD. */
uint32_t tt_arpa_child(const TtArpa *a, int level, uint32_t node, uint32_t word);
/* Room for N entries of SIZE bytes, by realloc. */
TtStatus tt_arpa_grow(void **p, size_t *room, size_t n, size_t size) TT_NODISCARD;

#endif
