/* SPDX-License-Identifier: Apache-2.0 */
/* data/transform.c - the registry, the parsing of lists, and the chain. */
#include "data/transform.h"

#include <string.h>

#include "vision/normalize.h"
#include "vision/pixels.h"

/* ---- registry */

#define TRANSFORM(name) extern const TtTransformDef tt_transform_##name;
#include "audio/transforms.def"
#include "vision/transforms.def"
#undef TRANSFORM

const TtTransformDef *const tt_transforms[] = {
#define TRANSFORM(name) &tt_transform_##name,
#include "vision/transforms.def"
#include "audio/transforms.def"
#undef TRANSFORM
    NULL};

const TtTransformDef *tt_transform_find(const char *name)
{
    for (int i = 0; tt_transforms[i]; i++)
        if (strcmp(tt_transforms[i]->name, name) == 0) return tt_transforms[i];
    return NULL;
}

/* ---- lists */

static TtStatus unknown(const TtNode *key)
{
    const char *names[TT_COUNT(tt_transforms)];
    int n = 0;
    for (; tt_transforms[n]; n++) names[n] = tt_transforms[n]->name;
    const char *near = tt_nearest(key->text, names, n);
    if (near) return tt_node_fail(key, "unknown transform '%.80s'; did you mean '%s'?", key->text, near);
    return tt_node_fail(key, "unknown transform '%.80s'; `ttrain list transforms` shows all", key->text);
}

static TtStatus parse_element(const TtNode *node, TtArena *arena, TtTransform *out)
{
    const TtNode *key = node, *args = NULL;
    if (node->kind == TT_NODE_MAP && node->count > 1)
        return tt_node_fail(node->keys[1],
                            "a list element holds one transform, but this one has '%.60s' and '%.60s'; begin another "
                            "element with '- '",
                            node->keys[0]->text, node->keys[1]->text);
    if (node->kind == TT_NODE_LIST || tt_node_is_null(node) || (node->kind == TT_NODE_MAP && node->count == 0))
        return tt_node_fail(node, "a transform is written {Name: {argument: value}} or just Name");
    if (node->kind == TT_NODE_MAP) key = node->keys[0], args = node->items[0];
    const TtTransformDef *def = tt_transform_find(key->text);
    if (!def) return unknown(key);
    *out = (TtTransform){def, tt_arena_alloc(arena, def->size), key};
    TT_TRY(tt_options_parse(def->options, args, NULL, key, arena, out->options));
    const bool none = !args || args->kind != TT_NODE_MAP || args->count == 0;
    return def->check ? def->check(out->options, none ? key : args, arena) : TT_OK;
}

/* Containers come back here from their check(); the depth bounds that recursion. */
static TtStatus parse_list(const TtNode *list, TtArena *arena, TtTransformList *out)
{
    *out = (TtTransformList){0};
    if (tt_node_is_null(list)) return TT_OK;
    if (list->kind != TT_NODE_LIST)
        return tt_node_fail(list, "transforms must be a list: [{Resize: {size: 256}}, {CenterCrop: {size: 224}}]");
    if (list->count > TT_TRANSFORMS_MAX)
        return tt_node_fail(list, "a list of transforms has at most %d, not %d", TT_TRANSFORMS_MAX, list->count);
    out->list = TT_NEWN(arena, TtTransform, list->count);
    for (; out->n < list->count; out->n++) TT_TRY(parse_element(list->items[out->n], arena, &out->list[out->n]));
    return TT_OK;
}

TtStatus tt_transform_list_parse(const TtNode *list, TtArena *arena, TtTransformList *out)
{
    enum { DEEPEST = 8 };
    static _Thread_local int depth;
    if (depth == DEEPEST) return tt_node_fail(list, "transforms are nested deeper than %d", DEEPEST);
    depth++;
    const TtStatus status = parse_list(list, arena, out);
    depth--;
    return status;
}

bool tt_transform_is_batch(const TtTransform *t)
{
    return t->def->is_batch ? t->def->is_batch(t->options) : t->def->apply_batch != NULL;
}

TtMedia tt_transform_media(const TtTransform *t)
{
    if (t->def->media_of) return t->def->media_of(t->options);
    return t->def->media ? t->def->media : TT_MEDIA_IMAGE;
}

void tt_transform_size(const TtTransform *t, int *h, int *w)
{
    if (t->def->out_size) t->def->out_size(t->options, h, w);
}

/* ---- the chain */

