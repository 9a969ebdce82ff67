/* SPDX-License-Identifier: Apache-2.0 */
/* audio/lexicon.h - the words that a decoder may write, as a trie of the classes that spell them.
 *
 * The file is UTF-8, a word a line; empty lines are skipped. A word alone is spelt by its characters. As in the
 * lexicon of torchaudio's ctc_decoder its spelling can follow, one character a field, as in "hello h e l l o |"; a
 * last "|" that is no label is the end of the word and means nothing here. A word may have several spellings, a
 * spelling several words. */
#ifndef TT_AUDIO_LEXICON_H
#define TT_AUDIO_LEXICON_H

#include "audio/pair_map.h"
#include "audio/vocabulary.h"

typedef struct TtLexiconWord {
    const char *text;
    uint32_t next; /* word of the same spelling, or TT_PAIR_NONE */
} TtLexiconWord;

/* Immutable, for many threads. Node 0 is the root; a child has a larger number than its parent. */
typedef struct TtLexicon {
    uint32_t nodes, words;
    uint32_t *parent;    /* of each node */
    uint32_t *node_word; /* the first word that ends at a node, or TT_PAIR_NONE */
    TtLexiconWord *word;
    TtPairMap children; /* (node, class) */
    TtArena text;
} TtLexicon;

/* TT_EDATA names file and line; SPACE is the class between words (-1 none), which no spelling may have. */
TtStatus tt_lexicon_read(const char *path, const TtVocabulary *v, int64_t space, TtLexicon *out) TT_NODISCARD;
/* The same from memory: TEXT is SIZE bytes and a NUL. */
TtStatus tt_lexicon_parse(const char *text, size_t size, const char *name, const TtVocabulary *v, int64_t space,
                          TtLexicon *out) TT_NODISCARD;
void tt_lexicon_free(TtLexicon *l);

#endif
