/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/task_separation.c - a mixture to its sources: how many dB better than the mixture. */
#include <math.h>
#include <stdio.h>

#include "kernels/ops/si_snr.h"
#include "pipeline/json.h"
#include "pipeline/validate.h"

static TtStatus begin(const TtSession *s, TtValidation *v)
{
    return TT_OK;
}

static TtStatus add(const TtSession *s, TtValidation *v, const TtBatch *b, const TtNetOutput *o)
{
    const int64_t row = o->frames * o->classes;
    double *gain;
    TT_TRY(tt_alloc((void **)&gain, (size_t)b->n * sizeof *gain));
    /* The metric is that of the best assignment, whatever the loss was told. */
#pragma omp parallel for schedule(static)
    for (int i = 0; i < b->n; i++)
        gain[i] = tt_si_snr_improvement(o->logits + i * row, (const float *)b->targets.data + i * row,
                                        (const float *)b->x.data + i * o->frames, o->frames, (int)o->classes, false);
    for (int i = 0; i < b->n; i++) v->si_snri += gain[i];
    tt_free(gain);
    return TT_OK;
}

static double mean_gain(const TtValidation *v)
{
    return v->samples ? v->si_snri / (double)v->samples : NAN;
}

static void json(const TtValidation *v, const char *const *names, bool per_class, json_t *o)
{
    json_object_set_new(o, "val/si_snri", tt_json_real(mean_gain(v)));
}

static void text(const TtValidation *v, char *buf, size_t size)
{
    snprintf(buf, size, "si_snri %.2f dB", mean_gain(v));
}

static const char *const metrics[] = {"val/si_snri", NULL};

extern const TtTaskDef tt_task_separation;
const TtTaskDef tt_task_separation = {
    .task = TT_TASK_SEPARATION,
    .samples = "clips",
    .monitor = "val/si_snri",
    .metrics = metrics,
    .chart = {.file = "si_snri",
              .title = "SI-SNR improvement",
              .y_label = "dB above the mixture",
              .keys = {"val/si_snri"}},
    .begin = begin,
    .add = add,
    .json = json,
    .text = text,
};
