/* SPDX-License-Identifier: Apache-2.0 */
/* audio/edit_distance.h - how many edits make a hypothesis of its reference (Levenshtein 1966), for character and word
 * error rates.
 *
 * An edit replaces, adds or leaves out one symbol. Where several shortest ways exist, the one with the most
 * substitutions is counted: this makes the three counts unique. Sums over a set come from calling with the same TtEdits
 * again and again; the rate is taken once, at the end. */
#ifndef TT_AUDIO_EDIT_DISTANCE_H
#define TT_AUDIO_EDIT_DISTANCE_H

#include "tensor/status.h"

typedef struct TtEdits {
    int64_t substitutions, insertions, deletions; /* an insertion is a symbol that the reference does not have */
    int64_t reference;                            /* symbols of the references */
} TtEdits;

static inline int64_t tt_edits_distance(const TtEdits *e)
{
    return e->substitutions + e->insertions + e->deletions;
}
/* Distance over reference, a fraction that can be above 1; without any reference symbol 0 or, with insertions,
 * infinity. */
double tt_edits_rate(const TtEdits *e);

/* Each adds its counts to *SUM. Time O(n m), memory O(min(n, m)); TT_EINTERNAL when there is none. */
TtStatus tt_edit_distance(const int64_t *reference, int64_t n, const int64_t *hypothesis, int64_t m,
                          TtEdits *sum) TT_NODISCARD;
/* Symbols are the code points of the UTF-8 texts, spaces included. A byte that is not UTF-8 is a symbol of its own. */
TtStatus tt_edit_distance_chars(const char *reference, const char *hypothesis, TtEdits *sum) TT_NODISCARD;
/* Symbols are words as Python's str.split() makes them: between runs of Unicode white space. */
TtStatus tt_edit_distance_words(const char *reference, const char *hypothesis, TtEdits *sum) TT_NODISCARD;

#endif
