/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/pictures.c - from a run's numbers and batches to plots. */
#include "pipeline/pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plot.h"
#include "tensor/fs.h"

enum { SHOWN = 64, CAPTION = 160 };

/* To plots/NAME.png and TensorBoard, as the config wants; frees the plot. TAG NULL: not to TensorBoard. */
static TtStatus deliver(const TtTrainer *t, TtPlot *plot, const char *name, TtTensorboard *tb, const char *tag)
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

/* "NAME, step 100, epoch 3": where the last validation was. */
static const char *where(const TtTrainer *t, const char *more, char buf[256])
{
    int64_t step = t->last_val_step;
    snprintf(buf, 256, "%.100s · step %lld · epoch %lld%s%s", t->config->name, (long long)step,
             (long long)(step > 0 ? (step - 1) / t->session.steps_per_epoch : 0), more ? " · " : "", more ? more : "");
    return buf;
}

static const char *const *class_names(const TtTrainer *t, int classes)
{
    int n;
    const char *const *names = tt_session_classes(&t->session, &n);
    return n == classes ? names : NULL;
}

static void name_class(const char *const *names, int64_t i, char *buf, size_t size)
{
    if (names)
        snprintf(buf, size, "%s", names[i]);
    else
        snprintf(buf, size, "class %lld", (long long)i);
}

/* ---- pictures as the model sees them */

typedef struct Gallery {
    int n;
    TtTile tiles[SHOWN];
    uint8_t *pixels[SHOWN];
    char captions[SHOWN][2][CAPTION];
} Gallery;

static void free_gallery(Gallery *g)
{
    for (int i = 0; i < g->n; i++) tt_free(g->pixels[i]);
    free(g);
}

/* A tile of X (h,w,3), normalised by CHAIN; its captions are for the caller to write. */
static TtStatus add_tile(Gallery *g, const float *x, int h, int w, const TtTransformChain *chain)
{
    float mean[3] = {0}, std[3] = {1, 1, 1};
    tt_transform_chain_normalize(chain, mean, std);
    TT_TRY(tt_alloc((void **)&g->pixels[g->n], (size_t)h * (size_t)w * 3));
    tt_plot_pixels(x, h, w, mean, std, g->pixels[g->n]);
    g->tiles[g->n] = (TtTile){.rgb = g->pixels[g->n], .h = h, .w = w, .caption = {g->captions[g->n][0]}};
    g->n++;
    return TT_OK;
}

/* The class of sample I; of one that MixUp or CutMix made, both classes with their shares. */
static void caption_sample(const TtBatch *b, int i, const char *const *names, int64_t classes, char out[2][CAPTION])
{
    if (!b->targets.data) {
        if (b->labels[i] >= 0) name_class(names, b->labels[i], out[0], CAPTION);
        return;
    }
    const float *p = (const float *)b->targets.data + (size_t)i * (size_t)classes;
    int64_t first = 0, second = -1;
    for (int64_t c = 1; c < classes; c++)
        if (p[c] > p[first]) first = c;
    for (int64_t c = 0; c < classes; c++)
        if (c != first && p[c] > 0 && (second < 0 || p[c] > p[second])) second = c;
    for (int k = 0; k < 2; k++) {
        int64_t c = k == 0 ? first : second;
        char name[CAPTION - 16];
        if (c < 0) continue;
        name_class(names, c, name, sizeof name);
        snprintf(out[k], CAPTION, "%.0f%% %s", 100 * (double)p[c], name);
    }
}

TtStatus tt_pictures_first_batch(const TtTrainer *t, const TtBatch *b, TtTensorboard *tb)
{
    const TtLoggingConfig *l = &t->config->logging;
    if (!l->plots && !(l->images && tb)) return TT_OK;
    int h = (int)b->x.shape.dims[1], w = (int)b->x.shape.dims[2];
    int64_t classes = tt_model_classes(&t->session.model);
    const char *const *names = class_names(t, (int)classes);
    Gallery *g = memset(tt_realloc(NULL, sizeof *g), 0, sizeof *g);
    TtStatus s = TT_OK;
    for (int i = 0; i < TT_MIN(b->n, SHOWN) && s == TT_OK; i++) {
        caption_sample(b, i, names, classes, g->captions[i]);
        s = add_tile(g, (const float *)b->x.data + (size_t)i * (size_t)h * (size_t)w * 3, h, w,
                     &t->session.train_transforms);
        if (g->captions[i][1][0]) g->tiles[i].caption[1] = g->captions[i][1];
    }
    char more[96], subtitle[256];
    snprintf(more, sizeof more, "%d of %d pictures, %d x %d, after the transforms", g->n, b->n, w, h);
    snprintf(subtitle, sizeof subtitle, "%.100s · %s", t->config->name, more);
    TtPlot plot;
    if (s == TT_OK)
        s = tt_plot_grid(&(TtGridPlot){.title = "First batch", .subtitle = subtitle, .tiles = g->tiles, .n = g->n},
                         &plot);
    if (s == TT_OK) s = deliver(t, &plot, "first_batch", tb, "pictures/first_batch");
    free_gallery(g);
    return s;
}

