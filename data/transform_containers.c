/* SPDX-License-Identifier: Apache-2.0 */
/* data/transform_containers.c - containers: RandomApply, RandomChoice, RandomOrder, Compose.
 *
 * The transforms inside draw from the container's own stream, one after another. A container of batch transforms
 * (RandomChoice of MixUp and CutMix) is a batch transform; the two kinds cannot be mixed. */
#include <stdlib.h>

#include "data/transform.h"

typedef struct Container {
    const TtNode *transforms;
    double p;
    TtFloats weights, probabilities;
    TtTransformList inner; /* derived */
    bool batch;
    TtMedia media; /* what all of them can take */
} Container;

/* The sample or the batch on its way, to write the four containers once. */
typedef struct Target {
    TtTransformArgs *sample;
    TtBatchTransformArgs *batch;
} Target;

static TtRng *rng_of(Target t)
{
    return t.sample ? &t.sample->rng : &t.batch->rng;
}

static TtStatus apply_one(const TtTransform *t, Target to)
{
    return to.sample ? t->def->apply(t->options, to.sample) : t->def->apply_batch(t->options, to.batch);
}

#define TRANSFORMS                                                                                          \
    {                                                                                                       \
        "transforms", TT_OPT_NODE, offsetof(Container, transforms), .help = "list of transforms (required)" \
    }

static TtStatus check(void *o, const TtNode *node, TtArena *arena)
{
    Container *c = o;
    const TtNode *at = node->kind == TT_NODE_MAP && node->count ? node->keys[0] : node;
    if (!c->transforms) return tt_node_fail(at, "the key 'transforms' is missing");
    TT_TRY(tt_transform_list_parse(c->transforms, arena, &c->inner));
    if (c->inner.n == 0) return tt_node_fail(c->transforms, "transforms must name at least one transform");
    c->batch = tt_transform_is_batch(&c->inner.list[0]);
    c->media = TT_MEDIA_ANY;
    for (int i = 0; i < c->inner.n; i++) c->media &= tt_transform_media(&c->inner.list[i]);
    if (!c->media) return tt_node_fail(c->transforms, "some of these work on pictures, others on sound");
    for (int i = 1; i < c->inner.n; i++)
        if (tt_transform_is_batch(&c->inner.list[i]) != c->batch)
            return tt_node_fail(c->transforms->items[i],
                                "%s and %s cannot stand together: one works on single "
                                "pictures, the other on batches",
                                c->inner.list[0].def->name, c->inner.list[i].def->name);
    return TT_OK;
}

static bool is_batch(const void *o)
{
    return ((const Container *)o)->batch;
}

static TtMedia media_of(const void *o)
{
    return ((const Container *)o)->media;
}

/* The size behind all of them in order. */
static void size_in_order(const void *o, int *h, int *w)
{
    const Container *c = o;
    for (int i = 0; i < c->inner.n; i++) tt_transform_size(&c->inner.list[i], h, w);
}

/* Known when it is the same with and without; so too for orders. */
static void size_perhaps(const void *o, int *h, int *w)
{
    int hh = *h, ww = *w;
    size_in_order(o, &hh, &ww);
    if (hh != *h || ww != *w) *h = *w = 0;
}

static void size_of_choice(const void *o, int *h, int *w)
{
    const Container *c = o;
    int first_h = 0, first_w = 0;
    for (int i = 0; i < c->inner.n; i++) {
        int hh = *h, ww = *w;
        tt_transform_size(&c->inner.list[i], &hh, &ww);
        if (i == 0) first_h = hh, first_w = ww;
        if (hh != first_h || ww != first_w) first_h = first_w = 0;
    }
    *h = first_h, *w = first_w;
}

