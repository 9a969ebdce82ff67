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

typedef struct TtSession {
    const TtConfig *config;
    TtArena arena;
    TtModel model;
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
    int h, w, val_h, val_w; /* sizes that leave the transforms; 0 when there is no such set */
    int64_t steps_per_epoch, total_steps;
    const char *bad_samples_path; /* set before tt_session_open_loaders; may be NULL */
} TtSession;

enum { TT_SESSION_TRAIN = 1, TT_SESSION_VAL = 2 };

/* Parse all sections of the config without touching any file: what --check and every command do first. */
TtStatus tt_session_parse(const TtConfig *c, TtSession *s) TT_NODISCARD;
/* Open the data sets asked for, compare their classes, find the picture sizes from the first sample. */
TtStatus tt_session_open_data(TtSession *s, unsigned what) TT_NODISCARD;
TtStatus tt_session_open_loaders(TtSession *s) TT_NODISCARD;
/* Declare, allocate and initialise parameters; load model.weights when given. */
TtStatus tt_session_open_net(TtSession *s) TT_NODISCARD;
void tt_session_close(TtSession *s);

/* Class names of the data, or NULL; N receives the number of classes. */
const char *const *tt_session_classes(const TtSession *s, int *n);

#endif
