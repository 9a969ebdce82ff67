/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/trainer.c - the loop: steps, validation, checkpoints, and every way to stop. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tensor/fs.h"
#include "pipeline/signals.h"
#include "pipeline/trainer_impl.h"

/* ---- validation and what follows from it */

static bool asked_to_stop(void)
{
    return tt_signals_stop() != TT_OK;
}

static TtStatus stop_reason(const TtTrainer *t);

static TtStatus val_tick(void *user, int64_t step, int64_t steps)
{
    tt_report_val_progress(user, step, steps);
    /* Only when told to: out of time it finishes, or a validation longer than max_time would never end. */
    return step < steps && tt_signals_stop() ? stop_reason(user) : TT_OK;
}

static bool improved(const TtTrainer *t, double value, double min_delta)
{
    if (isnan(value)) return false;
    if (isnan(t->best)) return true;
    return t->session.less_is_better ? value < t->best - min_delta : value > t->best + min_delta;
}

/* A metric of the last validation; NaN when it was not finite, or is none here (val/acc5 of five classes). */
static double last_metric(const TtTrainer *t, const char *name)
{
    json_t *v = t->last_val ? json_object_get(t->last_val, name) : NULL;
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* Validate the weights as they are now; the moving average's where there is one. */
static TtStatus validate(TtTrainer *t, double *metric)
{
    *metric = NAN;
    if (!t->session.val || t->last_val_step == t->step) return TT_OK;
    TtValidation v;
    tt_trainer_swap_ema(t);
    TtStatus s = tt_validate(&t->session, t->dry_run ? 1 : 0, val_tick, t, &v);
    tt_trainer_swap_ema(t);
    if (s == TT_OK) {
        t->last_val_step = t->step;
        tt_report_validation(t, &v);
    }
    tt_validation_free(&v);
    TT_TRY(s);
    *metric = last_metric(t, t->session.monitor);
    if (isnan(*metric)) tt_warn("step %lld: %s is not a number", (long long)t->step, t->session.monitor);
    const TtConfig *c = t->config;
    double min_delta = c->trainer.early_stopping.patience != TT_NULL_INT ? c->trainer.early_stopping.min_delta : 0;
    const char *watched = tt_scheduler_monitor(t->session.scheduler);
    if (watched && tt_scheduler_metric(t->session.scheduler, last_metric(t, watched)))
        tt_warn("step %lld: the learning rate was reduced on a plateau", (long long)t->step);
    if (improved(t, *metric, min_delta)) {
        t->best = *metric, t->best_step = t->step, t->stale = 0;
    } else {
        t->stale++;
    }
    return TT_OK;
}

/* ---- stopping */

static TtStatus check_finite(const TtTrainer *t, const TtStepResult *r)
{
    if (!r->skipped) return TT_OK;
    const char *what = isfinite(r->loss) ? "gradient norm" : "loss";
    if (t->nonfinite < t->config->trainer.nonfinite_patience) {
        tt_warn("step %lld: the %s is not finite; the update was skipped (%lld of %lld in a row)", (long long)t->step,
                what, (long long)t->nonfinite, (long long)t->config->trainer.nonfinite_patience);
        return TT_OK;
    }
    return TT_FAIL(TT_EDIVERGED,
                   "diverged: the %s was not finite at %lld steps in a row, up to step %lld (lr %.4g); lower "
                   "optimizer.lr, add a warm-up or trainer.clip_grad_norm",
                   what, (long long)t->nonfinite, (long long)t->step, r->lr);
}

static bool out_of_time(const TtTrainer *t)
{
    double limit = t->config->trainer.max_seconds;
    return !isnan(limit) && tt_now() - t->started >= limit;
}

/* Why the run stops before its end, or TT_OK. */
static TtStatus stop_reason(const TtTrainer *t)
{
    TtStatus asked = tt_signals_stop();
    if (asked)
        return TT_FAIL(asked, "stopped by %s at step %lld of %lld; the checkpoint is valid: run again to go on",
                       tt_signals_name(), (long long)t->step, (long long)t->session.total_steps);
    if (out_of_time(t))
        return TT_FAIL(TT_ESTOPPED,
                       "stopped by trainer.max_time at step %lld of %lld; the checkpoint is valid: run again "
                       "to go on",
                       (long long)t->step, (long long)t->session.total_steps);
    return TT_OK;
}

static bool stale_too_long(const TtTrainer *t)
{
    int64_t patience = t->config->trainer.early_stopping.patience;
    return patience != TT_NULL_INT && t->stale >= patience;
}

/* ---- the loop */

static bool divides(int64_t every, int64_t n)
{
    return every != TT_NULL_INT && every > 0 && n % every == 0;
}

static bool validation_due(const TtTrainer *t)
{
    int64_t per_epoch = t->session.steps_per_epoch;
    if (!t->session.val || t->last_val_step == t->step || t->step == 0) return false;
    return t->step == t->session.total_steps ||
           (t->step % per_epoch == 0 && divides(t->config->trainer.val_interval, t->step / per_epoch));
}

/* Save what there is, and say why the run stops. */
static TtStatus save_and_stop(TtTrainer *t, double metric)
{
    TT_TRY(tt_trainer_save(t, !isnan(metric), metric));
    TT_TRY(tt_checkpoints_wait(t->checkpoints));
    return stop_reason(t); /* writes the message anew: saving may have warned */
}

/* After a step: validate and save where the config says so. *END: the run is over early. A run that is told to stop
 * during a validation saves what it has, and validates when it goes on. */
static TtStatus after_step(TtTrainer *t, bool *end)
{
    const TtConfig *c = t->config;
    int64_t per_epoch = t->session.steps_per_epoch;
    bool epoch_end = t->step % per_epoch == 0, last = t->step == t->session.total_steps, validated = validation_due(t);
    int64_t epoch = t->step / per_epoch;
    double metric = NAN;
    if (validated) {
        TtStatus s = validate(t, &metric);
        if (s == TT_ESTOPPED || s == TT_EINTERRUPTED) return save_and_stop(t, NAN);
        TT_TRY(s);
    }
    if (validated && stale_too_long(t)) {
        tt_warn("early stopping: %s has not improved for %lld validations; the best was %.6g at step %lld",
                t->session.monitor, (long long)t->stale, t->best, (long long)t->best_step);
        *end = t->stopped_early = true;
    }
    if (!*end && !last && stop_reason(t) != TT_OK) return save_and_stop(t, metric);
    bool due =
        divides(c->checkpoint.every_n_steps, t->step) || (epoch_end && divides(c->checkpoint.every_n_epochs, epoch));
    bool final = (last || *end) && c->checkpoint.save_last;
    if (due || final || tt_signals_take_save()) TT_TRY(tt_trainer_save(t, !isnan(metric), metric));
    return TT_OK;
}

static TtStatus loop(TtTrainer *t)
{
    TtSession *s = &t->session;
    int64_t total = s->total_steps, per_epoch = s->steps_per_epoch;
    if (t->step < total) TT_TRY(tt_loader_seek(s->train_loader, t->step / per_epoch, t->step % per_epoch));
    bool end = false;
    if (asked_to_stop()) return save_and_stop(t, NAN);  /* while things were being opened */
    if (validation_due(t)) TT_TRY(after_step(t, &end)); /* it was stopped in the middle */
    while (t->step < total && !end) {
        TtBatch *b;
        TtStatus got = tt_loader_next(s->train_loader, &b);
        if (got == TT_ESTOPPED && stop_reason(t) != TT_OK) return save_and_stop(t, NAN); /* while waiting for data */
        TT_TRY(got);
        if (!b) continue; /* the end of an epoch */
        if (t->step == 0) TT_TRY(tt_report_first_batch(t, b));
        TtStepResult r;
        TtStatus st = tt_trainer_step(t, b, &r);
        tt_loader_release(s->train_loader, b);
        TT_TRY(st);
        tt_report_step(t, &r);
        TT_TRY(check_finite(t, &r));
        TT_TRY(after_step(t, &end));
    }
    TT_TRY(tt_checkpoints_wait(t->checkpoints));
    return TT_OK;
}

/* ---- set-up */

TtStatus tt_trainer_allocate(TtTrainer *t)
{
    TtParamSet *p = tt_net_params(t->session.net);
    const TtConfig *c = t->config;
    TT_TRY(tt_alloc(&t->buffers, TT_MAX(p->values_bytes - (size_t)p->trainable_count * sizeof(float), (size_t)1)));
    if (c->trainer.grad_accum_steps > 1) TT_TRY(tt_alloc((void **)&t->accumulated, p->grads_bytes));
    if (!isnan(c->trainer.ema_decay)) {
        TT_TRY(tt_alloc((void **)&t->ema, p->values_bytes));
        memcpy(t->ema, p->values, p->values_bytes);
    }
    TT_TRY(tt_optimizer_open(&t->session.optimizer, p, &t->optimizer));
    TtScheduleTime start = {.total_steps = t->session.total_steps, .steps_per_epoch = t->session.steps_per_epoch};
    double momentum;
    return tt_optimizer_allocate(t->optimizer, tt_scheduler_momentum(t->session.scheduler, &start, &momentum));
}

/* What an earlier run left is removed only when data and weights are there to begin anew, and only from a folder that is a
 * run's: output_dir may be any folder. */
static TtStatus remove_earlier(TtTrainer *t)
{
    if (!tt_fs_exists(tt_arena_printf(&t->arena, "%s/status.json", t->run_dir)) &&
        !tt_fs_exists(tt_arena_printf(&t->arena, "%s/checkpoints", t->run_dir)))
        return TT_OK;
    static const char *const ours[] = {
        "checkpoints", "tb",          "plots",    "metrics.jsonl", "summary.csv",         "bad_samples.tsv",
        "train.log",   "status.json", "env.json", "config.yaml",   "config.resolved.yaml"};
    for (int i = 0; i < TT_COUNT(ours); i++) TT_TRY(tt_fs_remove_tree(t->run_dir, ours[i]));
    return TT_OK;
}

static TtStatus open_run(TtTrainer *t, const TtTrainerOptions *o, bool *complete)
{
    TtSession *s = &t->session;
    s->bad_samples_path = tt_arena_printf(&t->arena, "%s/bad_samples.tsv", t->run_dir);
    s->stop = asked_to_stop;
    TT_TRY(tt_session_open_data(s, TT_SESSION_TRAIN | TT_SESSION_VAL));
    if (o->overwrite) {
        TT_TRY(tt_session_open_net(s));
        TT_TRY(remove_earlier(t));
    }
    if (o->dry_run) s->total_steps = TT_MIN(s->total_steps, (int64_t)2), t->dry_run = true;
    TT_TRY(tt_session_open_loaders(s));
    TT_TRY(tt_loader_seek(s->train_loader, 0, 0)); /* workers decode while the network is being built */
    if (!s->net) TT_TRY(tt_session_open_net(s));
    TT_TRY(tt_trainer_allocate(t));
    bool resumed = false;
    TT_TRY(tt_trainer_restore(t, o->resume, &resumed));
    *complete = resumed && ((t->step >= s->total_steps && !validation_due(t)) || t->stopped_early);
    t->first_step = t->step;
    return *complete ? TT_OK : tt_report_open(t, o, resumed, &t->report);
}

void tt_trainer_release(TtTrainer *t)
{
    tt_checkpoints_close(t->checkpoints);
    tt_optimizer_free(t->optimizer);
    tt_free(t->accumulated);
    tt_free(t->buffers);
    tt_free(t->ema);
    tt_session_close(&t->session);
    json_decref(t->last_val);
    tt_arena_free(&t->arena);
}

/* The run directory, locked. Nothing is made where there is nothing to go on from. */
static TtStatus open_directory(TtTrainer *t, const TtTrainerOptions *o, TtFsLock *lock)
{
    const char *resume = o->resume ? o->resume : t->config->resume;
    if (strcmp(resume, "must") == 0 && !tt_fs_exists(t->run_dir))
        return TT_FAIL(TT_ECHECKPOINT, "%s: does not exist, and resume is `must`", t->run_dir);
    if (tt_fs_mkdirs(t->run_dir) != TT_OK) /* output_dir is at fault */
        return TT_FAIL(TT_ECONFIG, "output_dir: %s", tt_error_message());
    if (access(t->run_dir, W_OK) != 0)
        return TT_FAIL(TT_ECONFIG, "output_dir: %s: cannot be written to: %s", t->run_dir, strerror(errno));
    TT_TRY(tt_fs_lock(lock, tt_arena_printf(&t->arena, "%s/.lock", t->run_dir)));
    return tt_fs_remove_temps(t->run_dir);
}

static void print_complete(const TtTrainer *t)
{
    int64_t total = t->session.total_steps;
    if (t->step > total)
        fprintf(stderr, "%s is complete: %lld steps done, and the config asks for %lld\n", t->run_dir,
                (long long)t->step, (long long)total);
    else
        fprintf(stderr, "%s is complete: %lld of %lld steps done%s\n", t->run_dir, (long long)t->step, (long long)total,
                t->stopped_early ? " (stopped early)" : "");
}

static const char *state_name(TtStatus s)
{
    return s == TT_OK ? "done" : s == TT_ESTOPPED || s == TT_EINTERRUPTED ? "stopped" : "failed";
}

TtStatus tt_train(const TtConfig *c, const TtTrainerOptions *o)
{
    TtTrainer t = {.config = c, .best = NAN, .last_val_step = -1, .started = tt_now()};
    t.run_dir = o->run_dir ? o->run_dir : c->output_dir;
    TtFsLock lock = {0};
    tt_signals_install();
    /* A config that is refused costs nothing: no directory is made, no earlier run is overwritten. */
    TtStatus s = tt_session_parse(c, &t.session);
    if (s == TT_OK) s = open_directory(&t, o, &lock);
    bool complete = false;
    if (s == TT_OK) s = open_run(&t, o, &complete);
    if (s == TT_OK && complete) {
        if (!o->dry_run) print_complete(&t);
    } else if (s == TT_OK) {
        tt_report_status(&t, "running");
        s = loop(&t);
    }
    char message[2048];
    snprintf(message, sizeof message, "%s", tt_error_message());
    if (t.report) {
        tt_report_status(&t, state_name(s));
        tt_report_close(&t, s);
    }
    tt_trainer_release(&t);
    tt_fs_unlock(&lock);
    return s == TT_OK ? TT_OK : tt_error_set(s, message, NULL); /* closing may have met errors of its own */
}
