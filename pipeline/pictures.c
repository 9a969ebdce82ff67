/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/pictures.c - from a run's numbers and batches to plots. */
#include "pipeline/pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plot.h"
#include "tensor/fs.h"

TtStatus tt_pictures_deliver(const TtTrainer *t, TtPlot *plot, const char *name, TtTensorboard *tb, const char *tag)
{
    const TtLoggingConfig *l = &t->config->logging;
    TtStatus s = TT_OK;
    if (l->plots) {
        char *dir = tt_fs_join(t->run_dir, "plots"), *file = tt_realloc(NULL, strlen(name) + 5);
        sprintf(file, "%s.png", name);
        char *path = tt_fs_join(dir, file);
        s = tt_fs_mkdirs(dir);
        if (s == TT_OK) s = tt_plot_save(plot, path);
        free(path);
        free(file);
        free(dir);
    }
    if (s == TT_OK && tb && tag && l->images)
        s = tt_tensorboard_image(tb, tag, t->step, plot->h, plot->w, plot->png, plot->size);
    tt_plot_free(plot);
    return s;
}

const char *tt_pictures_where(const TtTrainer *t, const char *more, char buf[256])
{
    int64_t step = t->last_val_step;
    snprintf(buf, 256, "%.100s · step %lld · epoch %lld%s%s", t->config->name, (long long)step,
             (long long)(step > 0 ? (step - 1) / t->session.steps_per_epoch : 0), more ? " · " : "", more ? more : "");
    return buf;
}

/* ---- curves: TensorBoard draws its own */

static TtLine line(const TtMetrics *m, const char *key, TtBest best, bool smooth)
{
    const TtCurve *c = tt_metrics_curve(m, key);
    if (!c) return (TtLine){.name = key};
    return (TtLine){.name = key,
                    .x = c->step,
                    .y = c->value,
                    .n = c->n,
                    .best = best,
                    .smooth = smooth && c->n > 75 ? c->n / 75 : 0};
}

/* The task's own metrics: those that anything was logged under. */
static TtStatus draw_task_curve(const TtTrainer *t, const TtMetrics *m, const char *subtitle)
{
    const TtTaskChart *c = &t->session.task->chart;
    if (!c->file) return TT_OK;
    TtLine lines[TT_COUNT(c->keys)];
    int n = 0;
    for (int i = 0; i < TT_COUNT(c->keys) && c->keys[i]; i++) {
        bool train = strncmp(c->keys[i], "train/", 6) == 0;
        bool best = strcmp(c->keys[i], t->session.task->monitor) == 0;
        lines[n] = line(m, c->keys[i], !best ? TT_BEST_NONE : c->less_is_better ? TT_BEST_MIN : TT_BEST_MAX, train);
        if (lines[n].n || n < 2) n++;
    }
    TtChart chart = {.title = c->title,
                     .subtitle = subtitle,
                     .x_label = "step",
                     .y_label = c->y_label,
                     .lines = lines,
                     .n = n,
                     .percent = c->percent};
    TtPlot plot;
    TT_TRY(tt_plot_chart(&chart, &plot));
    return tt_pictures_deliver(t, &plot, c->file, NULL, NULL);
}

static TtStatus draw_curves(const TtTrainer *t, const TtMetrics *m)
{
    char subtitle[256];
    tt_pictures_where(t, NULL, subtitle);
    const TtLine loss[] = {line(m, "train/loss", TT_BEST_NONE, true), line(m, "val/loss", TT_BEST_MIN, false)},
                 lr[] = {line(m, "lr", TT_BEST_NONE, false)}, norm[] = {line(m, "train/grad_norm", TT_BEST_NONE, true)},
                 speed[] = {line(m, "perf/samples_per_sec", TT_BEST_NONE, true)};
    const struct {
        const char *file;
        TtChart chart;
    } charts[] = {
        {"loss", {.title = "Loss", .y_label = "loss", .lines = loss, .n = 2}},
        {"lr", {.title = "Learning rate", .y_label = "learning rate", .lines = lr, .n = 1}},
        {"grad_norm",
         {.title = "Gradient norm", .y_label = "norm before clipping", .lines = norm, .n = 1, .log_y = true}},
        {"speed", {.title = "Speed", .y_label = "samples per second", .lines = speed, .n = 1}},
    };
    for (int i = 0; i < TT_COUNT(charts); i++) {
        TtChart c = charts[i].chart;
        TtPlot plot;
        c.subtitle = subtitle, c.x_label = "step";
        TT_TRY(tt_plot_chart(&c, &plot));
        TT_TRY(tt_pictures_deliver(t, &plot, charts[i].file, NULL, NULL));
    }
    return draw_task_curve(t, m, subtitle);
}

bool tt_pictures_is_tenth(const TtTrainer *t)
{
    int64_t total = t->session.total_steps, every = t->config->trainer.val_interval;
    int64_t before = t->last_val_step - (every > 0 ? every : 1) * t->session.steps_per_epoch;
    return before <= 0 || t->last_val_step == total || 10 * t->last_val_step / total != 10 * before / total;
}

TtStatus tt_pictures_validation(const TtTrainer *t, const TtValidation *v, const TtMetrics *m, TtTensorboard *tb)
{
    const TtLoggingConfig *l = &t->config->logging;
    if (!l->images || (tb && !tt_pictures_is_tenth(t))) tb = NULL;
    if (l->plots) TT_TRY(draw_curves(t, m));
    if (!l->plots && !tb) return TT_OK;
    return v->task->pictures ? v->task->pictures(t, v, tb) : TT_OK;
}

TtStatus tt_pictures_first_batch(const TtTrainer *t, const TtBatch *b, TtTensorboard *tb)
{
    const TtLoggingConfig *l = &t->config->logging;
    if (!l->images) tb = NULL;
    if (!l->plots && !tb) return TT_OK;
    return t->session.task->first_batch ? t->session.task->first_batch(t, b, tb) : TT_OK;
}
