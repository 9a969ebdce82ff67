/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/validate.c - one pass over the validation set; what is counted is the task's. */
#include "pipeline/validate.h"

#include <math.h>

#include "pipeline/json.h"
#include "tensor/clock.h"

static TtStatus run_batch(TtSession *s, const TtBatch *b, TtValidation *v, double *loss, double *weight)
{
    if (b->n == 0) return TT_OK; /* none of its samples could be read */
    TtNetInput in = tt_net_input(b, 0, b->n);
    in.scale = 1;
    TtNetOutput o;
    TT_TRY(tt_net_run(s->net, false, &in, &(TtStepInfo){.seed = (uint64_t)s->config->seed}, &o));
    *loss += o.loss;
    *weight += tt_net_weight(s->net, b);
    v->samples += b->n;
    return v->task->add(s, v, b, &o);
}

TtStatus tt_validate(TtSession *s, int64_t max_steps, TtStatus (*tick)(void *user, int64_t step, int64_t steps),
                     void *user, TtValidation *out)
{
    *out = (TtValidation){.task = s->task};
    TT_TRY(s->task->begin(s, out));
    TT_TRY(tt_loader_seek(s->val_loader, 0, 0));
    double started = tt_now(), loss = 0, weight = 0;
    int64_t steps = tt_loader_steps(s->val_loader);
    if (max_steps) steps = TT_MIN(steps, max_steps);
    for (int64_t step = 0; step < steps; step++) {
        TtBatch *b;
        TT_TRY(tt_loader_next(s->val_loader, &b));
        TT_ASSERT(b);
        TtStatus st = run_batch(s, b, out, &loss, &weight);
        tt_loader_release(s->val_loader, b);
        TT_TRY(st);
        if (tick) TT_TRY(tick(user, step + 1, steps));
    }
    out->loss = weight > 0 ? loss / weight : NAN;
    out->seconds = tt_now() - started;
    return TT_OK;
}

json_t *tt_validation_json(const TtValidation *v, const char *const *class_names, bool per_class)
{
    json_t *o = json_object();
    json_object_set_new(o, "val/loss", tt_json_real(v->loss));
    v->task->json(v, class_names, per_class, o);
    json_object_set_new(o, "val/samples", json_integer(v->samples));
    return o;
}

void tt_validation_free(TtValidation *v)
{
    if (v->task && v->task->end) v->task->end(v);
}
