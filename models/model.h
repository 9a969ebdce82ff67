/* SPDX-License-Identifier: Apache-2.0 */
/* models/model.h - what an architecture is, and the list of all. One architecture is one file, one or more MODEL
 * lines in models.def, and a test of its parameter names and shapes. */
#ifndef TT_MODELS_MODEL_H
#define TT_MODELS_MODEL_H

#include "tensor/graph.h"
#include "tensor/options.h"
#include "tensor/task.h"

enum { TT_MAX_AUX = 2 };

typedef struct TtModelInput {
    TtVal x;     /* pictures (N,H,W,3), sound (N,T,C); float32 */
    TtVal extra; /* vocoders: the spectrogram (N,F,bins), x being the waveform; else TT_NONE */
} TtModelInput;

typedef struct TtModelOutput {
    TtVal logits;          /* (N,num_classes); sound (N,T,classes), (N,T,sources) */
    TtVal aux[TT_MAX_AUX]; /* auxiliary heads' logits, in training only; TT_NONE where there are none */
} TtModelOutput;

typedef struct TtModelDef {
    const char *name;
    const char *help;
    const TtOption *options; /* besides `name` and `weights` */
    size_t options_size;
    size_t classes_offset;                                /* of the int64_t num_classes within the options */
    TtTask task;                                          /* 0: classification */
    TtStatus (*check)(void *options, const TtNode *node); /* what a table cannot say; may be NULL */
    void (*defaults)(void *options);                      /* fills what this name fixes (layers, width); may be NULL */
    /* Parameters get PyTorch's names in the order of torch's state dict. */
    void (*build)(TtGraph *g, const void *options, const TtModelInput *in, TtModelOutput *out);
    int min_size; /* pictures: smallest height and width that leave something to pool */
    /* Sound: frames of output that are valid for so many of input. NULL: as many. */
    int64_t (*out_frames)(const void *options, int64_t frames);
    /* Vocoders: samples a frame, and frames that one convolution of the network sees. */
    void (*vocoder)(const void *options, int *hop, int *kernel_size);
} TtModelDef;

extern const TtModelDef *const tt_models[];      /* ended by NULL */
extern const TtOption tt_model_common_options[]; /* what every architecture takes */

/* A model chosen and configured. */
typedef struct TtModel {
    const TtModelDef *def;
    void *options;
    const char *weights; /* file to start from, or NULL */
    const TtNode *weights_node;
    bool weights_strict;
    TtStrings weights_exclude; /* patterns of tensors to leave as initialised */
    TtStrings freeze;          /* patterns of parameters that are not trained */
} TtModel;

/* Parse the config's `model` map. */
TtStatus tt_model_parse(const TtNode *map, const TtNode *key, TtArena *arena, TtModel *out) TT_NODISCARD;
TtTask tt_model_task(const TtModel *m);
int64_t tt_model_classes(const TtModel *m);
void tt_model_set_classes(TtModel *m, int64_t n);
void tt_model_build(const TtModel *m, TtGraph *g, const TtModelInput *in, TtModelOutput *out);
void tt_model_print(FILE *f, const TtModel *m, int indent, bool help);

#endif
