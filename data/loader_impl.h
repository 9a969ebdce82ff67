/* SPDX-License-Identifier: Apache-2.0 */
/* data/loader_impl.h - what the loader's two halves share: loader.c delivers batches, loader_work.c fills them.
 *
 * One lock protects everything that is not said to be otherwise. Batches stand in a queue in the order of delivery;
 * workers take slots of the newest one, and when it has none left they put the next one behind it. Hence one slow file
 * holds up its own worker and, when its batch is due, the delivery - but no other worker. */
#ifndef TT_DATA_LOADER_IMPL_H
#define TT_DATA_LOADER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/bad_samples.h"
#include "data/loader.h"

/* The order of one epoch; kept while batches use it and as long as nobody needs the room. */
typedef struct Epoch {
    struct Epoch *next;
    int64_t number;
    int64_t *order;
    int users; /* batches issued from it */
} Epoch;

typedef struct BadSlot {
    int slot, attempt; /* attempt: order of failure within the slot */
    int64_t index;
} BadSlot;

/* A prepared sample of sound that waits until the batch is full and its length known. */
typedef struct Stored {
    TtPart parts[TT_PARTS];
    void *data;
    size_t capacity; /* bytes */
} Stored;

typedef struct Batch {
    TtBatch pub;            /* first: what the caller holds is the whole */
    struct Batch *next;     /* in the queue or the free list */
    struct Batch *all_next; /* of all ever made, for close */
    Epoch *epoch;
    int64_t first;         /* place of slot 0 in the epoch's order */
    int slots;             /* pub.n until samples are left out */
    int claimed;           /* slots handed to workers, in order */
    int done;              /* slots of those that are over */
    int working;           /* workers inside this batch */
    bool sized;            /* h, w and x are set: by the chain, else by slot 0 (pictures) */
    bool finished;         /* can be delivered, or has failed */
    atomic_bool cancelled; /* no longer wanted; the last worker to leave recycles it */
    int h, w;
    size_t x_capacity, targets_capacity, extra_capacity; /* bytes */
    Stored *stored;                                      /* sound: one a slot */
    BadSlot *bad;
    int n_bad, bad_room;
    int failed; /* the first slot that failed; n when none */
    TtStatus status;
    char message[2048], origin[128];
} Batch;

typedef struct Worker {
    TtLoader *loader;
    int number;
    pthread_t thread;
    TtSample sample;
    TtTransformScratch scratch;
    int64_t *bad; /* samples that failed in the slot at hand */
    int n_bad, bad_room;
    /* For the watchdog, without the lock: since when (ns, 0: idle) and on which sample. */
    atomic_llong started, index;
    /* The delivering thread's: the sample (by its start) last warned of, and its age then. */
    long long warned_start;
    double warned_age;
} Worker;

struct TtLoader {
    TtLoaderOptions o;
    TtTransformChain chain; /* a copy of its own: o.transforms */
    int64_t total, steps;   /* samples and batches in an epoch */
    bool sound;
    int depth;            /* batches that may be queued */
    int run;              /* slots a worker takes at a time */
    int fixed_h, fixed_w; /* size after the transforms where the chain fixes it, else 0 */
    TtBadSamples *bad;    /* with skip_errors; has its own lock */
    Worker *workers;
    int n_workers; /* started */

    pthread_mutex_t lock;
    pthread_cond_t work;  /* workers: slots to take, or room for a batch */
    pthread_cond_t sized; /* workers: a batch got its size, or will not */
    pthread_cond_t ready; /* the delivering thread */
    bool stop, running, interrupted, planning;
    int64_t plan_epoch, plan_step; /* of the next batch to put into the queue */
    int64_t at_epoch, at_step;     /* of the next batch to deliver */
    int64_t asked_epoch;           /* the newest that was asked for; with stop_at_end none after it is prepared */
    Batch *head, *tail;            /* the queue */
    int queued;
    size_t batch_bytes; /* of the last batch whose size became known */
    Batch *free, *all;
    Epoch *epochs;
    TtStatus status; /* a failure that was or will be returned, until a seek */
    char message[2048], origin[128];
};

void *tt_loader_worker(void *worker);

/* With the lock held. */
void tt_loader_recycle(TtLoader *l, Batch *b);
TtStatus tt_loader_size_batch(TtLoader *l, Batch *b, int h, int w);

#endif
