/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/session.h - everything that a config names, opened: model, loss, data, loaders, parameters.
 *
 * train, eval, predict, bench and --check all begin here, so that they accept and refuse the same things. */
#ifndef TT_PIPELINE_SESSION_H
#define TT_PIPELINE_SESSION_H

#include "data/loader.h"
#include "pipeline/config.h"
#include "pipeline/net.h"
#include "pipeline/optimizer.h"
#include "pipeline/scheduler.h"

typedef struct TtTaskDef TtTaskDef;

typedef struct TtSession {
    const TtConfig *config;
    TtArena arena;
    TtModel model;
    const TtTaskDef *task; /* the model's */
    const char *monitor;   /* which metric says what is best, and how */
    bool less_is_better;
    TtLoss loss;
    bool no_loss; /* logits only: set before tt_session_open_net (predict has no labels) */
    TtOptimizerConfig optimizer;
    TtScheduler *scheduler;
    TtTransformChain train_transforms, val_transforms;
    TtDataset *train, *val; /* NULL when not asked for or not configured */
    TtSampler *train_sampler, *val_sampler;
    TtLoader *train_loader, *val_loader;
    TtNet *net;
    int threads; /* compute threads */
    int num_workers;
    TtNetShape train_shape, val_shape; /* of each set's first sample; x.rank 0 when there is no such set */
    int64_t steps_per_epoch, total_steps;
    bool (*stop)(void);           /* asked while waiting for data; set before tt_session_open_loaders; may be NULL */
    const char *bad_samples_path; /* set before tt_session_open_loaders; may be NULL */
} TtSession;

enum { TT_SESSION_TRAIN = 1, TT_SESSION_VAL = 2 };

/* Parse all sections of the config without touching any file: what --check and every command do first. */
TtStatus tt_session_parse(const TtConfig *c, TtSession *s) TT_NODISCARD;
/* Open the data sets asked for, compare their classes, find the shapes from the first sample. */
TtStatus tt_session_open_data(TtSession *s, unsigned what) TT_NODISCARD;
/* Whether the config has a validation set: data.val, or a part of data.train. */
bool tt_session_has_val(const TtConfig *c);
TtStatus tt_session_open_loaders(TtSession *s) TT_NODISCARD;
/* Declare, allocate and initialise parameters; load model.weights when given. */
TtStatus tt_session_open_net(TtSession *s) TT_NODISCARD;
void tt_session_close(TtSession *s);
/* "28x28" or "1.20 s of 80 bins": what a set's samples are, for people. */
enum { TT_SAMPLE_TEXT = 96 };
const char *tt_session_sample_text(const TtDataset *d, const TtNetShape *shape, char buf[TT_SAMPLE_TEXT]);

/* Class names of the data, or NULL; N receives the number of classes. */
const char *const *tt_session_classes(const TtSession *s, int *n);

#endif
