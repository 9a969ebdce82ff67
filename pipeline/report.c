/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/report.c - what people see of a run: console, train.log, metrics.jsonl, summary.csv, TensorBoard, plots,
 * status.json. Nothing here changes what is computed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/evaluate.h"
#include "pipeline/json.h"
#include "pipeline/metrics.h"
#include "pipeline/pictures.h"
#include "pipeline/progress.h"
#include "pipeline/runinfo.h"
#include "pipeline/tensorboard.h"
#include "pipeline/trainer_impl.h"
#include "tensor/fs.h"

struct TtReport {
    TtConsole *console;
    TtMetrics *metrics;
    TtTensorboard *tensorboard;
    double epoch_loss, epoch_weight; /* since the epoch began, or since this session did */
    int64_t epoch;
    double rate;        /* samples a second, smoothed */
    double last_status; /* when status.json was written */
    bool failed;        /* a log could not be written: said once */
    double drawn;       /* when the pictures of a validation were drawn, and how long that took */
    double draw_seconds;
    TtValidation undrawn; /* the last validation, when its pictures are still to be drawn */
    bool has_undrawn;
};

/* A log that cannot be written must not end a run of days: say so once and go on. */
static void note(TtReport *r, TtStatus s)
{
    if (s == TT_OK || r->failed) return;
    r->failed = true;
    tt_warn("logging: %s; training goes on", tt_error_message());
}

static void print_start(TtTrainer *t, bool resumed)
{
    TtSession *s = &t->session;
    const TtParamSet *p = tt_net_params(s->net);
    TtConsole *c = t->report->console;
    tt_console_print(c, "%s: %s, %.2f M parameters, %s, %d threads (%s), %d workers", t->config->name,
                     s->model.def->name, (double)tt_params_number(p) / 1e6,
                     t->config->trainer.precision == TT_PRECISION_BF16 ? "bf16" : "fp32", s->threads, tt_cpu_isa(),
                     s->num_workers);
    char text[TT_SAMPLE_TEXT];
    tt_console_print(
        c, "train: %lld %s in %lld steps an epoch of %lld; val: %lld", (long long)tt_sampler_count(s->train_sampler),
        tt_session_sample_text(s->train, &s->train_shape, text), (long long)s->steps_per_epoch,
        (long long)t->config->data.global_batch_size, (long long)(s->val ? tt_sampler_count(s->val_sampler) : 0));
    if (resumed)
        tt_console_print(c, "resumed at step %lld of %lld (epoch %lld)", (long long)t->step, (long long)s->total_steps,
                         (long long)(t->step / s->steps_per_epoch));
}

static TtStatus write_config(const TtTrainer *t)
{
    const TtConfig *c = t->config;
    char *path = tt_fs_join(t->run_dir, "config.yaml"), *text = NULL;
    size_t size = 0;
    TtStatus s = tt_fs_write(path, c->bytes, c->size);
    free(path);
    TT_TRY(s);
    FILE *f = open_memstream(&text, &size);
    s = tt_config_write_resolved(c, f);
    fclose(f);
    path = tt_fs_join(t->run_dir, "config.resolved.yaml");
    if (s == TT_OK) s = tt_fs_write(path, text, size);
    free(path);
    free(text);
    return s;
}

TtStatus tt_report_open(TtTrainer *t, const TtTrainerOptions *o, bool resumed, TtReport **out)
{
    const TtLoggingConfig *l = &t->config->logging;
    TtReport *r = tt_realloc(NULL, sizeof *r);
    *r = (TtReport){.epoch = -1, .drawn = -INFINITY};
    *out = r;
    TT_TRY(tt_console_open(tt_arena_printf(&t->arena, "%s/train.log", t->run_dir),
                           l->progress == TT_AUTO_BOOL ? -1 : l->progress == TT_TRUE, &r->console));
    TT_TRY(write_config(t));
    TT_TRY(tt_runinfo_write(t->run_dir, o->argc, o->argv, t->session.threads));
    TT_TRY(tt_metrics_open(t->run_dir, l->jsonl, l->csv, t->step, &r->metrics));
    if (l->tensorboard) {
        TT_TRY(tt_tensorboard_open(tt_arena_printf(&t->arena, "%s/tb", t->run_dir), t->step + 1, &r->tensorboard));
        if (!resumed) {
            char *text = tt_arena_strndup(&t->arena, t->config->bytes, t->config->size);
            note(r, tt_tensorboard_code(r->tensorboard, "config", 0, text));
        }
    }
    print_start(t, resumed);
    return TT_OK;
}

/* ---- training steps */

static double eta(const TtTrainer *t)
{
    double done = (double)(t->step - t->first_step), seconds = tt_now() - t->started;
    return done > 0 ? (double)(t->session.total_steps - t->step) * seconds / done : NAN;
}

