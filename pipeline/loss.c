/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/loss.c - the losses a config can name. */
#include "pipeline/loss.h"

#include <math.h>
#include <string.h>

#include "kernels/ops/loss.h"
#include "tensor/variant.h"

#define LOSS(name) extern const TtLossDef tt_loss_##name;
#include "pipeline/losses.def"
#undef LOSS

const TtLossDef *const tt_losses[] = {
#define LOSS(name) &tt_loss_##name,
#include "pipeline/losses.def"
#undef LOSS
    NULL,
};

/* ---- cross_entropy */

typedef struct CrossEntropy {
    double label_smoothing;
    int64_t ignore_index;
    TtFloats weight;
} CrossEntropy;

static const TtOption cross_entropy_options[] = {
    {"label_smoothing", TT_OPT_FLOAT, offsetof(CrossEntropy, label_smoothing), .def = "0.0", .flags = TT_OPT_RANGED,
     .min = 0, .max = 1, .help = "part of the target spread evenly over all classes"},
    {"ignore_index", TT_OPT_INT, offsetof(CrossEntropy, ignore_index), .def = "-100",
     .help = "a class that counts for nothing (the default is none)"},
    {"weight", TT_OPT_FLOATS, offsetof(CrossEntropy, weight), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED,
     .min = 0, .max = 1e30, .help = "weight of each class"},
    {0},
};

/* One value a class, and something to learn from. */
static TtStatus check_class_list(const TtFloats *v, const char *key, const TtNode *node, int64_t classes)
{
    const TtNode *at = tt_node_get(node, key);
    if (v->n && v->n != classes)
        return tt_node_fail(at ? at : node, "loss.%s has %d values for %lld classes", key, v->n, (long long)classes);
    double sum = 0;
    for (int i = 0; i < v->n; i++) sum += v->v[i];
    if (v->n && !(sum > 0)) return tt_node_fail(at ? at : node, "loss.%s: all values are 0", key);
    return TT_OK;
}

static TtStatus cross_entropy_check(void *options, const TtNode *node, int64_t classes)
{
    return check_class_list(&((CrossEntropy *)options)->weight, "weight", node, classes);
}

static TtVal class_constant(TtGraph *g, const TtFloats *v)
{
    if (!v->n) return TT_NONE;
    float *f = TT_NEWN(tt_graph_arena(g), float, v->n);
    for (int i = 0; i < v->n; i++) f[i] = (float)v->v[i];
    return tt_const_data(g, TT_F32, TT_SHAPE(v->n), f);
}

static void cross_entropy_emit(TtGraph *g, const void *options, const TtLossInput *in, TtVal out[2])
{
    const CrossEntropy *o = options;
    tt_cross_entropy(g, in->logits, in->target, class_constant(g, &o->weight), in->scale, o->label_smoothing,
                     o->ignore_index, out);
}

static double cross_entropy_weight(const void *options, int64_t label)
{
    const CrossEntropy *o = options;
    if (label == o->ignore_index) return 0;
    return o->weight.n && label >= 0 && label < o->weight.n ? o->weight.v[label] : 1;
}

const TtLossDef tt_loss_cross_entropy = {
    .name = "cross_entropy",
    .help = "softmax cross entropy; takes mixed targets too",
    .tasks = TT_TASK_CLASSIFICATION | TT_TASK_VOCODER,
    .options = cross_entropy_options,
    .options_size = sizeof(CrossEntropy),
    .check = cross_entropy_check,
    .emit = cross_entropy_emit,
    .weight = cross_entropy_weight,
};

/* ---- losses of single elements, against one-hot (or mixed) rows */

static const TtOption no_options[] = {{0}};

static void mse_emit(TtGraph *g, const void *options, const TtLossInput *in, TtVal out[2])
{
    tt_mse_loss(g, in->logits, in->target, in->scale, out);
}

const TtLossDef tt_loss_mse = {.name = "mse",
                               .help = "mean squared error against one-hot rows",
                               .options = no_options,
                               .options_size = 1,
                               .dense = true,
                               .emit = mse_emit};

static void l1_emit(TtGraph *g, const void *options, const TtLossInput *in, TtVal out[2])
{
    tt_l1_loss(g, in->logits, in->target, in->scale, out);
}

const TtLossDef tt_loss_l1 = {.name = "l1",
                              .help = "mean absolute error against one-hot rows",
                              .options = no_options,
                              .options_size = 1,
                              .dense = true,
                              .emit = l1_emit};

typedef struct SmoothL1 {
    double beta;
} SmoothL1;

static const TtOption smooth_l1_options[] = {
    {"beta", TT_OPT_FLOAT, offsetof(SmoothL1, beta), .def = "1.0", .flags = TT_OPT_RANGED, .min = 0, .max = 1e30,
     .help = "where the square turns into the absolute value"},
    {0},
};

