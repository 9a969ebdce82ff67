/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optimizer.c - parameter groups, state and the step around an optimizer's update.
 *
 * Parameters with the same effective options (config group, exempt from decay or not, depth for layer_decay) form one
 * group. The work of a step is a list of chunks made once; threads share the list, and no chunk's result depends on
 * which thread took it. */
#include "pipeline/optimizer.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/variant.h"

#define OPTIMIZER(name) extern const TtOptimizerDef tt_optim_##name;
#include "pipeline/optimizers.def"
#undef OPTIMIZER

const TtOptimizerDef *const tt_optimizers[] = {
#define OPTIMIZER(name) &tt_optim_##name,
#include "pipeline/optimizers.def"
#undef OPTIMIZER
    NULL};

/* ---- configuration */

typedef struct Common {
    bool no_decay_norm_bias;
    double layer_decay;
    const TtNode *groups;
} Common;
static const TtOption common_options[] = {
    {"no_decay_norm_bias", TT_OPT_BOOL, offsetof(Common, no_decay_norm_bias), "false",
     .help = "no weight decay on parameters of one axis: biases and normalisation layers"},
    {"layer_decay", TT_OPT_FLOAT, offsetof(Common, layer_decay), "null",
     .flags = TT_OPT_NULL | TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = 1,
     .help = "factor on the rate for each block that lies between a parameter's and the last"},
    {"groups", TT_OPT_NODE, offsetof(Common, groups), .help = "list of parameter groups, {match: [...], ...}"},
    {0}};

typedef struct GroupCommon {
    TtStrings match;
    double lr_scale;
    bool frozen;
} GroupCommon;
const TtOption tt_optimizer_group_options[] = {
    {"match", TT_OPT_STRINGS, offsetof(GroupCommon, match), .min_n = 1,
     .help = "patterns of parameter names: * any text, ? one character, [abc] one of these"},
    {"lr_scale", TT_OPT_FLOAT, offsetof(GroupCommon, lr_scale), "null", .flags = TT_OPT_NULL | TT_OPT_RANGED, .min = 0,
     .max = INFINITY, .help = "factor on the optimizer's lr, instead of lr"},
    {"frozen", TT_OPT_BOOL, offsetof(GroupCommon, frozen), "false", .help = "do not train these"},
    {0}};

const TtOption *tt_optimizer_table(const TtOptimizerDef *def, TtArena *arena)
{
    return tt_options_join(arena, def->options, common_options, tt_options_shift(def->options_size));
}

/* What the group says, and what it leaves out as the optimizer says it. */
static TtNode *complete_group(const TtNode *group, const TtNode *map, const TtOption *options, TtArena *arena)
{
    TtNode *all = TT_NEW(arena, TtNode);
    all->kind = TT_NODE_MAP;
    all->mark = group->mark;
    all->keys = TT_NEWN(arena, TtNode *, group->count + map->count);
    all->items = TT_NEWN(arena, TtNode *, group->count + map->count);
    for (int i = 0; i < group->count; i++) {
        all->keys[all->count] = group->keys[i];
        all->items[all->count++] = group->items[i];
    }
    for (const TtOption *o = options; o->key; o++) {
        if (!tt_node_get(map, o->key) || tt_node_get(group, o->key)) continue;
        all->keys[all->count] = tt_node_key(map, o->key);
        all->items[all->count++] = tt_node_get(map, o->key);
    }
    return all;
}