/* Read the sample again and transform it as validation does; one that cannot be read any more is left out. */
static TtStatus add_mistake(const TtTrainer *t, Gallery *g, const TtMistake *m, const char *const *names,
                            TtSample *sample, TtTransformScratch *scratch)
{
    const TtDataset *d = t->session.val;
    if (d->def->read(d, m->index, sample) != TT_OK) return TT_OK;
    TtStatus s = tt_transform_chain_apply(&t->session.val_transforms, (uint64_t)t->config->seed, 0, (uint64_t)m->index,
                                          sample->name, &sample->image, scratch);
    const TtImage *im = &sample->image;
    if (s != TT_OK || im->c != 3) return TT_OK;
    int i = g->n;
    char name[CAPTION - 16];
    name_class(names, m->label, g->captions[i][0], CAPTION);
    name_class(names, m->predicted, name, sizeof name);
    snprintf(g->captions[i][1], CAPTION, "%.0f%% %s", 100 * m->probability, name);
    TT_TRY(add_tile(g, im->data, im->h, im->w, &t->session.val_transforms));
    g->tiles[i].caption[1] = g->captions[i][1];
    g->tiles[i].wrong = true;
    return TT_OK;
}

static TtStatus draw_mistakes(const TtTrainer *t, const TtValidation *v, TtTensorboard *tb)
{
    const char *const *names = class_names(t, v->stats.classes);
    Gallery *g = memset(tt_realloc(NULL, sizeof *g), 0, sizeof *g);
    TtSample sample = {0};
    TtTransformScratch scratch = {0};
    TtStatus s = TT_OK;
    for (int i = 0; i < v->n_worst && s == TT_OK; i++) s = add_mistake(t, g, &v->worst[i], names, &sample, &scratch);
    tt_sample_free(&sample);
    tt_transform_scratch_free(&scratch);
    char subtitle[256];
    where(t, g->n ? "true class, and what was predicted instead; largest loss first" : NULL, subtitle);
    TtPlot plot;
    if (s == TT_OK)
        s = tt_plot_grid(&(TtGridPlot){.title = "Worst mistakes",
                                       .subtitle = subtitle,
                                       .tiles = g->tiles,
                                       .n = g->n,
                                       .empty = v->n_worst ? "none can be read any more" : "no mistakes"},
                         &plot);
    if (s == TT_OK) s = deliver(t, &plot, "worst_mistakes", tb, "pictures/worst_mistakes");
    free_gallery(g);
    return s;
}

/* ---- classes */

static TtStatus draw_classes(const TtTrainer *t, const TtClassStats *c, TtTensorboard *tb)
{
    const char *const *names = class_names(t, c->classes);
    char more[96], subtitle[256];
    snprintf(more, sizeof more, "%lld of %lld right, %.2f%%", (long long)c->top1, (long long)c->samples,
             100 * tt_class_stats_acc1(c));
    where(t, more, subtitle);
    TtPlot plot;
    if (c->confusion) {
        TT_TRY(tt_plot_confusion(&(TtConfusion){.title = "Confusion matrix",
                                                .subtitle = subtitle,
                                                .counts = c->confusion,
                                                .classes = c->classes,
                                                .names = names},
                                 &plot));
        TT_TRY(deliver(t, &plot, "confusion_matrix", tb, "pictures/confusion_matrix"));
    }
    double *recall;
    TT_TRY(tt_alloc((void **)&recall, sizeof *recall * (size_t)c->classes));
    for (int i = 0; i < c->classes; i++) recall[i] = tt_class_stats_recall(c, i);
    TtStatus s = tt_plot_bars(&(TtBars){.title = "Accuracy per class",
                                        .subtitle = where(t, NULL, subtitle),
                                        .x_label = "share of the class's samples that are predicted right",
                                        .names = names,
                                        .values = recall,
                                        .counts = c->seen,
                                        .n = c->classes},
                              &plot);
    tt_free(recall);
    TT_TRY(s);
    return deliver(t, &plot, "class_accuracy", tb, "pictures/class_accuracy");
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

static TtStatus draw_curves(const TtTrainer *t, const TtMetrics *m)
{
    char subtitle[256];
    where(t, NULL, subtitle);
    const TtLine loss[] = {line(m, "train/loss", TT_BEST_NONE, true), line(m, "val/loss", TT_BEST_MIN, false)},
                 accuracy[] = {line(m, "train/acc1", TT_BEST_NONE, true), line(m, "val/acc1", TT_BEST_MAX, false),
                               line(m, "val/acc5", TT_BEST_NONE, false)},
                 lr[] = {line(m, "lr", TT_BEST_NONE, false)}, norm[] = {line(m, "train/grad_norm", TT_BEST_NONE, true)},
                 speed[] = {line(m, "perf/samples_per_sec", TT_BEST_NONE, true)};
    const struct {
        const char *file;
        TtChart chart;
    } charts[] = {
        {"loss", {.title = "Loss", .y_label = "loss", .lines = loss, .n = 2}},
        {"accuracy",
         {.title = "Accuracy", .y_label = "accuracy", .lines = accuracy, .n = accuracy[2].n ? 3 : 2, .percent = true}},
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
        TT_TRY(deliver(t, &plot, charts[i].file, NULL, NULL));
    }
    return TT_OK;
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
    TT_TRY(draw_classes(t, &v->stats, tb));
    return draw_mistakes(t, v, tb);
}
