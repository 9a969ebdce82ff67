/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/loss.h - the config's `loss`: from logits and labels to one number.
 *
 * Losses average over the samples of the whole optimizer step, however it is split into micro-batches: each
 * micro-batch adds scale * sum(losses), where scale = 1 / (weight of all the step's samples). */
#ifndef TT_PIPELINE_LOSS_H
#define TT_PIPELINE_LOSS_H

#include "tensor/graph.h"
#include "tensor/options.h"
#include "tensor/task.h"

typedef struct TtLoss TtLoss;

typedef struct TtLossInput {
    TtVal logits;                  /* the model's output: (N,C), sound (N,T,C) */
    TtVal target;                  /* labels (N) int64 or rows (N,C); sound: what the data set gives, (N,L,...) */
    TtVal lengths, target_lengths; /* (N) int64, for losses that take them; else TT_NONE */
    TtVal scale;                   /* scalar */
} TtLossInput;

typedef struct TtLossDef {
    const char *name;
    const char *help;
    const TtOption *options; /* besides `name` and `aux_weight` */
    size_t options_size;
    TtTask tasks; /* that it serves, bits; 0: classification */
    bool dense;   /* takes (N,classes) targets always; otherwise int64 labels, or targets where they were mixed */
    bool lengths; /* takes the lengths of outputs and targets */
    TtStatus (*check)(void *options, const TtNode *node, int64_t classes); /* may be NULL */
    /* OUT[0]: scalar; OUT[1]: (N) per sample. */
    void (*emit)(TtGraph *g, const void *options, const TtLossInput *in, TtVal out[2]);
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

/* Parse the config's `loss` map (NULL: the first of losses.def that serves the task). A loss that does not is an error. */
TtStatus tt_loss_parse(const TtNode *map, const TtNode *key, TtTask task, int64_t classes, TtArena *arena,
                       TtLoss *out) TT_NODISCARD;
/* Sum of the weights of N labels: the denominator of the mean. LABELS NULL: N samples that weigh 1 each, as with mixed
 * targets. */
double tt_loss_weight(const TtLoss *l, const int64_t *labels, int64_t n);
void tt_loss_print(FILE *f, const TtLoss *l, int indent, bool help);

#endif