static void show_progress(TtTrainer *t, const TtStepResult *s, bool line)
{
    TtReport *r = t->report;
    char text[TT_PROGRESS_TEXT];
    int64_t per_epoch = t->session.steps_per_epoch, at = (t->step - 1) % per_epoch + 1;
    TtProgressLine p = {.epoch = (t->step - 1) / per_epoch,
                        .step = at,
                        .steps = per_epoch,
                        .loss = s->loss,
                        .mean_loss = r->epoch_loss / r->epoch_weight,
                        .lr = s->lr,
                        .samples = t->session.task->samples,
                        .samples_per_second = r->rate,
                        .step_seconds = s->seconds,
                        .data_seconds = s->wait,
                        .grad_norm = s->grad_norm,
                        .memory = tt_memory_resident(),
                        .eta = eta(t)};
    /* The bar is for now; a line is for later, in train.log too. */
    if (tt_console_has_bar(r->console)) {
        tt_console_bar(r->console, tt_progress_fit(&p, tt_console_width(r->console), text));
        if (line) tt_console_log(r->console, "%s", tt_progress_format(&p, text));
    } else if (line)
        tt_console_print(r->console, "%s", tt_progress_format(&p, text));
}

/* The mean over the interval, and what this machine did in it. */
static void write_train_event(TtTrainer *t, const TtStepResult *s)
{
    TtReport *r = t->report;
    TtInterval *i = &t->interval;
    double n = (double)i->steps;
    json_t *e = json_object();
    json_object_set_new(e, "event", json_string("train"));
    json_object_set_new(e, "step", json_integer(t->step));
    json_object_set_new(e, "epoch", json_integer((t->step - 1) / t->session.steps_per_epoch));
    json_object_set_new(e, "train/loss", tt_json_real(i->loss / i->weight));
    if (t->session.task->correct)
        json_object_set_new(e, "train/acc1", tt_json_real((double)i->correct / (double)i->samples));
    json_object_set_new(e, "train/grad_norm", tt_json_real(i->grad_norm / n));
    json_object_set_new(e, "lr", tt_json_real(s->lr));
    json_object_set_new(e, "perf/samples_per_sec",
                        tt_json_real(i->seconds > 0 ? (double)i->samples / i->seconds : NAN));
    json_object_set_new(e, "perf/data_wait", tt_json_real(i->seconds > 0 ? i->wait / i->seconds : 0));
    json_object_set_new(e, "perf/peak_mb", tt_json_real(tt_memory_peak() / 1e6));
    note(r, tt_metrics_event(r->metrics, e));
    const char *key;
    json_t *v;
    if (r->tensorboard)
        json_object_foreach(e, key, v) if (json_is_real(v))
            note(r, tt_tensorboard_scalar(r->tensorboard, key, t->step, json_real_value(v)));
    json_decref(e);
    *i = (TtInterval){0};
}

static void write_histograms(TtTrainer *t)
{
    TtReport *r = t->report;
    const TtParamSet *p = tt_net_params(t->session.net);
    for (int i = 0; i < p->count; i++) {
        const TtParam *q = p->list[i];
        int64_t n = tt_shape_count(&q->shape);
        if (q->buffer) continue;
        note(r, tt_tensorboard_histogram(r->tensorboard, tt_arena_printf(&t->arena, "weights/%s", q->name), t->step,
                                         q->value, n));
        note(r, tt_tensorboard_histogram(r->tensorboard, tt_arena_printf(&t->arena, "gradients/%s", q->name), t->step,
                                         q->grad, n));
    }
}

void tt_report_step(TtTrainer *t, const TtStepResult *s)
{
    TtReport *r = t->report;
    const TtLoggingConfig *l = &t->config->logging;
    int64_t epoch = (t->step - 1) / t->session.steps_per_epoch;
    if (epoch != r->epoch) r->epoch = epoch, r->epoch_loss = r->epoch_weight = 0;
    r->epoch_loss += s->loss * (double)s->samples, r->epoch_weight += (double)s->samples;
    double rate = (double)s->samples / (s->seconds + s->wait + 1e-9);
    r->rate = r->rate > 0 ? 0.9 * r->rate + 0.1 * rate : rate;
    int64_t per_epoch = t->session.steps_per_epoch;
    /* An epoch shorter than the interval is logged when it ends. */
    bool due = t->step % (per_epoch < l->interval ? per_epoch : l->interval) == 0 || t->step == t->session.total_steps;
    show_progress(t, s, due);
    if (due) write_train_event(t, s);
    if (r->tensorboard && l->histograms_interval != TT_NULL_INT && t->step % l->histograms_interval == 0)
        write_histograms(t);
    if (tt_now() - r->last_status > 10) tt_report_status(t, "running");
}

TtStatus tt_report_first_batch(TtTrainer *t, const TtBatch *b)
{
    note(t->report, tt_pictures_first_batch(t, b, t->report->tensorboard));
    return TT_OK;
}

/* ---- validation */

void tt_report_val_progress(TtTrainer *t, int64_t step, int64_t steps)
{
    char text[TT_PROGRESS_TEXT];
    snprintf(text, sizeof text, "val %lld [%lld/%lld %d%%]", (long long)((t->step - 1) / t->session.steps_per_epoch),
             (long long)step, (long long)steps, (int)(100 * step / steps));
    tt_console_bar(t->report->console, text);
}

