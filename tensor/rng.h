/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/rng.h - counter-based random numbers (Philox4x32-10, Salmon et al. 2011).
 *
 * No generator state is shared: a stream is named by what it is for, (seed, purpose, a, b, c), so the
 * number of workers and the order they finish in cannot change a draw. Any position of a stream can be
 * had directly. The purposes are listed here so that no two uses share a stream. */
#ifndef TT_TENSOR_RNG_H
#define TT_TENSOR_RNG_H

#include "tensor/status.h"

typedef enum TtRngPurpose {
    TT_RNG_INIT = 1,  /* a: hash of the parameter's name */
    TT_RNG_SHUFFLE,   /* a: epoch */
    TT_RNG_SAMPLER,   /* a: epoch (weighted and stratified draws) */
    TT_RNG_TRANSFORM, /* a: epoch, b: sample, c: index of the transform */
    TT_RNG_BATCH,     /* a: epoch, b: step in the epoch, c: index of the transform */
    TT_RNG_DROPOUT,   /* a: step, b: shard and micro-batch, c: op */
    TT_RNG_SPLIT,     /* folds and fractions */
    TT_RNG_SYNTHETIC, /* bench data */
    TT_RNG_CROP,      /* a: epoch, b: sample: which part of a clip */
    TT_RNG_TEST,
    TT_RNG_PREPARE /* a: hash of the data set's name, b: what is drawn, c: which of them */
} TtRngPurpose;

typedef struct TtRng {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4]; /* the numbers of the current counter */
    int left;          /* how many of block are still unused */
} TtRng;

/* One Philox4x32-10 block. */
void tt_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

TtRng tt_rng(uint64_t seed, TtRngPurpose purpose, uint64_t a, uint64_t b, uint64_t c);
uint32_t tt_rng_u32(TtRng *r);
uint64_t tt_rng_u64(TtRng *r);
float tt_rng_float(TtRng *r);                          /* uniform on [0, 1), 24 bits */
double tt_rng_double(TtRng *r);                        /* uniform on [0, 1), 53 bits */
double tt_rng_uniform(TtRng *r, double lo, double hi); /* uniform on [lo, hi) */
uint64_t tt_rng_below(TtRng *r, uint64_t n);           /* unbiased on 0..n-1; n > 0 */
double tt_rng_normal(TtRng *r);                        /* standard normal (Box-Muller) */
double tt_rng_gamma(TtRng *r, double shape);           /* Marsaglia and Tsang 2000; scale 1 */
double tt_rng_beta(TtRng *r, double a, double b);
void tt_rng_shuffle(TtRng *r, int64_t *items, int64_t n); /* Fisher-Yates */

/* 64-bit hash of a name, stable for ever (FNV-1a, finished with SplitMix64's mixer). */
uint64_t tt_hash_name(const char *s);
uint64_t tt_mix64(uint64_t x);

#endif
