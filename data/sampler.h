/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler.h - the order of samples in an epoch, and which samples belong to a split.
 *
 * A sampler is immutable; the order of epoch e is computed from (seed, e) alone. */
#ifndef TT_DATA_SAMPLER_H
#define TT_DATA_SAMPLER_H

#include "data/dataset.h"

typedef enum TtSamplerKind {
    TT_SAMPLER_SEQUENTIAL,
    TT_SAMPLER_RANDOM,    /* torch.utils.data.RandomSampler without replacement */
    TT_SAMPLER_WEIGHTED,  /* WeightedRandomSampler with replacement; weights by class */
    TT_SAMPLER_STRATIFIED /* without replacement; every window holds the classes in proportion, to about one sample */
} TtSamplerKind;

typedef struct TtSamplerOptions {
    TtSamplerKind kind;
    uint64_t seed;
    const double *class_weights; /* WEIGHTED: one a class, or NULL for 1/count of the class (balanced) */
    int n_class_weights;
    double fraction; /* use this part of the set, chosen by seed and stratified by class; 0 or 1: all */
    int folds, fold; /* k-fold: folds > 1; stratified by class */
    bool holdout;    /* true: the samples of `fold`; false: all the others */
} TtSamplerOptions;

typedef struct TtSampler TtSampler;
/* Folds first, then the fraction of what they leave. Without labels all samples count as one class; WEIGHTED and
 * STRATIFIED then are TT_ECONFIG. */
TtStatus tt_sampler_open(const TtDataset *d, const TtSamplerOptions *o, TtSampler **out) TT_NODISCARD;
int64_t tt_sampler_count(const TtSampler *s); /* samples in an epoch */
/* Write the epoch's order (dataset indices) to ORDER, which has tt_sampler_count places. */
void tt_sampler_order(const TtSampler *s, int64_t epoch, int64_t *order);
void tt_sampler_close(TtSampler *s); /* NULL is fine */

#endif
