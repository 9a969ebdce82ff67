/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler.c - which samples an epoch holds, and in what order.
 *
 * Everything rests on the members sorted by class: folds and fractions pick from each class, weighted draws pick a
 * class and then a member, stratified orders spread each class evenly over the epoch. */
#include "data/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/rng.h"

struct TtSampler {
    TtSamplerKind kind;
    uint64_t seed;
    int64_t count;
    int64_t *indices; /* the samples in use, ascending */
    /* WEIGHTED and STRATIFIED: the same samples, class by class; class c has [start[c], start[c+1]). */
    int64_t *by_class, *start;
    int classes;
    double *cumulative; /* WEIGHTED: sum of (weight * size) of the classes up to and with c */
};

/* All samples sorted by class, ascending within each; a sample without a label is in class 0. */
typedef struct Groups {
    int classes;
    int64_t *items, *start; /* start has classes + 1 places */
} Groups;

static int64_t label_of(const TtDataset *d, int64_t i)
{
    int64_t v = d->def->label ? d->def->label(d, i) : -1;
    return v < 0 || v >= d->classes ? 0 : v;
}

/* Counting sort of ITEMS (n dataset indices) by class. */
static void group(const TtDataset *d, const int64_t *items, int64_t n, Groups *g)
{
    g->classes = TT_MAX(d->classes, 1);
    g->items = tt_realloc(NULL, (size_t)n * sizeof *g->items);
    g->start = tt_realloc(NULL, ((size_t)g->classes + 2) * sizeof *g->start);
    memset(g->start, 0, ((size_t)g->classes + 2) * sizeof *g->start);
    for (int64_t i = 0; i < n; i++) g->start[label_of(d, items[i]) + 2]++;
    for (int c = 0; c < g->classes; c++) g->start[c + 2] += g->start[c + 1];
    for (int64_t i = 0; i < n; i++) g->items[g->start[label_of(d, items[i]) + 1]++] = items[i];
}

static void group_free(Groups *g)
{
    free(g->items);
    free(g->start);
}

static int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Deal each class, shuffled, to the folds in turn; the turn goes on from class to class so that the folds differ by
 * one sample at most. */
static int64_t pick_fold(const TtSamplerOptions *o, const Groups *g, int64_t *out)
{
    int64_t n = 0, turn = 0;
    for (int c = 0; c < g->classes; c++) {
        TtRng r = tt_rng(o->seed, TT_RNG_SPLIT, 0, (uint64_t)c, 0);
        int64_t size = g->start[c + 1] - g->start[c], *items = g->items + g->start[c];
        tt_rng_shuffle(&r, items, size);
        for (int64_t i = 0; i < size; i++, turn++)
            if ((turn % o->folds == o->fold) == o->holdout) out[n++] = items[i];
    }
    return n;
}

/* The first samples of each class, shuffled. Rounded so that the sizes add up to fraction * n: what a class's share
 * was cut by is carried to the next. */
static int64_t pick_fraction(const TtSamplerOptions *o, const Groups *g, int64_t *out)
{
    int64_t n = 0;
    for (int c = 0; c < g->classes; c++) {
        TtRng r = tt_rng(o->seed, TT_RNG_SPLIT, 1, (uint64_t)c, 0);
        int64_t size = g->start[c + 1] - g->start[c], *items = g->items + g->start[c];
        int64_t take = llround(o->fraction * (double)g->start[c + 1]) - llround(o->fraction * (double)g->start[c]);
        tt_rng_shuffle(&r, items, size);
        memcpy(out + n, items, (size_t)TT_MIN(take, size) * sizeof *out);
        n += TT_MIN(take, size);
    }
    return n;
}

/* Reduce s->indices by PICK. */
static void reduce(TtSampler *s, const TtDataset *d, const TtSamplerOptions *o,
                   int64_t (*pick)(const TtSamplerOptions *, const Groups *, int64_t *))
{
    Groups g;
    group(d, s->indices, s->count, &g);
    s->count = pick(o, &g, s->indices);
    qsort(s->indices, (size_t)s->count, sizeof *s->indices, compare_int64);
    group_free(&g);
}

static TtStatus set_weights(TtSampler *s, const TtSamplerOptions *o)
{
    if (o->class_weights && o->n_class_weights != s->classes)
        return TT_FAIL(TT_ECONFIG, "class_weights: %d weights for %d classes", o->n_class_weights, s->classes);
    s->cumulative = tt_realloc(NULL, (size_t)s->classes * sizeof *s->cumulative);
    double sum = 0;
    for (int c = 0; c < s->classes; c++) {
        double size = (double)(s->start[c + 1] - s->start[c]), w = o->class_weights ? o->class_weights[c] : 1 / size;
        if (!(w >= 0) || (o->class_weights && !isfinite(w)))
            return TT_FAIL(TT_ECONFIG, "class_weights: weight %d is %g; finite numbers from 0 are wanted", c, w);
        sum += size > 0 ? w * size : 0;
        s->cumulative[c] = sum;
    }
    if (!(sum > 0 && isfinite(sum)))
        return TT_FAIL(TT_ECONFIG, "class_weights: their sum over the samples is %g; nothing could be drawn", sum);
    return TT_OK;
}

