/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/validate.c - loss, accuracies, confusion matrix and worst mistakes over the validation set. */
#include "pipeline/validate.h"
#include "tensor/clock.h"

#include <math.h>
#include <string.h>

/* Insert into the list of the largest losses, largest first; ties keep the earlier sample. */
static void keep_worst(TtValidation *v, TtMistake m)
{
    int at = v->n_worst;
    while (at > 0 && v->worst[at - 1].loss < m.loss) at--;
    if (at == TT_WORST) return;
    if (v->n_worst < TT_WORST) v->n_worst++;
    memmove(&v->worst[at + 1], &v->worst[at], sizeof m * (size_t)(v->n_worst - 1 - at));
    v->worst[at] = m;
}

static double probability(const float *logits, int64_t classes, int64_t which)
{
    double max = -INFINITY, sum = 0;
    for (int64_t c = 0; c < classes; c++) max = fmax(max, logits[c]);
    for (int64_t c = 0; c < classes; c++) sum += exp(logits[c] - max);
    return exp(logits[which] - max) / sum;
}

static void note_mistakes(TtValidation *v, const TtBatch *b, const TtNetOutput *o)
{
    for (int i = 0; i < b->n; i++) {
        const float *row = o->logits + i * o->classes;
        int64_t best = tt_class_predicted(row, o->classes);
        if (best == b->labels[i]) continue;
        keep_worst(v, (TtMistake){.index = b->indices[i],
                                  .label = b->labels[i],
                                  .predicted = best,
                                  .loss = o->per_sample[i],
                                  .probability = probability(row, o->classes, best)});
    }
}

TtStatus tt_validate(TtSession *s, int64_t max_steps, TtStatus (*tick)(void *user, int64_t step, int64_t steps),
                     void *user, TtValidation *out)
{
    *out = (TtValidation){0};
    TT_TRY(tt_class_stats_init(&out->stats, (int)tt_model_classes(&s->model)));
    TT_TRY(tt_loader_seek(s->val_loader, 0, 0));
    double started = tt_now(), loss = 0, weight = 0;
    int64_t steps = tt_loader_steps(s->val_loader);
    if (max_steps) steps = TT_MIN(steps, max_steps);
    for (int64_t step = 0; step < steps; step++) {
        TtBatch *b;
        TT_TRY(tt_loader_next(s->val_loader, &b));
        TT_ASSERT(b);
        TtNetInput in = {.n = b->n,
                         .h = (int)b->x.shape.dims[1],
                         .w = (int)b->x.shape.dims[2],
                         .x = b->x.data,
                         .labels = b->labels,
                         .scale = 1};
        TtNetOutput o;
        TtStatus st = tt_net_run(s->net, false, &in, &(TtStepInfo){.seed = (uint64_t)s->config->seed}, &o);
        if (st == TT_OK) {
            loss += o.loss;
            weight += tt_loss_weight(&s->loss, b->labels, b->n, false);
            tt_class_stats_add(&out->stats, o.logits, b->labels, b->n);
            note_mistakes(out, b, &o);
            out->samples += b->n;
            if (tick) st = tick(user, step + 1, steps);
        }
        tt_loader_release(s->val_loader, b);
        TT_TRY(st);
    }
    out->loss = weight > 0 ? loss / weight : NAN;
    out->seconds = tt_now() - started;
    return TT_OK;
}

void tt_validation_free(TtValidation *v)
{
    tt_class_stats_free(&v->stats);
}
