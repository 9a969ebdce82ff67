/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/step.c - one optimizer step: micro-batches, gradient, clipping, update, moving average.
 *
 * However the step's samples are split, the gradient is that of the mean over all of them: every micro-batch is scaled
 * by the weight of the whole step, so the last, shorter window of an epoch is exact too. */
#include <math.h>
#include <string.h>

#include "pipeline/trainer_impl.h"

/* Forward and backward over the batch; the gradient ends up in the parameter set's slab. */
static TtStatus run_batch(TtTrainer *t, const TtBatch *b, TtStepResult *r)
{
    TtSession *s = &t->session;
    const TtConfig *c = t->config;
    TtParamSet *p = tt_net_params(s->net);
    int micro = (int)(c->data.global_batch_size / c->trainer.grad_accum_steps);
    double weight = tt_net_weight(s->net, b);
    for (int first = 0, number = 0; first < b->n; first += micro, number++) {
        TtNetInput in = tt_net_input(b, first, TT_MIN(micro, b->n - first));
        in.scale = weight > 0 ? 1 / weight : 0;
        TtStepInfo info = {.seed = (uint64_t)c->seed, .step = (uint64_t)t->step, .shard = (uint64_t)number};
        TtNetOutput o;
        TT_TRY(tt_net_run(s->net, true, &in, &info, &o));
        r->loss += o.loss;
        if (s->task->correct) r->correct += s->task->correct(&in, &o);
        bool last = first + micro >= b->n;
        if (number == 0) {
            if (!last) memcpy(t->accumulated, p->grads, p->grads_bytes);
            continue;
        }
        /* The last part is added where the optimizer looks. */
        float *to = last ? p->grads : t->accumulated;
        const float *from = last ? t->accumulated : p->grads;
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < p->trainable_count; i++) to[i] += from[i];
    }
    return TT_OK;
}

static void update_ema(TtTrainer *t)
{
    TtParamSet *p = tt_net_params(t->session.net);
    double d = t->config->trainer.ema_decay;
    for (int i = 0; i < p->count; i++) {
        const TtParam *q = p->list[i];
        int64_t n = tt_shape_count(&q->shape);
        float *to = t->ema + q->offset;
        if (q->dtype == TT_F32)
            tt_ema_update(to, q->value, n, d);
        else
            memcpy(to, q->value, (size_t)n * tt_dtype_size(q->dtype)); /* counters are copied */
    }
}

void tt_trainer_swap_ema(TtTrainer *t)
{
    if (!t->ema) return;
    TtParamSet *p = tt_net_params(t->session.net);
    float *a = p->values, *b = t->ema;
    for (size_t i = 0; i < p->values_bytes / sizeof *a; i++) {
        float v = a[i];
        a[i] = b[i], b[i] = v;
    }
}

/* The groups' rates for the coming update; returns the momentum that a one-cycle schedule sets, else NaN. */
static double set_rates(TtTrainer *t, double *lr)
{
    const TtSession *s = &t->session;
    TtScheduleTime time = {.step = t->step, .total_steps = s->total_steps, .steps_per_epoch = s->steps_per_epoch};
    for (int i = 0; i < tt_optimizer_groups(t->optimizer); i++) {
        TtOptimGroup *g = tt_optimizer_group(t->optimizer, i);
        g->lr = tt_scheduler_lr(s->scheduler, &time, g->base_lr);
    }
    *lr = tt_scheduler_lr(s->scheduler, &time, ((const TtOptimOptions *)s->optimizer.options)->lr);
    double momentum;
    return tt_scheduler_momentum(s->scheduler, &time, &momentum) ? momentum : NAN;
}

TtStatus tt_trainer_step(TtTrainer *t, TtBatch *batch, TtStepResult *r)
{
    const TtConfig *c = t->config;
    TtParamSet *p = tt_net_params(t->session.net);
    double start = tt_now();
    *r = (TtStepResult){.samples = batch->n, .wait = batch->wait};
    /* Running statistics move in the forward pass; a step that is skipped must leave no trace in them. */
    char *buffers = (char *)((float *)p->values + p->trainable_count);
    size_t size = p->values_bytes - (size_t)(buffers - (char *)p->values);
    memcpy(t->buffers, buffers, size);
    TT_TRY(run_batch(t, batch, r));
    r->grad_norm = tt_optimizer_grad_norm(t->optimizer);
    double momentum = set_rates(t, &r->lr);
    r->skipped = !isfinite(r->loss) || !isfinite(r->grad_norm);
    if (r->skipped) {
        t->nonfinite++, t->skipped++;
        memcpy(buffers, t->buffers, size);
    } else {
        t->nonfinite = 0;
        double clip = isnan(c->trainer.clip_grad_norm) ? 1 : tt_clip_scale(r->grad_norm, c->trainer.clip_grad_norm);
        if (!isnan(c->trainer.clip_grad_value)) tt_clip_value(p->grads, p->trainable_count, c->trainer.clip_grad_value);
        tt_optimizer_step(t->optimizer, t->step + 1 - t->skipped, momentum, clip);
        if (t->ema) update_ema(t);
    }
    t->step++;
    t->samples += batch->n;
    r->seconds = tt_now() - start;
    TtInterval *i = &t->interval;
    i->loss += r->loss * batch->n, i->weight += batch->n, i->correct += r->correct, i->samples += batch->n;
    i->grad_norm += r->grad_norm, i->steps++, i->wait += r->wait, i->seconds += r->seconds + r->wait;
    return TT_OK;
}