static TtStatus check_options(const TtDataset *d, const TtSamplerOptions *o)
{
    bool by_class = o->kind == TT_SAMPLER_WEIGHTED || o->kind == TT_SAMPLER_STRATIFIED;
    if (by_class && d->classes == 0) return TT_FAIL(TT_ECONFIG, "sampler: the dataset has no labels to go by");
    if (!(o->fraction >= 0 && o->fraction <= 1))
        return TT_FAIL(TT_ECONFIG, "fraction: %g is not within 0 to 1", o->fraction);
    if (o->folds < 0 || o->folds == 1) return TT_FAIL(TT_ECONFIG, "folds: %d; 2 or more, or 0 for none", o->folds);
    if (o->folds > 1 && (o->fold < 0 || o->fold >= o->folds))
        return TT_FAIL(TT_ECONFIG, "fold: %d is not within 0 to %d", o->fold, o->folds - 1);
    return TT_OK;
}

TtStatus tt_sampler_open(const TtDataset *d, const TtSamplerOptions *o, TtSampler **out)
{
    *out = NULL;
    TT_TRY(check_options(d, o));
    TtSampler *s = tt_realloc(NULL, sizeof *s);
    *s = (TtSampler){.kind = o->kind, .seed = o->seed, .count = d->count};
    s->indices = tt_realloc(NULL, (size_t)d->count * sizeof *s->indices);
    for (int64_t i = 0; i < d->count; i++) s->indices[i] = i;
    if (o->folds > 1) reduce(s, d, o, pick_fold);
    if (o->fraction > 0 && o->fraction < 1) reduce(s, d, o, pick_fraction);
    TtStatus st = TT_OK;
    if (s->count == 0) st = TT_FAIL(TT_ECONFIG, "fraction and folds leave none of %lld samples", (long long)d->count);
    if (st == TT_OK && (o->kind == TT_SAMPLER_WEIGHTED || o->kind == TT_SAMPLER_STRATIFIED)) {
        Groups g;
        group(d, s->indices, s->count, &g);
        s->by_class = g.items, s->start = g.start, s->classes = g.classes;
        if (o->kind == TT_SAMPLER_WEIGHTED) st = set_weights(s, o);
    }
    if (st != TT_OK) {
        tt_sampler_close(s);
        return st;
    }
    *out = s;
    return TT_OK;
}

int64_t tt_sampler_count(const TtSampler *s)
{
    return s->count;
}

/* The first class whose cumulative weight lies above V. A class of weight 0 is never met: its sum is its
 * predecessor's. */
static int find_class(const TtSampler *s, double v)
{
    int lo = 0, hi = s->classes - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (s->cumulative[mid] > v)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void draw_weighted(const TtSampler *s, TtRng *r, int64_t *order)
{
    double sum = s->cumulative[s->classes - 1];
    for (int64_t i = 0; i < s->count; i++) {
        double v = tt_rng_double(r) * sum;
        int c = find_class(s, TT_MIN(v, nextafter(sum, 0))); /* the product may round up to the sum */
        int64_t size = s->start[c + 1] - s->start[c];
        order[i] = s->by_class[s->start[c] + (int64_t)tt_rng_below(r, (uint64_t)size)];
    }
}

typedef struct Place {
    double at;
    int64_t index;
} Place;

static int compare_places(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->index > y->index) - (x->index < y->index);
}

/* Member k of a class of n, shuffled, stands at (k + u) / n with one random u for the class: any stretch of the
 * epoch then holds its share of the class, to one sample. */
static void draw_stratified(const TtSampler *s, TtRng *r, int64_t *order)
{
    Place *places = tt_realloc(NULL, (size_t)s->count * sizeof *places);
    memcpy(order, s->by_class, (size_t)s->count * sizeof *order);
    for (int c = 0; c < s->classes; c++) {
        int64_t size = s->start[c + 1] - s->start[c];
        double u = tt_rng_double(r);
        tt_rng_shuffle(r, order + s->start[c], size);
        for (int64_t k = 0; k < size; k++)
            places[s->start[c] + k] = (Place){.at = ((double)k + u) / (double)size, .index = order[s->start[c] + k]};
    }
    qsort(places, (size_t)s->count, sizeof *places, compare_places);
    for (int64_t i = 0; i < s->count; i++) order[i] = places[i].index;
    free(places);
}

void tt_sampler_order(const TtSampler *s, int64_t epoch, int64_t *order)
{
    TtRng shuffle = tt_rng(s->seed, TT_RNG_SHUFFLE, (uint64_t)epoch, 0, 0);
    TtRng draw = tt_rng(s->seed, TT_RNG_SAMPLER, (uint64_t)epoch, 0, 0);
    switch (s->kind) {
    case TT_SAMPLER_WEIGHTED: draw_weighted(s, &draw, order); return;
    case TT_SAMPLER_STRATIFIED: draw_stratified(s, &draw, order); return;
    case TT_SAMPLER_SEQUENTIAL:
    case TT_SAMPLER_RANDOM: break;
    }
    memcpy(order, s->indices, (size_t)s->count * sizeof *order);
    if (s->kind == TT_SAMPLER_RANDOM) tt_rng_shuffle(&shuffle, order, s->count);
}

void tt_sampler_close(TtSampler *s)
{
    if (!s) return;
    free(s->indices);
    free(s->by_class);
    free(s->start);
    free(s->cumulative);
    free(s);
}