static TtStatus parse_group(const TtOptimizerDef *def, const TtNode *node, const TtNode *map, TtArena *arena,
                            TtOptimGroupConfig *out)
{
    if (node->kind != TT_NODE_MAP) return tt_node_fail(node, "a parameter group must be a map, {match: [...], ...}");
    size_t shift = tt_options_shift(def->options_size);
    const TtOption *table = tt_options_join(arena, def->options, tt_optimizer_group_options, shift);
    char *options = tt_arena_alloc(arena, shift + sizeof(GroupCommon));
    TT_TRY(tt_options_parse(table, complete_group(node, map, def->options, arena), NULL, NULL, arena, options));
    const GroupCommon *g = (const GroupCommon *)(const void *)(options + shift);
    TtOptimOptions *common = (TtOptimOptions *)(void *)options;
    const TtNode *scale = tt_node_get(node, "lr_scale");
    if (!isnan(g->lr_scale) && tt_node_get(node, "lr")) return tt_node_fail(scale, "give one of lr and lr_scale");
    if (!isnan(g->lr_scale)) common->lr *= g->lr_scale;
    if (def->check) TT_TRY(def->check(options, node));
    *out = (TtOptimGroupConfig){.node = node,
                                .match_node = tt_node_get(node, "match"),
                                .match = g->match,
                                .lr_scale = g->lr_scale,
                                .frozen = g->frozen,
                                .options = options};
    return TT_OK;
}

static TtStatus parse_groups(const TtNode *map, TtArena *arena, TtOptimizerConfig *c)
{
    if (tt_node_is_null(c->groups_node)) return TT_OK;
    if (c->groups_node->kind != TT_NODE_LIST)
        return tt_node_fail(c->groups_node, "groups must be a list of maps, [{match: [...], ...}]");
    c->n_groups = c->groups_node->count;
    c->groups = TT_NEWN(arena, TtOptimGroupConfig, c->n_groups);
    for (int i = 0; i < c->n_groups; i++)
        TT_TRY(parse_group(c->def, c->groups_node->items[i], map, arena, &c->groups[i]));
    return TT_OK;
}

TtStatus tt_optimizer_parse(const TtNode *map, const TtNode *key, TtArena *arena, TtOptimizerConfig *out)
{
    const char *names[TT_COUNT(tt_optimizers)];
    int n = 0, index;
    for (; tt_optimizers[n]; n++) names[n] = tt_optimizers[n]->name;
    if (tt_node_is_null(map)) return tt_node_fail(map, "optimizer: the key 'name' is missing");
    TT_TRY(tt_variant_select(map, key, "optimizer", "name", names, n, &index));
    const TtOptimizerDef *def = tt_optimizers[index];
    size_t shift = tt_options_shift(def->options_size);
    char *options = tt_arena_alloc(arena, shift + sizeof(Common));
    TT_TRY(tt_options_parse(tt_optimizer_table(def, arena), map, "name", key, arena, options));
    if (def->check) TT_TRY(def->check(options, map));
    const Common *common = (const Common *)(const void *)(options + shift);
    *out = (TtOptimizerConfig){.def = def,
                               .options = options,
                               .no_decay_norm_bias = common->no_decay_norm_bias,
                               .layer_decay = common->layer_decay,
                               .groups_node = common->groups};
    return parse_groups(map, arena, out);
}

void tt_optimizer_print(FILE *f, const TtOptimizerConfig *c, int indent, bool help)
{
    TtArena arena = {0};
    fprintf(f, "%*sname: %s\n", indent, "", c->def->name);
    tt_options_print(f, tt_optimizer_table(c->def, &arena), c->options, indent, help);
    tt_arena_free(&arena);
}

/* ---- groups of parameters */

enum { CHUNK = 4 * TT_NORM_CHUNK };

typedef struct Chunk {
    int param, group;
    int64_t begin, n; /* within the parameter */
} Chunk;

/* What makes two parameters members of one group. */
typedef struct Kind {
    int config; /* index of the config's group, or -1 */
    bool exempt;
    int depth; /* blocks behind it; 0 without layer_decay */
} Kind;

typedef struct Norms {
    double param, grad;
} Norms;

struct TtOptimizer {
    const TtOptimizerConfig *config;
    TtParamSet *params;
    TtArena arena;
    int n_groups;
    TtOptimGroup *groups;
    Kind *kinds;   /* of each group */
    int *group_of; /* of each parameter; -1 for buffers */
    int n_chunks;
    Chunk *chunks;
    float *state[TT_OPTIM_STATES];
    double *partial; /* sums of squares of chunks: of parameters, and behind them of gradients */
    int64_t n_partial;
    Norms *norms; /* of each parameter */
};

