/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/task.h - what the kinds of job do each in their own way: metrics, their words, their pictures. One task is one
 * file, task_NAME.c, and one line in tasks.def; which one a run is for, its model says. */
#ifndef TT_PIPELINE_TASK_H
#define TT_PIPELINE_TASK_H

#include <jansson.h>

#include "pipeline/metrics.h"
#include "pipeline/session.h"
#include "pipeline/tensorboard.h"

typedef struct TtValidation TtValidation;
typedef struct TtTrainer TtTrainer;

/* Plots of one chart: up to four curves by their names in metrics.jsonl; the last is marked at its best value. */
typedef struct TtTaskChart {
    const char *file, *title, *y_label; /* file NULL: there is none */
    const char *keys[4];
    bool percent, less_is_better;
} TtTaskChart;

typedef struct TtTaskDef {
    TtTask task;
    const char *samples;        /* what is counted: "img", "clips" */
    const char *monitor;        /* the metric that says which checkpoint is best, where the config does not */
    const char *const *metrics; /* names beside val/loss, ended by NULL */
    TtTaskChart chart;          /* of its own, beside the loss */

    /* A validation: begin, add every batch, end. What they count lies in V. */
    TtStatus (*begin)(const TtSession *s, TtValidation *v);
    TtStatus (*add)(const TtSession *s, TtValidation *v, const TtBatch *b, const TtNetOutput *o);
    void (*end)(TtValidation *v); /* frees; may be NULL */
    /* Right answers among the batch's, for train/acc1; NULL when there is no such thing. */
    int64_t (*correct)(const TtNetInput *in, const TtNetOutput *o);
    /* Put the metrics into OUT; figures of every class when PER_CLASS. NAMES of the classes, or NULL. */
    void (*json)(const TtValidation *v, const char *const *names, bool per_class, json_t *out);
    void (*text)(const TtValidation *v, char *buf, size_t size); /* the same for a line of the console */
    /* Pictures of the first batch, and of a validation beside the curves. TB may be NULL. */
    TtStatus (*first_batch)(const TtTrainer *t, const TtBatch *b, TtTensorboard *tb);
    TtStatus (*pictures)(const TtTrainer *t, const TtValidation *v, TtTensorboard *tb);
} TtTaskDef;

const TtTaskDef *tt_task_find(TtTask task);
/* Whether a smaller value of this metric is better: losses and error rates. */
bool tt_metric_less_is_better(const char *name);
/* KEY's value must be a metric that validations of this task give: val/loss or one of its own. */
TtStatus tt_task_check_metric(const TtTaskDef *d, const char *name, const TtNode *at, const char *key) TT_NODISCARD;

#endif
