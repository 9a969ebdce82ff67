/* SPDX-License-Identifier: Apache-2.0 */
/* data/loader.h - batches from a dataset: sampler, transforms, worker threads, bounded prefetch, in order.
 *
 * The batch of (epoch, step) is a pure function of the config and the seed; workers only decide when it is
 * ready. Seeking to any step of any epoch costs the same as starting.
 *
 * Random transforms are keyed by (seed, epoch, position in the epoch's order): a sample that is drawn twice in an
 * epoch is not augmented twice in the same way. All pictures of a batch must have one size after the transforms; clips
 * of different lengths are filled up with zeros to the longest.
 *
 * on_error: skip. A sample that cannot be read (TT_EDATA from its file or from a transform) gives its place to the
 * first good one at the following positions of the epoch's order, cyclically; so the batch stays the same for any
 * number of workers and after a seek. It is counted, warned of and written to bad_samples.tsv when its batch is
 * delivered, once. With drop_bad its place is left out instead: a metric must not count its neighbour twice. What is wrong with the config and not with a file - a label beyond the classes, sizes that
 * differ - always fails. */
#ifndef TT_DATA_LOADER_H
#define TT_DATA_LOADER_H

#include "data/dataset.h"
#include "data/sampler.h"
#include "data/transform.h"

typedef struct TtLoader TtLoader;

typedef struct TtBatch {
    int64_t epoch, step; /* step counts batches within the epoch, from 0 */
    int n;               /* samples in it; the last batch may be smaller without drop_last */
    TtTensor x;          /* (N,H,W,C), or sound (N,T,C) filled up with zeros; float32, contiguous */
    int64_t *labels;     /* n; with on_error: skip, a skipped sample's place is taken by the next good one */
    TtTensor targets;    /* (N,classes) float32 when a batch transform mixed them; sound: the data set's TT_PART_TARGET,
                            (N,L,...), filled up with zeros; else data == NULL */
    TtTensor extra;      /* sound: TT_PART_EXTRA where the set has one; else data == NULL */
    int64_t *lengths[TT_PARTS]; /* sound: n each, the first axis of every sample's parts before they were filled up */
    int64_t *indices;           /* n: which sample of the dataset */
    double wait;                /* seconds tt_loader_next waited for it */
} TtBatch;

typedef struct TtLoaderOptions {
    const TtDataset *dataset;
    const TtSampler *sampler; /* order of each epoch; borrowed */
    const TtTransformChain *transforms;
    uint64_t seed;
    int batch_size;
    /* With several ranks batch_size is one rank's share: of each batch_size * world samples of the order this loader
     * delivers the rank-th part. Without drop_last the last part may be smaller, even empty, and every rank still
     * has the same number of steps. world 0 or 1: all. */
    int rank, world;
    bool drop_last;
    int num_workers;     /* 1 or more; use tt_loader_auto_workers for `auto` */
    int prefetch_factor; /* batches ready or in work, per worker (at least 1); large ones are also bounded
                                     by memory: 2 GiB, but two batches in any case */
    bool stop_at_end;    /* do not prefetch beyond the epoch's end until the next epoch is asked for
                                     (validation, which would throw it away or let it lie in memory) */
    bool skip_errors;    /* on_error: skip */
    bool drop_bad;       /* with skip: a bad sample leaves its batch smaller (validation, predict), even empty */
    bool (*stop)(void);  /* asked several times a second while waiting: true makes tt_loader_next return
                                     TT_ESTOPPED; NULL: never */
    int64_t max_errors;  /* with skip: the run fails on one more; negative: no bound */
    const char *bad_samples_path; /* bad_samples.tsv to append to, or NULL. Samples that it lists already (from before
                                     a resume) count as met and are not written again. */
    double stall_seconds;         /* watchdog: warn, naming the file, when one sample takes longer; 0 means 60 */
    int num_classes;              /* for batch transforms' targets and label checks; 0: unchecked */
    const char *classes_key;      /* config key to cite when a label is out of range; NULL: model.num_classes */
    int64_t pad_multiple;         /* sound: T is rounded up to a multiple of this; 0: 1 */
    int channels;                 /* 3; or 1 to train on grey (the mean of equal channels is not taken: R is) */
} TtLoaderOptions;

TtStatus tt_loader_open(const TtLoaderOptions *o, TtLoader **out) TT_NODISCARD;
int64_t tt_loader_steps(const TtLoader *l); /* batches in an epoch */
/* Drop what is prefetched and continue at this place; the next batch is exactly that one. */
TtStatus tt_loader_seek(TtLoader *l, int64_t epoch, int64_t step) TT_NODISCARD; /* step == steps: the epoch's end */
/* The next batch in order; after the last of an epoch *out is NULL once and the next call begins the following
 * epoch (already being prefetched). The batch is the caller's until tt_loader_release. Errors: the first failed
 * sample in order, whichever worker met it first; it is returned again until a seek. Workers start with the first
 * call of this or of tt_loader_seek. */
TtStatus tt_loader_next(TtLoader *l, TtBatch **out) TT_NODISCARD;
void tt_loader_release(TtLoader *l, TtBatch *b);
int64_t tt_loader_errors(const TtLoader *l); /* samples skipped so far, each sample counted once */
/* Wake a waiting tt_loader_next, which then returns TT_ESTOPPED (from a signal's flag watcher, not from a signal
 * handler). When none waits the next call returns it. No batch is lost: the call after that goes on. */
void tt_loader_interrupt(TtLoader *l);
/* Joins all workers; batches still held become invalid; NULL is fine. False: a worker hangs in a read (a dead network
 * mount) and is left behind, for the process's end to take; data set, sampler and transforms must then stay. */
bool tt_loader_close(TtLoader *l);

/* CPUs this process may use: sched_getaffinity bounded by the cgroup's quota (v1 and v2), at least 1. */
int tt_cpu_count(void);
int tt_loader_auto_workers(void);

#endif
