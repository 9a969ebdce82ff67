/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/task_vocoder.c - features to a waveform, sample by sample: the loss says all. */
#include <stdio.h>

#include "pipeline/validate.h"

static TtStatus begin(const TtSession *s, TtValidation *v)
{
    return TT_OK;
}

static TtStatus add(const TtSession *s, TtValidation *v, const TtBatch *b, const TtNetOutput *o)
{
    return TT_OK;
}

static void json(const TtValidation *v, const char *const *names, bool per_class, json_t *o)
{
}

static void text(const TtValidation *v, char *buf, size_t size)
{
    *buf = '\0';
}

static const char *const metrics[] = {NULL};

extern const TtTaskDef tt_task_vocoder;
const TtTaskDef tt_task_vocoder = {
    .task = TT_TASK_VOCODER,
    .samples = "clips",
    .monitor = "val/loss",
    .metrics = metrics,
    .begin = begin,
    .add = add,
    .json = json,
    .text = text,
};
