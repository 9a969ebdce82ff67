/* SPDX-License-Identifier: Apache-2.0 */
/* models/model.c - the registry of architectures and the config's `model` section. */
#include "models/model.h"

#include "tensor/variant.h"

#define MODEL(name) extern const TtModelDef tt_model_##name;
#include "models/models.def"
#undef MODEL

const TtModelDef *const tt_models[] = {
#define MODEL(name) &tt_model_##name,
#include "models/models.def"
#undef MODEL
    NULL,
};

/* Keys of `model` that every architecture takes. */
typedef struct Common {
    const char *weights;
    bool strict;
    TtStrings exclude, freeze;
} Common;

const TtOption tt_model_common_options[] = {
    {"weights", TT_OPT_STRING, offsetof(Common, weights), .def = "null", .flags = TT_OPT_NULL,
     .help = "state dict to start from: .safetensors or .pth"},
    {"weights_strict", TT_OPT_BOOL, offsetof(Common, strict), .def = "true",
     .help = "every tensor of the model must be in the file and fit, and no other"},
    {"weights_exclude", TT_OPT_STRINGS, offsetof(Common, exclude), .def = "[]",
     .help = "patterns of tensors that stay as initialised, e.g. ['fc.*']"},
    {"freeze", TT_OPT_STRINGS, offsetof(Common, freeze), .def = "[]",
     .help = "patterns of parameters that are not trained"},
    {0},
};

static TtStatus find_model(const TtNode *map, const TtNode *key, const TtModelDef **out)
{
    const char *names[256];
    int n = 0, index;
    for (; tt_models[n]; n++) names[n] = tt_models[n]->name;
    TT_ASSERT(n <= TT_COUNT(names));
    TT_TRY(tt_variant_select(map, key, "model", "name", names, n, &index));
    *out = tt_models[index];
    return TT_OK;
}

TtStatus tt_model_parse(const TtNode *map, const TtNode *key, TtArena *arena, TtModel *out)
{
    *out = (TtModel){0};
    if (!map || map->kind != TT_NODE_MAP)
        return tt_node_fail(map ? map : key,
                            "model must be a map with a name, such as {name: resnet18, num_classes: 10}");
    TT_TRY(find_model(map, key, &out->def));
    Common common;
    TT_TRY(tt_options_parse(tt_model_common_options, tt_node_only(map, tt_model_common_options, arena), NULL, NULL,
                            arena, &common));
    out->weights = common.weights, out->weights_node = tt_node_get(map, "weights");
    out->weights_strict = common.strict, out->weights_exclude = common.exclude, out->freeze = common.freeze;
    out->options = tt_arena_alloc(arena, out->def->options_size);
    TT_TRY(tt_options_parse(out->def->options, tt_node_without(map, tt_model_common_options, arena), "name", key, arena,
                            out->options));
    if (out->def->defaults) out->def->defaults(out->options);
    if (out->def->check) TT_TRY(out->def->check(out->options, map));
    return TT_OK;
}

static int64_t *classes(const TtModel *m)
{
    return (int64_t *)(void *)((char *)m->options + m->def->classes_offset);
}

TtTask tt_model_task(const TtModel *m)
{
    return m->def->task ? m->def->task : TT_TASK_CLASSIFICATION;
}

int64_t tt_model_classes(const TtModel *m)
{
    return *classes(m);
}

void tt_model_set_classes(TtModel *m, int64_t n)
{
    *classes(m) = n;
}

void tt_model_build(const TtModel *m, TtGraph *g, const TtModelInput *in, TtModelOutput *out)
{
    *out = (TtModelOutput){0};
    if (tt_model_task(m) == TT_TASK_CLASSIFICATION) {
        int64_t h = tt_dim(g, in->x, 1), w = tt_dim(g, in->x, 2);
        if (h < m->def->min_size || w < m->def->min_size) {
            tt_graph_fail(g, TT_ECONFIG,
                          "%s needs pictures of at least %dx%d, got %lldx%lld: add a Resize to the transforms",
                          m->def->name, m->def->min_size, m->def->min_size, (long long)h, (long long)w);
            return;
        }
    }
    m->def->build(g, m->options, in, out);
}

void tt_model_print(FILE *f, const TtModel *m, int indent, bool help)
{
    fprintf(f, "%*sname: %s\n", indent, "", m->def->name);
    Common common = {m->weights, m->weights_strict, m->weights_exclude, m->freeze};
    tt_options_print(f, m->def->options, m->options, indent, help);
    tt_options_print(f, tt_model_common_options, &common, indent, help);
}