static void draw(TtTrainer *t, const TtValidation *v)
{
    TtReport *r = t->report;
    double start = tt_now();
    note(r, tt_pictures_validation(t, v, r->metrics, r->tensorboard));
    r->drawn = tt_now();
    r->draw_seconds = r->drawn - start;
}

static void forget_undrawn(TtReport *r)
{
    if (r->has_undrawn) tt_validation_free(&r->undrawn);
    r->has_undrawn = false;
}

/* Pictures take no more than a twentieth of a run whose validations come thick and fast: those of one that is soon
 * followed by another are drawn only if the run ends there. */
static void draw_or_keep(TtTrainer *t, TtValidation *v)
{
    TtReport *r = t->report;
    forget_undrawn(r);
    if (tt_pictures_is_tenth(t) || tt_now() - r->drawn >= TT_MAX(5, 20 * r->draw_seconds)) {
        draw(t, v);
        return;
    }
    r->undrawn = *v;
    r->has_undrawn = true;
    *v = (TtValidation){0};
}

void tt_report_validation(TtTrainer *t, TtValidation *v)
{
    TtReport *r = t->report;
    int n;
    const char *const *names = tt_session_classes(&t->session, &n);
    if (n != tt_model_classes(&t->session.model)) names = NULL;
    json_t *m = tt_validation_json(v, names, false), *row = json_object();
    json_decref(t->last_val);
    t->last_val = m;
    json_object_set_new(row, "step", json_integer(t->step));
    json_object_set_new(row, "epoch", json_integer((t->step - 1) / t->session.steps_per_epoch));
    json_object_update(row, m);
    note(r, tt_metrics_row(r->metrics, row));
    json_t *per_class = tt_validation_json(v, names, tt_model_classes(&t->session.model) <= 1000);
    json_t *event = json_object();
    json_object_set_new(event, "event", json_string("val"));
    json_object_update(event, row);
    json_object_update_missing(event, per_class);
    json_decref(per_class);
    note(r, tt_metrics_event(r->metrics, event));
    json_decref(event);
    const char *key;
    json_t *x;
    if (r->tensorboard) {
        json_object_foreach(m, key, x) if (json_is_real(x))
            note(r, tt_tensorboard_scalar(r->tensorboard, key, t->step, json_real_value(x)));
        note(r, tt_tensorboard_flush(r->tensorboard));
    }
    json_decref(row);
    char metrics[128] = "";
    v->task->text(v, metrics, sizeof metrics);
    tt_console_clear(r->console);
    tt_console_print(r->console, "val   %lld step %lld  loss %.4f  %s%s%lld samples in %.1f s%s",
                     (long long)((t->step - 1) / t->session.steps_per_epoch), (long long)t->step, v->loss, metrics,
                     *metrics ? "  " : "", (long long)v->samples, v->seconds, t->ema ? "  (moving average)" : "");
    draw_or_keep(t, v);
}

/* ---- status and end */

void tt_report_status(TtTrainer *t, const char *state)
{
    TtReport *r = t->report;
    r->last_status = tt_now();
    json_t *o = json_object();
    json_object_set_new(o, "step", json_integer(t->step));
    json_object_set_new(o, "total_steps", json_integer(t->session.total_steps));
    json_object_set_new(o, "epoch", json_integer(t->step / t->session.steps_per_epoch));
    json_object_set_new(o, "samples_per_sec", tt_json_real(r->rate));
    json_object_set_new(o, "eta_seconds", tt_json_real(eta(t)));
    if (!isnan(t->best)) json_object_set_new(o, "best", tt_json_real(t->best));
    if (t->last_val) json_object_update(o, t->last_val);
    note(r, tt_runinfo_status(t->run_dir, state, o));
    json_decref(o);
}

void tt_report_close(TtTrainer *t, TtStatus status)
{
    TtReport *r = t->report;
    if (!r) return;
    char duration[32];
    char message[2048]; /* drawing may meet an error of its own */
    snprintf(message, sizeof message, "%s", tt_error_message());
    if (r->console) tt_console_clear(r->console);
    if (r->has_undrawn) draw(t, &r->undrawn);
    forget_undrawn(r);
    /* The process prints it as it ends, when there is no console any more. */
    if (r->console && status != TT_OK) tt_console_log(r->console, "exit %d: %s", (int)status, message);
    if (r->console && status == TT_OK && t->step >= t->first_step) {
        if (!isnan(t->best))
            tt_console_print(r->console, "done: %lld steps in %s; best %s %.6g at step %lld; %s", (long long)t->step,
                             tt_duration_format(tt_now() - t->started, duration), t->session.monitor, t->best,
                             (long long)t->best_step, t->run_dir);
        else
            tt_console_print(r->console, "done: %lld steps in %s; %s", (long long)t->step,
                             tt_duration_format(tt_now() - t->started, duration), t->run_dir);
    }
    if (r->tensorboard) note(r, tt_tensorboard_close(r->tensorboard));
    tt_metrics_close(r->metrics);
    tt_console_close(r->console);
    free(r);
    t->report = NULL;
}