static void smooth_l1_emit(TtGraph *g, const void *options, const TtLossInput *in, TtVal out[2])
{
    tt_smooth_l1_loss(g, in->logits, in->target, in->scale, ((const SmoothL1 *)options)->beta, out);
}

const TtLossDef tt_loss_smooth_l1 = {.name = "smooth_l1",
                                     .help = "squared near zero, absolute beyond, against one-hot rows",
                                     .options = smooth_l1_options,
                                     .options_size = sizeof(SmoothL1),
                                     .dense = true,
                                     .emit = smooth_l1_emit};

typedef struct Bce {
    TtFloats pos_weight;
} Bce;

static const TtOption bce_options[] = {
    {"pos_weight", TT_OPT_FLOATS, offsetof(Bce, pos_weight), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED,
     .min = 0, .max = 1e30, .help = "weight of the positive examples of each class"},
    {0},
};

static TtStatus bce_check(void *options, const TtNode *node, int64_t classes)
{
    return check_class_list(&((Bce *)options)->pos_weight, "pos_weight", node, classes);
}

static void bce_emit(TtGraph *g, const void *options, const TtLossInput *in, TtVal out[2])
{
    tt_bce_with_logits(g, in->logits, in->target, class_constant(g, &((const Bce *)options)->pos_weight), in->scale,
                       out);
}

const TtLossDef tt_loss_bce_with_logits = {
    .name = "bce_with_logits",
    .help = "sigmoid and binary cross entropy, class by class",
    .options = bce_options,
    .options_size = sizeof(Bce),
    .dense = true,
    .check = bce_check,
    .emit = bce_emit,
};

/* ---- the config's section */

typedef struct Common {
    double aux_weight;
} Common;

const TtOption tt_loss_common_options[] = {
    {"aux_weight", TT_OPT_FLOAT, offsetof(Common, aux_weight), .def = "0.3", .flags = TT_OPT_RANGED, .min = 0,
     .max = 1e6, .help = "factor on the loss of each auxiliary head, in training (models that have them)"},
    {0},
};

static bool serves(const TtLossDef *d, TtTask task)
{
    return (d->tasks ? d->tasks : TT_TASK_CLASSIFICATION) & task;
}

/* The loss that MAP names, or the task's first; one of another task is refused with the names of those that fit. */
static TtStatus find_loss(const TtNode *map, const TtNode *key, TtTask task, const TtLossDef **out)
{
    const char *names[TT_COUNT(tt_losses)];
    char fit[256] = "";
    int n = 0, index = -1;
    for (; tt_losses[n]; n++) {
        names[n] = tt_losses[n]->name;
        if (!serves(tt_losses[n], task)) continue;
        if (index < 0) index = n;
        snprintf(fit + strlen(fit), sizeof fit - strlen(fit), "%s%s", *fit ? ", " : "", names[n]);
    }
    TT_ASSERT(index >= 0);
    if (!tt_node_is_null(map)) TT_TRY(tt_variant_select(map, key, "loss", "name", names, n, &index));
    if (!serves(tt_losses[index], task))
        return tt_node_fail(tt_node_get(map, "name"), "the loss %s does not fit the model; it takes %s", names[index],
                            fit);
    *out = tt_losses[index];
    return TT_OK;
}

TtStatus tt_loss_parse(const TtNode *map, const TtNode *key, TtTask task, int64_t classes, TtArena *arena, TtLoss *out)
{
    *out = (TtLoss){0};
    TT_TRY(find_loss(map, key, task, &out->def));
    if (tt_node_is_null(map)) map = NULL;
    Common common;
    const TtNode *own = tt_node_without(map, tt_loss_common_options, arena),
                 *shared = tt_node_only(map, tt_loss_common_options, arena);
    TT_TRY(tt_options_parse(tt_loss_common_options, shared, NULL, key, arena, &common));
    out->aux_weight = common.aux_weight;
    out->options = tt_arena_alloc(arena, out->def->options_size);
    TT_TRY(tt_options_parse(out->def->options, own, "name", key, arena, out->options));
    return out->def->check ? out->def->check(out->options, map, classes) : TT_OK;
}

double tt_loss_weight(const TtLoss *l, const int64_t *labels, int64_t n)
{
    if (!labels || !l->def->weight) return (double)n;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += l->def->weight(l->options, labels[i]);
    return sum;
}

void tt_loss_print(FILE *f, const TtLoss *l, int indent, bool help)
{
    fprintf(f, "%*sname: %s\n", indent, "", l->def->name);
    tt_options_print(f, l->def->options, l->options, indent, help);
    tt_options_print(f, tt_loss_common_options, &(Common){l->aux_weight}, indent, help);
}
