/* SPDX-License-Identifier: Apache-2.0 */
/* audio/vocabulary.h - the characters that a speech model can write: the option `labels` of the audio_manifest data
 * set, one character (code point) a class, in class order. */
#ifndef TT_AUDIO_VOCABULARY_H
#define TT_AUDIO_VOCABULARY_H

#include "tensor/node.h"

/* Immutable, for many threads. */
typedef struct TtVocabulary {
    int64_t classes;
    int64_t blank;   /* its class means no character and never stands for one */
    uint32_t *codes; /* of each class */
    struct TtVocabularyEntry {
        uint32_t code;
        int32_t index;
    } * sorted; /* by code */
} TtVocabulary;

/* LABELS is UTF-8, BLANK a class. Everything lives in ARENA. TT_ECONFIG at WHERE (may be NULL): no UTF-8, no classes, a
 * BLANK that is none of them, a character that stands there twice, and a capital letter other than the blank, which the
 * lower-cased texts never have. */
TtStatus tt_vocabulary_new(const TtNode *where, const char *labels, int64_t blank, TtArena *arena,
                           TtVocabulary *out) TT_NODISCARD;

/* The class of a character, -1 when there is none or it is the blank's. */
int64_t tt_vocabulary_class(const TtVocabulary *v, uint32_t code);

/* The classes of a text, lower-cased as Python's str.lower() does it (all of Unicode; a capital sigma at the end of a
 * word is a final one), into OUT, which has room for strlen(TEXT). TT_EDATA begins with WHERE ("train.tsv:12") and
 * names the character that is no class or the blank's. */
TtStatus tt_vocabulary_encode(const TtVocabulary *v, const char *text, const char *where, int64_t *out,
                              int64_t *n) TT_NODISCARD;
/* The text of N classes, each below v->classes; the blank is left out. */
char *tt_vocabulary_decode(const TtVocabulary *v, const int64_t *classes, int64_t n, TtArena *arena);

/* The lower case of a code point where it is one code point, else CODE itself. */
uint32_t tt_lower(uint32_t code);

#endif