/* A block is named by a parameter's name up to the first component with a digit, or by its first component:
 * "layer1", "features.3", "encoder.layers.encoder_layer_0", "fc". */
static size_t block_length(const char *name)
{
    bool digit = false;
    size_t first = strcspn(name, ".");
    for (const char *p = name; *p; p++) {
        if (*p == '.' && digit) return (size_t)(p - name);
        digit = digit || isdigit((unsigned char)*p);
    }
    /* a digit in the last component alone names no block */
    return first;
}

/* Blocks in the order of their first parameter; BLOCK becomes each parameter's. Returns their number. */
static int find_blocks(const TtParamSet *params, int *block)
{
    int count = 0;
    const char **names = tt_realloc(NULL, sizeof *names * (size_t)(params->count + 1));
    for (int i = 0; i < params->count; i++) {
        const char *name = params->list[i]->name;
        size_t n = block_length(name);
        block[i] = -1;
        if (params->list[i]->buffer) continue;
        int b = 0;
        while (b < count && !(block_length(names[b]) == n && strncmp(names[b], name, n) == 0)) b++;
        if (b == count) names[count++] = name;
        block[i] = b;
    }
    free(names);
    return count;
}

static bool matches(const TtStrings *patterns, const char *name, bool *used)
{
    bool any = false;
    for (int i = 0; i < patterns->n; i++) {
        if (fnmatch(patterns->v[i], name, 0) != 0) continue;
        used[i] = true;
        any = true;
    }
    return any;
}

/* Index of the first config group that matches each parameter, -1 where none does. */
static TtStatus assign(const TtOptimizerConfig *c, const TtParamSet *params, int *config_group)
{
    for (int i = 0; i < params->count; i++) config_group[i] = -1;
    for (int g = 0; g < c->n_groups; g++) {
        const TtOptimGroupConfig *group = &c->groups[g];
        bool *used = tt_realloc(NULL, (size_t)group->match.n + 1);
        memset(used, 0, (size_t)group->match.n + 1);
        for (int i = 0; i < params->count; i++) {
            const TtParam *p = params->list[i];
            if (!p->buffer && matches(&group->match, p->name, used) && config_group[i] < 0) config_group[i] = g;
        }
        int idle = 0;
        while (idle < group->match.n && used[idle]) idle++;
        free(used);
        if (idle == group->match.n) continue;
        const TtNode *at = group->match_node;
        if (at->kind == TT_NODE_LIST) at = at->items[idle];
        return tt_node_fail(at, "the pattern '%.80s' matches no parameter of the model", group->match.v[idle]);
    }
    return TT_OK;
}

static int add_group(TtOptimizer *o, Kind kind)
{
    const TtOptimizerConfig *c = o->config;
    for (int g = 0; g < o->n_groups; g++)
        if (o->kinds[g].config == kind.config && o->kinds[g].exempt == kind.exempt && o->kinds[g].depth == kind.depth)
            return g;
    const TtOptimGroupConfig *from = kind.config >= 0 ? &c->groups[kind.config] : NULL;
    TtOptimOptions *options = tt_arena_copy(&o->arena, from ? from->options : c->options, c->def->options_size);
    if (kind.exempt) {
        options->weight_decay = 0;
        if (c->def->no_decay) c->def->no_decay(options);
    }
    if (kind.depth) options->lr *= pow(c->layer_decay, kind.depth);
    o->kinds[o->n_groups] = kind;
    o->groups[o->n_groups] =
        (TtOptimGroup){.base_lr = options->lr, .lr = options->lr, .options = options, .frozen = from && from->frozen};
    return o->n_groups++;
}

