/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/sections.c - which owner reads which section. */
#include "pipeline/sections.h"

#include <string.h>

#include "data/dataset.h"
#include "models/model.h"
#include "pipeline/loss.h"
#include "pipeline/optimizer.h"
#include "pipeline/scheduler.h"
#include "tensor/variant.h"
#include "data/transform.h"

static TtStatus check_model(const TtNode *node, const TtNode *key, TtArena *arena)
{
    TtModel m;
    return tt_model_parse(node, key, arena, &m);
}

static TtStatus print_model(FILE *f, const TtNode *node, int indent, bool help)
{
    TtArena arena = {0};
    TtModel m;
    TtStatus status = tt_model_parse(node, NULL, &arena, &m);
    if (status == TT_OK) tt_model_print(f, &m, indent, help);
    tt_arena_free(&arena);
    return status;
}

/* How many classes a list of class weights is for: whether they are the model's is checked where both are known. */
static int64_t listed_classes(const TtNode *loss)
{
    const TtNode *w = tt_node_get(loss, "weight");
    if (!w) w = tt_node_get(loss, "pos_weight");
    return !w ? 0 : w->kind == TT_NODE_LIST ? w->count : 1;
}

/* Any task: which one it must serve is checked where the model is known. */
static const TtTask any_task = TT_TASK_CLASSIFICATION | TT_TASK_SPEECH | TT_TASK_SEPARATION | TT_TASK_VOCODER;

static TtStatus check_loss(const TtNode *node, const TtNode *key, TtArena *arena)
{
    TtLoss l;
    return tt_loss_parse(node, key, any_task, listed_classes(node), arena, &l);
}

static TtStatus print_loss(FILE *f, const TtNode *node, int indent, bool help)
{
    TtArena arena = {0};
    TtLoss l;
    TtStatus status = tt_loss_parse(node, NULL, any_task, listed_classes(node), &arena, &l);
    if (status == TT_OK) tt_loss_print(f, &l, indent, help);
    tt_arena_free(&arena);
    return status;
}

static TtStatus check_optimizer(const TtNode *node, const TtNode *key, TtArena *arena)
{
    TtOptimizerConfig c;
    return tt_node_is_null(node) ? TT_OK : tt_optimizer_parse(node, key, arena, &c);
}

static TtStatus print_optimizer(FILE *f, const TtNode *node, int indent, bool help)
{
    TtArena arena = {0};
    TtOptimizerConfig c;
    TtStatus status = tt_optimizer_parse(node, NULL, &arena, &c);
    if (status == TT_OK) tt_optimizer_print(f, &c, indent, help);
    tt_arena_free(&arena);
    return status;
}

static TtStatus check_scheduler(const TtNode *node, const TtNode *key, TtArena *arena)
{
    TtScheduler *s;
    return tt_scheduler_parse(node, key, arena, &s);
}

static TtStatus print_scheduler(FILE *f, const TtNode *node, int indent, bool help)
{
    TtArena arena = {0};
    TtScheduler *s;
    TtStatus status = tt_scheduler_parse(node, NULL, &arena, &s);
    if (status == TT_OK) tt_scheduler_print(f, s, indent, help);
    tt_arena_free(&arena);
    return status;
}

/* ---- data sets */

static TtStatus parse_dataset(const TtNode *node, const TtNode *key, TtArena *arena, const TtDatasetDef **def,
                              void **options)
{
    TT_TRY(tt_dataset_type(node, key, def));
    *options = tt_arena_alloc(arena, (*def)->options_size);
    return tt_options_parse((*def)->options, node, "type", key, arena, *options);
}

static TtStatus check_dataset(const TtNode *node, const TtNode *key, TtArena *arena)
{
    const TtDatasetDef *def;
    void *options;
    return tt_node_is_null(node) ? TT_OK : parse_dataset(node, key, arena, &def, &options);
}

static TtStatus print_dataset(FILE *f, const TtNode *node, int indent, bool help)
{
    TtArena arena = {0};
    const TtDatasetDef *def;
    void *options;
    TtStatus status = parse_dataset(node, NULL, &arena, &def, &options);
    if (status == TT_OK) {
        fprintf(f, "%*stype: %s\n", indent, "", def->name);
        tt_options_print(f, def->options, options, indent, help);
    }
    tt_arena_free(&arena);
    return status;
}

/* ---- transforms */

static TtStatus check_transforms(const TtNode *node, const TtNode *key, TtArena *arena)
{
    TtTransformChain chain;
    return tt_transform_chain_parse(node, arena, &chain);
}

/* One list element with its defaults. Parsed anew by the table alone: a check may have derived other values. */
static TtStatus print_transform(FILE *f, const TtNode *node, int indent, bool help)
{
    TtArena arena = {0};
    bool map = node->kind == TT_NODE_MAP;
    const TtNode *name = map ? node->keys[0] : node;
    const TtTransformDef *def = tt_transform_find(name->text);
    void *options = tt_arena_alloc(&arena, def->size);
    TtStatus status = tt_options_parse(def->options, map ? node->items[0] : NULL, NULL, name, &arena, options);
    bool none = tt_options_count(def->options) == 0;
    fprintf(f, "%*s- %s:%s", indent, "", def->name, none ? " {}" : "");
    if (help) fprintf(f, "  # %s", def->help);
    fputc('\n', f);
    if (status == TT_OK) tt_options_print(f, def->options, options, indent + 4, help);
    tt_arena_free(&arena);
    return status;
}

static TtStatus print_transforms(FILE *f, const TtNode *node, int indent, bool help)
{
    for (int i = 0; i < node->count; i++) TT_TRY(print_transform(f, node->items[i], indent, help));
    return TT_OK;
}

static const TtSection sections[] = {
    {"model", check_model, print_model},
    {"data.train", check_dataset, print_dataset},
    {"data.val", check_dataset, print_dataset},
    {"transforms.train", check_transforms, print_transforms},
    {"transforms.val", check_transforms, print_transforms},
    {"loss", check_loss, print_loss},
    {"optimizer", check_optimizer, print_optimizer},
    {"scheduler", check_scheduler, print_scheduler},
};

const TtSection *tt_section_find(const char *path)
{
    for (int i = 0; i < TT_COUNT(sections); i++)
        if (strcmp(sections[i].path, path) == 0) return &sections[i];
    return NULL;
}

/* torch: a schedule that moves the momentum needs an optimizer that has one. */
static TtStatus check_momentum(const TtConfig *c, TtArena *arena)
{
    TtScheduler *s;
    TtOptimizerConfig o;
    double momentum;
    TT_TRY(tt_scheduler_parse(c->scheduler, NULL, arena, &s));
    if (tt_node_is_null(c->optimizer) || !tt_scheduler_momentum(s, &(TtScheduleTime){0, 1, 1}, &momentum)) return TT_OK;
    TT_TRY(tt_optimizer_parse(c->optimizer, NULL, arena, &o));
    if (o.def->has_momentum) return TT_OK;
    return tt_node_fail(tt_node_get(c->scheduler, "name"),
                        "the schedule moves the momentum, which %s has not; give cycle_momentum: false", o.def->name);
}

TtStatus tt_sections_check(const TtConfig *c)
{
    TtStatus status = TT_OK;
    TtArena arena = {0};
    for (int i = 0; i < TT_COUNT(sections) && status == TT_OK; i++) {
        const TtNode *key, *node = tt_config_node(c, sections[i].path, &key);
        status = sections[i].check(node, node ? key : NULL, &arena);
    }
    if (status == TT_OK) status = check_momentum(c, &arena);
    tt_arena_free(&arena);
    return status;
}
