/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/loss.h - the config's `loss`: from logits and labels to one number.
 *
 * Losses average over the samples of the whole optimizer step, however it is split into micro-batches: each
 * micro-batch adds scale * sum(losses), where scale = 1 / (weight of all the step's samples). */
#ifndef TT_PIPELINE_LOSS_H
#define TT_PIPELINE_LOSS_H

#include "tensor/graph.h"
#include "tensor/options.h"

typedef struct TtLoss TtLoss;

typedef struct TtLossDef {
    const char *name;
    const char *help;
    const TtOption *options; /* besides `name` and `aux_weight` */
    size_t options_size;
    bool dense; /* takes (N,classes) targets always; otherwise int64 labels, or targets where they were mixed */
    TtStatus (*check)(void *options, const TtNode *node, int64_t classes); /* may be NULL */
    /* LOGITS (N,C); TARGET labels (N) int64 or rows (N,C); SCALE scalar. OUT[0]: scalar; OUT[1]: (N) per sample. */
    void (*emit)(TtGraph *g, const void *options, TtVal logits, TtVal target, TtVal scale, TtVal out[2]);
    /* Weight of one label in the mean; NULL: 1 each. */
    double (*weight)(const void *options, int64_t label);
} TtLossDef;

extern const TtLossDef *const tt_losses[];      /* ended by NULL */
extern const TtOption tt_loss_common_options[]; /* what every loss takes */

struct TtLoss {
    const TtLossDef *def;
    void *options;
    double aux_weight;
};

/* Parse the config's `loss` map (NULL: cross_entropy). */
TtStatus tt_loss_parse(const TtNode *map, const TtNode *key, int64_t classes, TtArena *arena, TtLoss *out) TT_NODISCARD;
/* Sum of the weights of N labels: the denominator of the mean. With mixed targets every sample weighs 1. */
double tt_loss_weight(const TtLoss *l, const int64_t *labels, int n, bool mixed);
void tt_loss_print(FILE *f, const TtLoss *l, int indent, bool help);

#endif