static TtStatus make_groups(TtOptimizer *o)
{
    const TtOptimizerConfig *c = o->config;
    TtParamSet *params = o->params;
    int n = params->count;
    int *config_group = TT_NEWN(&o->arena, int, n), *block = TT_NEWN(&o->arena, int, n);
    o->groups = TT_NEWN(&o->arena, TtOptimGroup, n);
    o->kinds = TT_NEWN(&o->arena, Kind, n);
    o->group_of = TT_NEWN(&o->arena, int, n);
    TT_TRY(assign(c, params, config_group));
    int blocks = isnan(c->layer_decay) ? 0 : find_blocks(params, block);
    for (int i = 0; i < n; i++) {
        TtParam *p = params->list[i];
        o->group_of[i] = -1;
        if (p->buffer) continue;
        Kind kind = {config_group[i], c->no_decay_norm_bias && p->shape.rank <= 1, blocks ? blocks - 1 - block[i] : 0};
        int g = o->group_of[i] = add_group(o, kind);
        o->groups[g].numel += tt_shape_count(&p->shape);
        if (o->groups[g].frozen) p->frozen = true;
    }
    return TT_OK;
}

TtStatus tt_optimizer_open(const TtOptimizerConfig *config, TtParamSet *params, TtOptimizer **out)
{
    TtOptimizer *o = tt_realloc(NULL, sizeof *o);
    *o = (TtOptimizer){.config = config, .params = params};
    TtStatus status = make_groups(o);
    if (status != TT_OK) {
        tt_optimizer_free(o);
        o = NULL;
    }
    *out = o;
    return status;
}

void tt_optimizer_free(TtOptimizer *o)
{
    if (!o) return;
    for (int k = 0; k < TT_OPTIM_STATES; k++) tt_free(o->state[k]);
    tt_free(o->partial);
    tt_arena_free(&o->arena);
    free(o);
}

/* ---- state */

static void make_chunks(TtOptimizer *o)
{
    const TtParamSet *params = o->params;
    for (int pass = 0; pass < 2; pass++) { /* count, then write */
        o->n_chunks = 0;
        for (int i = 0; i < params->count; i++) {
            const TtParam *p = params->list[i];
            int64_t n = tt_shape_count(&p->shape);
            if (p->buffer || p->frozen) continue;
            for (int64_t at = 0; at < n; at += CHUNK) {
                if (pass) o->chunks[o->n_chunks] = (Chunk){i, o->group_of[i], at, TT_MIN((int64_t)CHUNK, n - at)};
                o->n_chunks++;
            }
        }
        if (!pass) o->chunks = TT_NEWN(&o->arena, Chunk, o->n_chunks);
    }
}

static bool uses_state(const TtOptimizer *o, int k, bool moved)
{
    bool used = false;
    for (int g = 0; g < o->n_groups; g++) used = used || o->config->def->uses_state(o->groups[g].options, k, moved);
    return used;
}

int tt_optimizer_states(const TtOptimizer *o, bool moved_momentum)
{
    int n = 0;
    for (int k = 0; k < TT_OPTIM_STATES; k++) n += uses_state(o, k, moved_momentum);
    return n;
}

static TtStatus make_state(TtOptimizer *o, int k, bool moved)
{
    const TtOptimizerDef *def = o->config->def;
    size_t bytes = sizeof(float) * (size_t)TT_MAX(o->params->trainable_count, 1);
    if (!uses_state(o, k, moved)) return TT_OK;
    void *slab;
    TT_TRY(tt_alloc(&slab, bytes));
    o->state[k] = memset(slab, 0, bytes);
    if (!def->start) return TT_OK;
    for (int i = 0; i < o->params->count; i++) {
        const TtParam *p = o->params->list[i];
        if (p->buffer) continue;
        float v = def->start(o->groups[o->group_of[i]].options, k), *s = tt_optimizer_state(o, k, p);
        for (int64_t j = 0; j < tt_shape_count(&p->shape); j++) s[j] = v;
    }
    return TT_OK;
}

