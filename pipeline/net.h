/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/net.h - a model with its loss, compiled for the batch shapes that a run meets.
 *
 * One parameter set; one planned program for each shape of a batch, training or not, built when first met: the last
 * batch of an epoch or of a validation set is smaller than the others, and clips of sound have many lengths. */
#ifndef TT_PIPELINE_NET_H
#define TT_PIPELINE_NET_H

#include "data/loader.h"
#include "models/model.h"
#include "pipeline/loss.h"
#include "tensor/program.h"

typedef struct TtNetOptions {
    const TtModel *model;
    const TtLoss *loss; /* NULL: logits only (predict) */
    bool bf16;
    bool no_fusion;
    TtProgramOptions program;
} TtNetOptions;

typedef struct TtNet TtNet;

/* What the model and the loss take of one sample: shapes without the batch axis. */
typedef struct TtNetShape {
    TtShape x;      /* (h,w,3), (T,C) */
    TtShape extra;  /* rank 0: there is none */
    TtShape target; /* sound: (L,...); rank 0: labels, or rows of classes */
    TtDType target_dtype;
} TtNetShape;
TtShape tt_shape_without_batch(const TtShape *s);
TtNetShape tt_net_picture(int h, int w);

/* Declare the parameters for samples of this shape and allocate them; values are those of the model's initialisation
 * with SEED. */
TtStatus tt_net_open(const TtNetOptions *o, const TtNetShape *shape, uint64_t seed, TtNet **out) TT_NODISCARD;
void tt_net_close(TtNet *n);
TtParamSet *tt_net_params(TtNet *n);
/* Bytes of activations and scratch of a program, without building it. */
TtStatus tt_net_predict_memory(TtNet *n, int batch, const TtNetShape *shape, bool training, size_t *bytes) TT_NODISCARD;

typedef struct TtNetInput {
    int n;
    TtTensor x, extra;      /* with the batch axis; extra.data NULL when there is none */
    const int64_t *labels;  /* n; pictures with a loss */
    TtTensor targets;       /* rows (n,classes) when mixed; sound: what the loss compares with; else data NULL */
    const int64_t *lengths; /* sound, n: frames of x, entries of targets; for losses that take them */
    const int64_t *target_lengths;
    double scale; /* 1 / weight of the whole step; see loss.h */
} TtNetInput;
/* COUNT samples of a batch from FIRST on, as an input without a scale. */
TtNetInput tt_net_input(const TtBatch *b, int first, int count);
/* The sum of the weights of a batch's samples. */
double tt_net_weight(const TtNet *n, const TtBatch *b);

/* Pointers are into the programs' memory: valid until the next run. */
typedef struct TtNetOutput {
    double loss;             /* scale * sum, auxiliary heads included in training */
    const float *per_sample; /* n losses of the main head; NULL without a loss */
    const float *logits;     /* (n,classes); sound (n,frames,classes) */
    int64_t frames, classes; /* frames 1 for pictures */
    const int64_t *lengths;  /* sound: of the n samples' outputs, for losses that take them; else NULL */
} TtNetOutput;

/* Run forward, and backward when TRAINING: the gradients then stand in the parameter set's gradient slab. */
TtStatus tt_net_run(TtNet *n, bool training, const TtNetInput *in, const TtStepInfo *step,
                    TtNetOutput *out) TT_NODISCARD;
/* The program for an input, for its statistics and times; built when needed. */
TtStatus tt_net_program(TtNet *n, bool training, const TtNetInput *in, TtProgram **out) TT_NODISCARD;

#endif
