/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/net.h - a model with its loss, compiled for the batch shapes that a run meets.
 *
 * One parameter set; one planned program for each (batch size, picture size, training or not, kind of target),
 * built when first met: the last batch of an epoch or of a validation set is smaller than the others. */
#ifndef TT_PIPELINE_NET_H
#define TT_PIPELINE_NET_H

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

/* Declare the parameters for pictures of h x w (3 channels) and allocate them; values are those of the model's
 * initialisation with SEED. */
TtStatus tt_net_open(const TtNetOptions *o, int h, int w, uint64_t seed, TtNet **out) TT_NODISCARD;
void tt_net_close(TtNet *n);
TtParamSet *tt_net_params(TtNet *n);
/* Bytes of activations and scratch of a program, without building it. */
TtStatus tt_net_predict_memory(TtNet *n, int batch, int h, int w, bool training, size_t *bytes) TT_NODISCARD;

typedef struct TtNetInput {
    int n, h, w;
    const float *x;        /* (n,h,w,3) */
    const int64_t *labels; /* n; NULL without a loss */
    const float *targets;  /* (n,classes) when mixed; else NULL */
    double scale;          /* 1 / weight of the whole step; see loss.h */
} TtNetInput;

/* Pointers are into the program's memory: valid until its next run. */
typedef struct TtNetOutput {
    double loss;             /* scale * sum, auxiliary heads included in training */
    const float *per_sample; /* n losses of the main head; NULL without a loss */
    const float *logits;     /* (n,classes) */
    int64_t classes;
} TtNetOutput;

/* Run forward, and backward when TRAINING: the gradients then stand in the parameter set's gradient slab. */
TtStatus tt_net_run(TtNet *n, bool training, const TtNetInput *in, const TtStepInfo *step,
                    TtNetOutput *out) TT_NODISCARD;
/* The program for an input, for its statistics and times; built when needed. */
TtStatus tt_net_program(TtNet *n, bool training, int batch, int h, int w, bool mixed, TtProgram **out) TT_NODISCARD;

#endif