TtStatus tt_optimizer_allocate(TtOptimizer *o, bool moved_momentum)
{
    TT_ASSERT(o->params->values && o->params->ftype == TT_F32 && !o->chunks);
    make_chunks(o);
    o->n_partial = TT_MAX(o->n_chunks, o->params->trainable_count / TT_NORM_CHUNK + 1);
    o->norms = TT_NEWN(&o->arena, Norms, o->params->count);
    void *partial;
    TT_TRY(tt_alloc(&partial, sizeof(double) * 2 * (size_t)o->n_partial));
    o->partial = partial;
    for (int k = 0; k < TT_OPTIM_STATES; k++) TT_TRY(make_state(o, k, moved_momentum));
    return TT_OK;
}

int tt_optimizer_groups(const TtOptimizer *o)
{
    return o->n_groups;
}

TtOptimGroup *tt_optimizer_group(TtOptimizer *o, int i)
{
    TT_ASSERT(i >= 0 && i < o->n_groups);
    return &o->groups[i];
}

int tt_optimizer_group_of(const TtOptimizer *o, const TtParam *p)
{
    for (int i = 0; i < o->params->count; i++)
        if (o->params->list[i] == p) return o->group_of[i];
    return -1;
}

const char *tt_optimizer_state_name(const TtOptimizer *o, int k)
{
    return k >= 0 && k < TT_OPTIM_STATES && o->state[k] ? o->config->def->state_names[k] : NULL;
}

float *tt_optimizer_state(const TtOptimizer *o, int k, const TtParam *p)
{
    return o->state[k] ? o->state[k] + p->offset : NULL;
}

/* ---- the step */

/* Norms of every parameter and of its scaled gradient, from sums over fixed chunks. */
static void find_norms(TtOptimizer *o, double grad_scale)
{
    double *of_param = o->partial, *of_grad = o->partial + o->n_partial;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < o->n_chunks; i++) {
        const Chunk *c = &o->chunks[i];
        const TtParam *p = o->params->list[c->param];
        of_param[i] = tt_chunk_squares((const float *)p->value + c->begin, c->n);
        of_grad[i] = tt_chunk_squares(p->grad + c->begin, c->n);
    }
    for (int i = 0; i < o->params->count; i++) o->norms[i] = (Norms){0, 0};
    for (int i = 0; i < o->n_chunks; i++) {
        Norms *n = &o->norms[o->chunks[i].param];
        n->param += of_param[i];
        n->grad += of_grad[i];
    }
    for (int i = 0; i < o->params->count; i++)
        o->norms[i] = (Norms){sqrt(o->norms[i].param), sqrt(o->norms[i].grad) * grad_scale};
}

void tt_optimizer_step(TtOptimizer *o, int64_t step, double momentum, double grad_scale)
{
    const TtOptimizerDef *def = o->config->def;
    if (def->norms) find_norms(o, grad_scale);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < o->n_chunks; i++) {
        const Chunk *c = &o->chunks[i];
        const TtParam *p = o->params->list[c->param];
        const TtOptimGroup *g = &o->groups[c->group];
        TtOptimStep s = {.step = step,
                         .lr = g->lr,
                         .momentum = momentum,
                         .grad_scale = (float)grad_scale,
                         .param_norm = o->norms[c->param].param,
                         .grad_norm = o->norms[c->param].grad,
                         .n = c->n,
                         .param = (float *)p->value + c->begin,
                         .grad = p->grad + c->begin};
        for (int k = 0; k < TT_OPTIM_STATES; k++)
            if (o->state[k] && def->uses_state(g->options, k, !isnan(momentum)))
                s.state[k] = o->state[k] + p->offset + c->begin;
        def->step(g->options, &s);
    }
}

double tt_optimizer_grad_norm(TtOptimizer *o)
{
    return sqrt(tt_sum_squares(o->params->grads, o->params->trainable_count, o->partial));
}
