/* SPDX-License-Identifier: Apache-2.0 */
/* audio/ctc_decode.c - what needs no search: greedy decoding, the alignment of known tokens, words and their times. */
#include "audio/ctc_decode.h"

#include <math.h>
#include <string.h>

#include "tensor/arena.h"

int64_t tt_ctc_greedy(const TtLogProbs *x, int64_t blank, int64_t *tokens, int64_t *begin, int64_t *end)
{
    int64_t n = 0, before = blank;
    for (int64_t t = 0; t < x->frames; t++) {
        const float *p = x->data + t * x->stride;
        int64_t best = 0;
        for (int64_t c = 1; c < x->classes; c++)
            if (p[c] > p[best] || (isnan(p[best]) && !isnan(p[c]))) best = c;
        if (best != blank && best != before) {
            tokens[n] = best;
            if (begin) begin[n] = t;
            n++;
        }
        if (best != blank && end) end[n - 1] = t + 1;
        before = best;
    }
    return n;
}

/* ---- alignment (Viterbi 1967)
 *
 * States are blank, token 0, blank, token 1, ..., blank; a frame stays, steps to the next state, or from a token to a
 * different next token. */

static TtStatus check_tokens(const TtLogProbs *x, int64_t blank, const int64_t *tokens, int64_t n)
{
    int64_t need = n;
    for (int64_t i = 0; i < n; i++) {
        if (tokens[i] < 0 || tokens[i] >= x->classes || tokens[i] == blank)
            return TT_FAIL(TT_EDATA, "alignment: token %lld is %lld, which is %s", (long long)i, (long long)tokens[i],
                           tokens[i] == blank ? "the blank" : "no class");
        need += i && tokens[i] == tokens[i - 1];
    }
    if (need > x->frames)
        return TT_FAIL(TT_EDATA, "alignment: %lld tokens need %lld frames or more, there are %lld", (long long)n,
                       (long long)need, (long long)x->frames);
    return TT_OK;
}

/* One frame: BEST is of the frame before and becomes this one's; STEP says how many states back each came from. */
static void align_frame(const float *p, int64_t blank, const int64_t *tokens, int64_t states, double *best,
                        uint8_t *step)
{
    for (int64_t s = states - 1; s >= 0; s--) {
        int64_t token = s & 1 ? tokens[s / 2] : blank;
        step[s] = 0;
        if (s >= 1 && best[s - 1] > best[s]) step[s] = 1;
        if (s >= 3 && (s & 1) && token != tokens[s / 2 - 1] && best[s - 2] > best[s - step[s]]) step[s] = 2;
        best[s] = best[s - step[s]] + (double)p[token];
    }
}

TtStatus tt_ctc_align(const TtLogProbs *x, int64_t blank, const int64_t *tokens, int64_t n, int64_t *begin,
                      int64_t *end, double *score)
{
    TT_TRY(check_tokens(x, blank, tokens, n));
    int64_t states = 2 * n + 1, t = x->frames;
    double *best = NULL;
    uint8_t *step = NULL;
    TtStatus st = tt_alloc((void **)&best, (size_t)states * sizeof *best);
    if (st == TT_OK) st = tt_alloc((void **)&step, (size_t)states * (size_t)t + 1);
    if (st != TT_OK) goto out;
    /* Before the first frame only the first blank can have been; the first token is one step from it. */
    for (int64_t s = 0; s < states; s++) best[s] = s ? -INFINITY : 0;
    for (int64_t i = 0; i < t; i++)
        align_frame(x->data + i * x->stride, blank, tokens, states, best, step + i * states);
    int64_t s = states - 1;
    if (n && best[s - 1] > best[s]) s--;
    if (score) *score = best[s];
    /* Impossible alignments, of probability 0, may not lead back to the start; they get some frames nevertheless. */
    for (int64_t i = 0; i < n; i++) begin[i] = end[i] = -1;
    while (t-- > 0) {
        if (s & 1) {
            if (end[s / 2] < 0) end[s / 2] = t + 1;
            begin[s / 2] = t;
        }
        s -= step[t * states + s];
    }
    for (int64_t i = 0; i < n; i++)
        if (end[i] < 0) begin[i] = end[i] = i ? end[i - 1] : 0;
out:
    tt_free(best);
    tt_free(step);
    return st;
}

/* ---- words */

int64_t tt_ctc_words(const TtVocabulary *v, int64_t space, const int64_t *tokens, int64_t n, const int64_t *begin,
                     const int64_t *end, TtArena *arena, TtCtcWord **out)
{
    int64_t words = 0;
    *out = TT_NEWN(arena, TtCtcWord, n / 2 + 1);
    for (int64_t i = 0, start = 0; i <= n; i++) {
        if (i < n && tokens[i] != space) continue;
        if (i > start)
            (*out)[words++] =
                (TtCtcWord){tt_vocabulary_decode(v, tokens + start, i - start, arena), begin[start], end[i - 1]};
        start = i + 1;
    }
    return words;
}
