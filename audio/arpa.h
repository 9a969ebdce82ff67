/* SPDX-License-Identifier: Apache-2.0 */
/* audio/arpa.h - n-gram language models in ARPA's format, as SRILM, KenLM and IRSTLM write them.
 *
 * Order 1 to 6, plain or gzip. What a model says is log10 p(word | words before), by the longest n-gram that the model
 * has and the backoff weights of the longer contexts (Katz 1987):
 *     p(w | c1..ck) = p of "c1..ck w" when the model has it, else backoff(c1..ck) p(w | c2..ck), with backoff 1 for a
 *     context that it does not have.
 * Values are kept as float32, as in KenLM; an n-gram takes 12 to 16 bytes. */
#ifndef TT_AUDIO_ARPA_H
#define TT_AUDIO_ARPA_H

#include "tensor/status.h"

enum { TT_ARPA_ORDER = 6 };
#define TT_ARPA_UNKNOWN (-100.0) /* log10 p of an unknown word in a model without <unk>, as in KenLM */

typedef struct TtArpa TtArpa; /* immutable, for many threads */

/* What the next word's probability depends on: n-grams of the model that end in the last word. */
typedef struct TtArpaState {
    int n;
    uint32_t node[TT_ARPA_ORDER - 1];
} TtArpaState;

/* TT_EDATA names file and line. NULL on failure. */
TtStatus tt_arpa_read(const char *path, TtArpa **out) TT_NODISCARD;
TtStatus tt_arpa_read_fd(int fd, const char *name, TtArpa **out) TT_NODISCARD; /* closes FD */
void tt_arpa_free(TtArpa *a);                                                  /* NULL is fine */

int tt_arpa_order(const TtArpa *a);
int64_t tt_arpa_count(const TtArpa *a, int order); /* n-grams of ORDER, 1 to tt_arpa_order */
/* Number of a word; that of <unk> for any other, -1 when the model has no <unk> either. */
int64_t tt_arpa_word(const TtArpa *a, const char *word);
bool tt_arpa_knows(const TtArpa *a, const char *word); /* <unk> itself counts as a word */

/* At the start of a sentence: after <s>, if the model has it. */
TtArpaState tt_arpa_begin(const TtArpa *a);
/* log10 p(WORD | STATE), and the state after it into *NEXT, which may be STATE itself or NULL. */
double tt_arpa_score(const TtArpa *a, const TtArpaState *state, int64_t word, TtArpaState *next);
/* log10 p(</s> | STATE); 0 in a model without </s>. */
double tt_arpa_end(const TtArpa *a, const TtArpaState *state);

#endif
