/* SPDX-License-Identifier: Apache-2.0 */
/* audio/ctc_decode.h - from the output of a model trained with CTC (Graves et al. 2006) to text.
 *
 * LOG_PROBS is the log_softmax output of one clip: frame t, class c at log_probs[t * stride + c], natural logarithms.
 * Tokens are classes other than the blank. A frame's place in the clip, in seconds, is the model's stride times its
 * number; ends are the frame behind the last one. */
#ifndef TT_AUDIO_CTC_DECODE_H
#define TT_AUDIO_CTC_DECODE_H

#include "audio/arpa.h"
#include "audio/lexicon.h"
#include "audio/vocabulary.h"
#include "tensor/options.h"

typedef struct TtLogProbs {
    const float *data;
    int64_t frames, stride, classes;
} TtLogProbs;

/* ---- greedy */

/* The best class of each frame (the lowest on a tie; NaN never is), repeats merged, blanks dropped. TOKENS, and BEGIN
 * and END unless NULL, have room for x->frames. Returns the number of tokens. END is the frame
 * behind the token's last one. */
int64_t tt_ctc_greedy(const TtLogProbs *x, int64_t blank, int64_t *tokens, int64_t *begin, int64_t *end);

/* ---- alignment */

/* The most probable alignment of TOKENS (N of them) to all frames, as torchaudio.functional.forced_align: token i is in
 * frames BEGIN[i] to END[i] - 1, *SCORE (may be NULL) is its log-probability. TT_EDATA when the tokens, with a blank
 * between equal neighbours, need more frames than there are, or are no classes. */
TtStatus tt_ctc_align(const TtLogProbs *x, int64_t blank, const int64_t *tokens, int64_t n, int64_t *begin,
                      int64_t *end, double *score) TT_NODISCARD;

/* ---- words */

typedef struct TtCtcWord {
    const char *text;
    int64_t begin, end; /* frames */
} TtCtcWord;

/* What stands between tokens SPACE, in ARENA; returns the number of words. */
int64_t tt_ctc_words(const TtVocabulary *v, int64_t space, const int64_t *tokens, int64_t n, const int64_t *begin,
                     const int64_t *end, TtArena *arena, TtCtcWord **out);

/* ---- prefix beam search (Hannun et al. 2014, algorithm 1)
 *
 * A prefix is a sequence of tokens; the probabilities of all its alignments are added (log_add) or the largest is
 * taken. What is ranked is
 *     log p_ctc(tokens) + sum over words of (lm_weight log10 p_lm(word | words before) + word_score)
 *     + lm_weight log10 p_lm(</s>) + sil_score for each space
 * where a word counts when the space behind it comes, or at the end. Names, defaults and the log10 are those of
 * torchaudio.models.decoder.ctc_decoder. With a lexicon and a language model, a prefix within a word is ranked with
 * the best 1-gram of the words that it can become, as there (SmearingMode.MAX). Different from there: sil_score is
 * added once a space, however long it lasts; without a lexicon the language model is one of words, too. */

/* Parsed from tt_ctc_options, or started from TT_CTC_DEFAULTS. */
typedef struct TtCtcOptions {
    int64_t nbest;           /* results wanted; there may be fewer */
    int64_t beam_size;       /* prefixes kept after each frame */
    int64_t beam_size_token; /* best classes of a frame that may follow; TT_NULL_INT: all */
    double beam_threshold;   /* prefixes that are this much behind the best one are dropped */
    double lm_weight;
    double word_score; /* for each word */
    double unk_score;  /* for each word that is not in the lexicon; NaN or -infinity: there are none */
    double sil_score;  /* for each space */
    bool log_add;
} TtCtcOptions;
#define TT_CTC_DEFAULTS                                                                                \
    .nbest = 1, .beam_size = 50, .beam_size_token = TT_NULL_INT, .beam_threshold = 50, .lm_weight = 2, \
    .word_score = 0, .unk_score = -INFINITY, .sil_score = 0, .log_add = false
extern const TtOption tt_ctc_options[];

typedef struct TtCtcDecoder TtCtcDecoder; /* immutable, for many threads */

/* All but the options are borrowed; LM and LEXICON may be NULL. SPACE is the class between words (sil_token), or -1:
 * then everything is one word. The options must be in the ranges of tt_ctc_options. */
TtCtcDecoder *tt_ctc_decoder_new(const TtCtcOptions *o, const TtVocabulary *v, int64_t space, const TtArpa *lm,
                                 const TtLexicon *lexicon);
void tt_ctc_decoder_free(TtCtcDecoder *d); /* NULL is fine */

typedef struct TtCtcResult {
    int64_t n;            /* tokens */
    const int64_t *token; /* spaces included */
    const int64_t *begin, *end;
    int64_t words;
    const TtCtcWord *word; /* of the lexicon, when there is one; times from the best alignment (tt_ctc_align) */
    double score;          /* what is ranked */
    double log_prob;       /* log p_ctc, of the alignments that the beam kept */
    double lm_score;       /* sum of log10 p_lm, </s> included */
} TtCtcResult;

/* The best results, at most nbest, best first, in ARENA. With a lexicon, prefixes that end within a word count only
 * when there are no others; that last word is then missing among the words. No results: every sequence has
 * probability 0. TT_EDIVERGED for log-probabilities that are NaN or +infinity, TT_EINTERNAL for classes other than
 * the vocabulary's. */
TtStatus tt_ctc_beam_search(const TtCtcDecoder *d, const TtLogProbs *x, TtArena *arena, TtCtcResult **out,
                            int64_t *n) TT_NODISCARD;

#endif