#define CONTAINER(NAME, TEXT, OPTIONS, CHECK, RUN, SIZE)                \
    static TtStatus RUN##_sample(const void *o, TtTransformArgs *a)     \
    {                                                                   \
        return RUN(o, (Target){.sample = a});                           \
    }                                                                   \
    static TtStatus RUN##_batch(const void *o, TtBatchTransformArgs *a) \
    {                                                                   \
        return RUN(o, (Target){.batch = a});                            \
    }                                                                   \
    const TtTransformDef tt_transform_##NAME = {                        \
        .name = #NAME,                                                  \
        .help = TEXT,                                                   \
        .options = OPTIONS,                                             \
        .size = sizeof(Container),                                      \
        .check = CHECK,                                                 \
        .apply = RUN##_sample,                                          \
        .apply_batch = RUN##_batch,                                     \
        .is_batch = is_batch,                                           \
        .media_of = media_of,                                           \
        .out_size = SIZE,                                               \
        .random = true,                                                 \
    }

/* ---- Compose */

static const TtOption list_options[] = {TRANSFORMS, {0}};

static TtStatus compose(const Container *c, Target to)
{
    for (int i = 0; i < c->inner.n; i++) TT_TRY(apply_one(&c->inner.list[i], to));
    return TT_OK;
}
CONTAINER(Compose, "one after another", list_options, check, compose, size_in_order);

/* ---- RandomApply */

static const TtOption apply_options[] = {TRANSFORMS, TT_OPTION_P(Container, "0.5"), {0}};

static TtStatus perhaps(const Container *c, Target to)
{
    return tt_rng_double(rng_of(to)) < c->p ? compose(c, to) : TT_OK;
}
CONTAINER(RandomApply, "all of them with probability p, or none", apply_options, check, perhaps, size_perhaps);

/* ---- RandomOrder */

static TtStatus in_any_order(const Container *c, Target to)
{
    int64_t order[TT_TRANSFORMS_MAX];
    for (int i = 0; i < c->inner.n; i++) order[i] = i;
    tt_rng_shuffle(rng_of(to), order, c->inner.n);
    for (int i = 0; i < c->inner.n; i++) TT_TRY(apply_one(&c->inner.list[order[i]], to));
    return TT_OK;
}
CONTAINER(RandomOrder, "all of them in random order", list_options, check, in_any_order, size_perhaps);

/* ---- RandomChoice */

static const TtOption choice_options[] = {
    TRANSFORMS,
    {"p", TT_OPT_FLOATS, offsetof(Container, weights), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED, .min = 0,
     .max = 1e9, .help = "weight of each; null: all alike"},
    {"probabilities", TT_OPT_FLOATS, offsetof(Container, probabilities), .def = "null",
     .flags = TT_OPT_NULL | TT_OPT_RANGED | TT_OPT_HIDDEN, .min = 0, .max = 1e9, .help = "the older name of p"},
    {0}};

static TtStatus choice_check(void *o, const TtNode *node, TtArena *arena)
{
    Container *c = o;
    double sum = 0;
    TT_TRY(check(o, node, arena));
    const char *key = c->weights.n ? "p" : "probabilities";
    if (!c->weights.n) c->weights = c->probabilities;
    if (!c->weights.n) return TT_OK;
    if (c->weights.n != c->inner.n)
        return TT_FAIL_AT_KEY(node, key, "%s has %d values for %d transforms", key, c->weights.n, c->inner.n);
    for (int i = 0; i < c->weights.n; i++) sum += c->weights.v[i];
    return sum > 0 ? TT_OK : TT_FAIL_AT_KEY(node, key, "%s must not be 0 throughout", key);
}

static TtStatus one_of(const Container *c, Target to)
{
    if (!c->weights.n) return apply_one(&c->inner.list[tt_rng_below(rng_of(to), (uint64_t)c->inner.n)], to);
    double sum = 0, upto = 0;
    int last = 0;
    for (int i = 0; i < c->inner.n; i++) sum += c->weights.v[i];
    const double u = tt_rng_double(rng_of(to)) * sum;
    for (int i = 0; i < c->inner.n; i++) {
        if (c->weights.v[i] == 0) continue; /* never chosen, also when rounding leaves u at the very end */
        last = i, upto += c->weights.v[i];
        if (u < upto) break;
    }
    return apply_one(&c->inner.list[last], to);
}
CONTAINER(RandomChoice, "one of them, by weight", choice_options, choice_check, one_of, size_of_choice);
