/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/task_classification.c - pictures to classes: accuracies, confusion matrix, worst mistakes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/json.h"
#include "pipeline/pictures.h"
#include "pipeline/plot.h"

enum { SHOWN = 64, CAPTION = 160 };

/* ---- metrics */

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

static TtStatus begin(const TtSession *s, TtValidation *v)
{
    return tt_class_stats_init(&v->stats, (int)tt_model_classes(&s->model));
}

static TtStatus add(const TtSession *s, TtValidation *v, const TtBatch *b, const TtNetOutput *o)
{
    tt_class_stats_add(&v->stats, o->logits, b->labels, b->n);
    note_mistakes(v, b, o);
    return TT_OK;
}

static void end(TtValidation *v)
{
    tt_class_stats_free(&v->stats);
}

static int64_t correct(const TtNetInput *in, const TtNetOutput *o)
{
    int64_t n = 0;
    for (int i = 0; i < in->n; i++) n += tt_class_predicted(o->logits + i * o->classes, o->classes) == in->labels[i];
    return n;
}

static void json(const TtValidation *v, const char *const *names, bool per_class, json_t *o)
{
    json_object_set_new(o, "val/acc1", tt_json_real(tt_class_stats_acc1(&v->stats)));
    if (v->stats.classes > 5) json_object_set_new(o, "val/acc5", tt_json_real(tt_class_stats_acc5(&v->stats)));
    if (!per_class) return;
    json_t *all = json_object();
    for (int c = 0; c < v->stats.classes; c++) {
        char number[32];
        snprintf(number, sizeof number, "%d", c);
        json_object_set_new(all, names ? names[c] : number, tt_json_real(tt_class_stats_recall(&v->stats, c)));
    }
    json_object_set_new(o, "val/per_class_acc", all);
}

static void text(const TtValidation *v, char *buf, size_t size)
{
    int n = snprintf(buf, size, "acc1 %.2f %%", 100 * tt_class_stats_acc1(&v->stats));
    if (v->stats.classes > 5)
        snprintf(buf + n, size - (size_t)n, "  acc5 %.2f %%", 100 * tt_class_stats_acc5(&v->stats));
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

static TtStatus first_batch(const TtTrainer *t, const TtBatch *b, TtTensorboard *tb)
{
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
    if (s == TT_OK) s = tt_pictures_deliver(t, &plot, "first_batch", tb, "pictures/first_batch");
    free_gallery(g);
    return s;
}

/* Read the sample again and transform it as validation does; one that cannot be read any more is left out. */
static TtStatus add_mistake(const TtTrainer *t, Gallery *g, const TtMistake *m, const char *const *names,
                            TtSample *sample, TtTransformScratch *scratch)
{
    TtStatus s = tt_dataset_load(t->session.val, &t->session.val_transforms, (uint64_t)t->config->seed, 0,
                                 (uint64_t)m->index, m->index, sample, scratch, NULL);
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
    tt_pictures_where(t, g->n ? "true class, and what was predicted instead; largest loss first" : NULL, subtitle);
    TtPlot plot;
    if (s == TT_OK)
        s = tt_plot_grid(&(TtGridPlot){.title = "Worst mistakes",
                                       .subtitle = subtitle,
                                       .tiles = g->tiles,
                                       .n = g->n,
                                       .empty = v->n_worst ? "none can be read any more" : "no mistakes"},
                         &plot);
    if (s == TT_OK) s = tt_pictures_deliver(t, &plot, "worst_mistakes", tb, "pictures/worst_mistakes");
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
    tt_pictures_where(t, more, subtitle);
    TtPlot plot;
    if (c->confusion) {
        TT_TRY(tt_plot_confusion(&(TtConfusion){.title = "Confusion matrix",
                                                .subtitle = subtitle,
                                                .counts = c->confusion,
                                                .classes = c->classes,
                                                .names = names},
                                 &plot));
        TT_TRY(tt_pictures_deliver(t, &plot, "confusion_matrix", tb, "pictures/confusion_matrix"));
    }
    double *recall;
    TT_TRY(tt_alloc((void **)&recall, sizeof *recall * (size_t)c->classes));
    for (int i = 0; i < c->classes; i++) recall[i] = tt_class_stats_recall(c, i);
    TtStatus s = tt_plot_bars(&(TtBars){.title = "Accuracy per class",
                                        .subtitle = tt_pictures_where(t, NULL, subtitle),
                                        .x_label = "share of the class's samples that are predicted right",
                                        .names = names,
                                        .values = recall,
                                        .counts = c->seen,
                                        .n = c->classes},
                              &plot);
    tt_free(recall);
    TT_TRY(s);
    return tt_pictures_deliver(t, &plot, "class_accuracy", tb, "pictures/class_accuracy");
}

static TtStatus pictures(const TtTrainer *t, const TtValidation *v, TtTensorboard *tb)
{
    TT_TRY(draw_classes(t, &v->stats, tb));
    return draw_mistakes(t, v, tb);
}

static const char *const metrics[] = {"val/acc1", "val/acc5", NULL};

const TtTaskDef tt_task_classification = {
    .task = TT_TASK_CLASSIFICATION,
    .samples = "img",
    .monitor = "val/acc1",
    .metrics = metrics,
    .chart = {.file = "accuracy",
              .title = "Accuracy",
              .y_label = "accuracy",
              .keys = {"train/acc1", "val/acc1", "val/acc5"},
              .percent = true},
    .begin = begin,
    .add = add,
    .end = end,
    .correct = correct,
    .json = json,
    .text = text,
    .first_batch = first_batch,
    .pictures = pictures,
};
