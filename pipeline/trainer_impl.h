/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/trainer_impl.h - the state of a run, shared by the files that make up the trainer:
 * trainer.c (the loop), step.c (one optimizer step), state.c (checkpoints and resume), report.c (what people see). */
#ifndef TT_PIPELINE_TRAINER_IMPL_H
#define TT_PIPELINE_TRAINER_IMPL_H

#include <jansson.h>

#include "pipeline/checkpoint.h"
#include "pipeline/session.h"
#include "pipeline/trainer.h"
#include "pipeline/validate.h"
#include "tensor/clock.h"

/* Sums over the steps since the last train event; saved, so that a resumed run reports the same means. */
typedef struct TtInterval {
    double loss, weight;      /* weighted sum of losses */
    int64_t correct, samples; /* top-1 */
    double grad_norm;
    int64_t steps;
    double wait, seconds; /* not saved: about this machine, not about the model */
} TtInterval;

/* What one step did. */
typedef struct TtStepResult {
    double loss, grad_norm, lr, wait, seconds;
    int64_t samples, correct;
    bool skipped; /* not finite: no update was made */
} TtStepResult;

typedef struct TtReport TtReport;

typedef struct TtTrainer {
    const TtConfig *config;
    TtSession session;
    TtArena arena;
    const char *run_dir;
    TtOptimizer *optimizer;
    TtCheckpoints *checkpoints;
    TtReport *report;
    float *accumulated; /* gradients summed over micro-batches; NULL without accumulation */
    void *buffers;      /* the parameter set's buffers as they were before the step */
    float *ema;         /* moving average of the value slab; NULL when off */
    /* what a checkpoint holds besides tensors */
    int64_t step;             /* optimizer steps done */
    int64_t samples;          /* samples seen */
    double best;              /* best monitored value so far; NaN: none yet */
    int64_t best_step, stale; /* stale: validations without improvement */
    int64_t nonfinite;        /* steps in a row that were not finite */
    int64_t skipped;          /* steps without an update, in all: the optimizer counts updates */
    bool stopped_early;       /* by trainer.early_stopping: there is nothing more to do */
    double seconds;           /* spent training, over all sessions before this one */
    TtInterval interval;
    /* of this session */
    double started;
    bool dry_run;
    int64_t first_step; /* where this session began */
    json_t *last_val;   /* metrics of the last validation */
    int64_t last_val_step;
} TtTrainer;

/* trainer.c: what lies between an open session and the first step; everything given back. */
TtStatus tt_trainer_allocate(TtTrainer *t) TT_NODISCARD;
void tt_trainer_release(TtTrainer *t);

/* step.c */
TtStatus tt_trainer_step(TtTrainer *t, TtBatch *batch, TtStepResult *out) TT_NODISCARD;
void tt_trainer_swap_ema(TtTrainer *t); /* exchange the weights with their moving average, for validation */

/* state.c */
TtStatus tt_trainer_save(TtTrainer *t, bool has_metric, double metric) TT_NODISCARD;
/* Find where to start; *RESUMED tells whether a checkpoint was loaded. */
TtStatus tt_trainer_restore(TtTrainer *t, const char *resume, bool *resumed) TT_NODISCARD;
/* Differences between this config and the one a run was started with that change its numbers; TT_ECONFIG with a diff. */
TtStatus tt_trainer_compare_config(const TtTrainer *t, const json_t *state) TT_NODISCARD;

/* report.c */
TtStatus tt_report_open(TtTrainer *t, const TtTrainerOptions *o, bool resumed, TtReport **out) TT_NODISCARD;
void tt_report_step(TtTrainer *t, const TtStepResult *r);
void tt_report_validation(TtTrainer *t, TtValidation *v); /* may keep what is in V, and leave it empty */
void tt_report_val_progress(TtTrainer *t, int64_t step, int64_t steps);
void tt_report_status(TtTrainer *t, const char *state);
TtStatus tt_report_first_batch(TtTrainer *t, const TtBatch *b);
void tt_report_close(TtTrainer *t, TtStatus status);

#endif
