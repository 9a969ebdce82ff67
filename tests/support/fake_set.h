/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/fake_set.h - a data set and transforms that are made up, so that only the loader is tested. */
#ifndef TT_TESTS_SUPPORT_FAKE_SET_H
#define TT_TESTS_SUPPORT_FAKE_SET_H

#include <stdatomic.h>

#include "data/loader.h"

enum { FAKE_CLASSES = 5 };

/* Pictures of size x (size + 1) whose byte k is fake_byte(sample, k); sample i has label i % FAKE_CLASSES. */
typedef struct Fake {
    int size;
    const char *bad;       /* by sample: '1' cannot be read; NULL: all can */
    int odd;               /* this sample is two rows higher; -1 none */
    int wrong_label;       /* read() gives this sample the label FAKE_CLASSES; -1 none */
    int sleep_us;          /* a read sleeps up to this long, by a hash */
    atomic_int stuck;      /* this sample's read waits until the number changes; -1 none */
    atomic_int stuck_seen; /* it has been met */
    atomic_int reads;
} Fake;

Fake fake_set(void); /* size 4, nothing wrong */
uint8_t fake_byte(int64_t sample, int k);
extern const TtDatasetDef fake_def;

extern const TtTransformChain plain;       /* nothing */
extern const TtTransformChain noise;       /* one random number is added to each picture */
extern const TtTransformChain noise_fixed; /* the same, and it tells its output's size: 4x5 */
extern const TtTransformChain mixed;       /* noise, then each sample's target is mixed with its neighbour's */
extern const TtTransformChain made_grey;   /* one channel: the green one */

/* A loader and what it borrows. */
typedef struct Fixture {
    TtDataset set;
    TtSampler *sampler;
    TtLoaderOptions o;
    TtLoader *l;
} Fixture;

/* Options for N samples in batches of 8 with noise, 3 workers; to be changed before open_loader. */
void prepare(Fixture *f, Fake *fake, int64_t n, TtSamplerKind kind);
void open_loader(Fixture *f);
void finish(Fixture *f);
TtBatch *next(Fixture *f); /* must succeed */

uint64_t hash_batch(const TtBatch *b); /* of all that is in it */
/* Hashes of the batches of EPOCHS epochs, from the place where the loader stands; returns their number. */
int hash_epochs(Fixture *f, int epochs, uint64_t *out);
void sleep_us(int us);

#endif