TtStatus tt_transform_chain_parse(const TtNode *list, TtArena *arena, TtTransformChain *out)
{
    TtTransformList all;
    *out = (TtTransformChain){0};
    TT_TRY(tt_transform_list_parse(list, arena, &all));
    while (out->n < all.n && !tt_transform_is_batch(&all.list[out->n])) out->n++;
    out->list = all.list, out->n_batch = all.n - out->n;
    if (out->n_batch > 0) out->batch = all.list + out->n;
    for (int i = 0; i < out->n_batch; i++)
        if (!tt_transform_is_batch(&out->batch[i]))
            return tt_node_fail(list->items[out->n + i],
                                "%s works on single pictures and cannot follow %s, which "
                                "works on batches; move it forward",
                                out->batch[i].def->name, out->batch[0].def->name);
    return TT_OK;
}

TtStatus tt_transform_chain_check_media(const TtTransformChain *c, TtMedia media, const char *type)
{
    const bool sound = media == TT_MEDIA_SOUND;
    for (int i = 0; i < c->n + c->n_batch; i++) {
        const TtTransform *t = i < c->n ? &c->list[i] : &c->batch[i - c->n];
        if (!(tt_transform_media(t) & media))
            return tt_node_fail(t->node, "%s works on %s, but a data set of type %s gives %s", t->def->name,
                                sound ? "pictures" : "sound", type, sound ? "sound" : "pictures");
    }
    return TT_OK;
}

TtStatus tt_transform_chain_apply(const TtTransformChain *c, uint64_t seed, uint64_t epoch, uint64_t sample,
                                  const char *name, TtImage *image, TtAudio *audio, TtTransformScratch *scratch)
{
    TtTransformArgs a = {.image = image, .audio = audio, .scratch = scratch, .name = name};
    TtStatus status = TT_OK;
    for (int i = 0; i < c->n && status == TT_OK; i++) {
        if (c->list[i].def->random) a.rng = tt_rng(seed, TT_RNG_TRANSFORM, epoch, sample, (uint64_t)i);
        status = c->list[i].def->apply(c->list[i].options, &a);
    }
    if (status == TT_OK && image) status = tt_pixels_to_dtype(&a, TT_F32, true);
    tt_arena_free(&scratch->arena);
    return status;
}

TtStatus tt_transform_chain_apply_batch(const TtTransformChain *c, uint64_t seed, uint64_t epoch, uint64_t step,
                                        TtTensor x, TtTensor targets)
{
    TtBatchTransformArgs a = {.x = x, .targets = targets};
    for (int i = 0; i < c->n_batch; i++) {
        a.rng = tt_rng(seed, TT_RNG_BATCH, epoch, step, (uint64_t)i);
        TT_TRY(c->batch[i].def->apply_batch(c->batch[i].options, &a));
    }
    return TT_OK;
}

void tt_transform_chain_size(const TtTransformChain *c, int *h, int *w)
{
    for (int i = 0; i < c->n; i++) tt_transform_size(&c->list[i], h, w);
}

int64_t tt_transform_chain_hop(const TtTransformChain *c, const TtNode **node)
{
    int64_t hop = 0;
    for (int i = 0; i < c->n; i++)
        for (const TtOption *o = c->list[i].def->options; o && o->key; o++) {
            if (strcmp(o->key, "hop_length") != 0 || o->type != TT_OPT_INT) continue;
            memcpy(&hop, (const char *)c->list[i].options + o->offset, sizeof hop); /* its check has filled in null */
            if (node) *node = c->list[i].node;
        }
    return hop;
}

bool tt_transform_chain_normalize(const TtTransformChain *c, float mean[3], float std[3])
{
    for (int i = 0; i < c->n; i++) {
        if (c->list[i].def != &tt_transform_Normalize) continue;
        const TtNormalize *o = c->list[i].options;
        for (int j = 0; j < 3; j++) {
            mean[j] = (float)o->mean.v[j % o->mean.n];
            std[j] = (float)o->std.v[j % o->std.n];
        }
        return true;
    }
    return false;
}

TtStatus tt_transform_table(TtTransformScratch *s, size_t size, void **out)
{
    if (size > s->table_capacity) {
        tt_free(s->table);
        s->table = NULL, s->table_capacity = 0;
        TT_TRY(tt_alloc(&s->table, size));
        s->table_capacity = size;
    }
    *out = s->table;
    return TT_OK;
}

void tt_transform_scratch_free(TtTransformScratch *s)
{
    tt_image_free(&s->image);
    tt_audio_free(&s->audio);
    for (int i = 0; i < TT_COUNT(s->spare); i++) tt_image_free(&s->spare[i]);
    tt_arena_free(&s->arena);
    tt_free(s->table);
    *s = (TtTransformScratch){0};
}
