/* SPDX-License-Identifier: Apache-2.0 */
/* data/loader_work.c - the working half of the loader: threads that put batches into the queue and fill their slots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data/loader_impl.h"

/* Batches of large pictures for many workers would take more memory than they are worth: all workers fill the same
 * batch, so two are enough to keep them busy. */
#define MOST_QUEUED_BYTES ((size_t)2 << 30)

/* Slots of one batch that a worker has taken. */
typedef struct Work {
    Batch *batch;
    int from, to;
    bool sized; /* the batch's size was known when they were taken */
} Work;

/* ---- batches */

static Batch *take_batch(TtLoader *l)
{
    Batch *b = l->free;
    if (b) {
        l->free = b->next;
        b->next = NULL;
        return b;
    }
    size_t n = (size_t)l->o.batch_size;
    b = tt_realloc(NULL, sizeof *b);
    memset(b, 0, sizeof *b);
    b->pub.labels = tt_realloc(NULL, n * sizeof *b->pub.labels);
    b->pub.indices = tt_realloc(NULL, n * sizeof *b->pub.indices);
    b->all_next = l->all;
    l->all = b;
    return b;
}

void tt_loader_recycle(TtLoader *l, Batch *b)
{
    if (b->epoch) b->epoch->users--;
    b->epoch = NULL;
    b->next = l->free;
    l->free = b;
}

/* Room for SIZE bytes behind *data; the content is not kept. */
static TtStatus make_room(void **data, size_t *capacity, size_t size)
{
    if (*data && size <= *capacity) return TT_OK;
    tt_free(*data);
    *capacity = 0;
    TT_TRY(tt_alloc(data, size));
    *capacity = size;
    return TT_OK;
}

TtStatus tt_loader_size_batch(TtLoader *l, Batch *b, int h, int w)
{
    int c = l->o.channels;
    TtShape shape = TT_SHAPE(b->pub.n, h, w, c);
    void *data = b->pub.x.data;
    size_t bytes = (size_t)tt_shape_count(&shape) * sizeof(float);
    TtStatus st = make_room(&data, &b->x_capacity, bytes);
    b->pub.x = tt_tensor(data, TT_F32, shape);
    b->h = h, b->w = w;
    b->sized = st == TT_OK;
    l->batch_bytes = bytes;
    return st;
}

/* The order of an epoch, computed without the lock by one worker at a time. NULL: the lock was released meanwhile
 * (or there is no memory), look again. */
static Epoch *get_epoch(TtLoader *l, int64_t number)
{
    Epoch *spare = NULL;
    for (Epoch *e = l->epochs; e; e = e->next) {
        if (e->number == number) return e;
        if (e->users == 0) spare = e;
    }
    if (!spare) {
        void *order;
        if (tt_alloc(&order, (size_t)l->total * sizeof *spare->order) != TT_OK) {
            l->status = tt_error_code();
            snprintf(l->message, sizeof l->message, "%s", tt_error_message());
            pthread_cond_broadcast(&l->ready);
            return NULL;
        }
        spare = tt_realloc(NULL, sizeof *spare);
        *spare = (Epoch){.next = l->epochs, .order = order};
        l->epochs = spare;
    }
    spare->number = -1; /* nobody finds it while it changes */
    l->planning = true;
    pthread_mutex_unlock(&l->lock);
    tt_sampler_order(l->o.sampler, number, spare->order);
    pthread_mutex_lock(&l->lock);
    l->planning = false;
    spare->number = number;
    pthread_cond_broadcast(&l->work);
    return NULL;
}

static void finish(TtLoader *l, Batch *b)
{
    b->finished = true;
    pthread_cond_broadcast(&l->ready);
}

/* Keep the calling thread's error as the batch's, if SLOT comes before the one that failed so far. */
static void fail_batch(TtLoader *l, Batch *b, int slot, TtStatus st)
{
    if (b->status != TT_OK && slot >= b->failed) return;
    b->failed = slot;
    b->status = st;
    snprintf(b->message, sizeof b->message, "%s", tt_error_message());
    snprintf(b->origin, sizeof b->origin, "%s", tt_error_origin());
    pthread_cond_broadcast(&l->sized); /* if slot 0 failed the size will never be known */
}

static bool can_issue(const TtLoader *l)
{
    if (l->planning || !l->running || l->status != TT_OK || l->queued >= l->depth) return false;
    if (l->o.stop_at_end && l->plan_epoch > l->asked_epoch) return false;
    return l->queued < 2 || (size_t)(l->queued + 1) * l->batch_bytes <= MOST_QUEUED_BYTES;
}

/* Put the next batch into the queue. */
static void issue(TtLoader *l)
{
    Epoch *e = get_epoch(l, l->plan_epoch);
    if (!e) return;
    Batch *b = take_batch(l);
    int64_t first = (l->plan_step * l->o.world + l->o.rank) * l->o.batch_size;
    int64_t n = TT_MAX(0, TT_MIN(l->total - first, l->o.batch_size));
    e->users++;
    b->epoch = e;
    b->first = first;
    b->claimed = b->done = b->working = b->n_bad = 0;
    b->sized = b->finished = false;
    atomic_store(&b->cancelled, false);
    b->failed = (int)n;
    b->status = TT_OK;
    b->pub.epoch = l->plan_epoch;
    b->pub.step = l->plan_step;
    b->pub.n = (int)n;
    b->pub.x = tt_tensor(b->pub.x.data, TT_F32, TT_SHAPE(n, 0, 0, l->o.channels));
    b->pub.targets = tt_tensor(b->pub.targets.data, TT_F32, TT_SHAPE(n, l->o.num_classes));
    if (++l->plan_step == l->steps) l->plan_epoch++, l->plan_step = 0;

    b->next = NULL;
    if (l->tail)
        l->tail->next = b;
    else
        l->head = b;
    l->tail = b;
    l->queued++;
    if (l->fixed_h > 0 && l->fixed_w > 0) {
        TtStatus st = tt_loader_size_batch(l, b, l->fixed_h, l->fixed_w);
        if (st != TT_OK) {
            fail_batch(l, b, 0, st);
            b->claimed = b->done = (int)n;
        }
    }
    if (b->claimed == (int)n) finish(l, b); /* empty, or without memory */
    pthread_cond_broadcast(&l->work);
}

static bool claim(TtLoader *l, Work *work)
{
    Batch *b = l->tail;
    if (!b || b->claimed == b->pub.n) return false;
    work->batch = b;
    work->from = b->claimed;
    work->to = TT_MIN(b->claimed + l->run, b->pub.n);
    work->sized = b->sized;
    b->claimed = work->to;
    b->working++;
    return true;
}

/* ---- samples */

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The sample's own label, which most datasets have told before. */
static TtStatus check_label(const TtLoader *l, const TtSample *s)
{
    if (l->o.num_classes <= 0 || (s->label >= 0 && s->label < l->o.num_classes)) return TT_OK;
    if (s->label < 0)
        return TT_FAIL(TT_EDATA, "%s: has no label, but %s is %d", s->name, l->o.classes_key, l->o.num_classes);
    return TT_FAIL(TT_EDATA, "%s: label %lld, but %s is %d: labels run from 0 to %d", s->name, (long long)s->label,
                   l->o.classes_key, l->o.num_classes, l->o.num_classes - 1);
}

/* Read sample INDEX and transform it. *skippable: the fault is the sample's, not the config's. */
static TtStatus load_sample(TtLoader *l, Worker *w, int64_t epoch, int64_t position, int64_t index, bool *skippable)
{
    const TtDataset *d = l->o.dataset;
    char replay[4096];
    *skippable = true;
    atomic_store(&w->index, index);
    atomic_store(&w->started, now_ns());
    TtStatus st = d->def->read(d, index, &w->sample);
    if (st == TT_EDATA && !l->bad) {
        tt_dataset_replay(d, index, replay, sizeof replay);
        st = TT_FAIL(st, "%s (to see it again: %s; to go on without it: data.on_error: skip)", tt_error_message(),
                     replay);
    }
    if (st == TT_OK)
        st = tt_transform_chain_apply(l->o.transforms, l->o.seed, (uint64_t)epoch, (uint64_t)position, w->sample.name,
                                      &w->sample.image, &w->scratch);
    if (st != TT_EDATA) *skippable = false;
    if (st == TT_OK) st = check_label(l, &w->sample);
    atomic_store(&w->started, 0);
    return st;
}

/* Make sure that the batch has its size: slot 0 sets it, the others wait for that. False: the batch is given up. */
static TtStatus agree_on_size(TtLoader *l, Batch *b, int slot, const TtImage *im, bool *wanted)
{
    TtStatus st = TT_OK;
    pthread_mutex_lock(&l->lock);
    if (slot == 0 && !b->sized) {
        st = tt_loader_size_batch(l, b, im->h, im->w);
        pthread_cond_broadcast(&l->sized);
    }
    while (st == TT_OK && !b->sized && b->failed > 0 && !atomic_load(&b->cancelled))
        pthread_cond_wait(&l->sized, &l->lock);
    *wanted = b->sized;
    pthread_mutex_unlock(&l->lock);
    return st;
}

/* Copy the worker's picture into its slot. */
static TtStatus place(TtLoader *l, Worker *w, Batch *b, int slot)
{
    const TtImage *im = &w->sample.image;
    int c = l->o.channels;
    TT_ASSERT(im->dtype == TT_F32);
    if (im->h != b->h || im->w != b->w)
        return TT_FAIL(TT_EDATA,
                       "%s: the picture is %dx%d (height x width) after the transforms, but its batch is of %dx%d; add "
                       "Resize and CenterCrop, or RandomResizedCrop, to bring all pictures to one size",
                       w->sample.name, im->h, im->w, b->h, b->w);
    if (im->c != c && !(c == 1 && im->c == 3))
        return TT_FAIL(TT_ECONFIG, "%s: the transforms leave %d channels where the model takes %d", w->sample.name,
                       im->c, c);
    size_t pixels = (size_t)im->h * (size_t)im->w;
    float *to = (float *)b->pub.x.data + (size_t)slot * pixels * (size_t)c;
    const float *from = im->data;
    if (im->c == c)
        memcpy(to, from, pixels * (size_t)c * sizeof *to);
    else
        for (size_t i = 0; i < pixels; i++) to[i] = from[3 * i];
    return TT_OK;
}

/* Remember a sample that failed in this slot. False when more have failed than the run may have. */
static bool note_bad(TtLoader *l, Worker *w, int64_t index)
{
    for (int i = 0; i < w->n_bad; i++)
        if (w->bad[i] == index) return true;
    if (w->n_bad == w->bad_room)
        w->bad = tt_realloc(w->bad, (size_t)(w->bad_room = TT_MAX(16, 2 * w->bad_room)) * sizeof *w->bad);
    w->bad[w->n_bad++] = index;
    return l->o.max_errors < 0 || w->n_bad <= l->o.max_errors;
}

/* Load the slot's sample, or with skip_errors the first good one behind it in the epoch's order. */
static TtStatus load_slot(TtLoader *l, Worker *w, Batch *b, int slot)
{
    w->n_bad = 0;
    for (int64_t attempt = 0; attempt < l->total; attempt++) {
        int64_t position = (b->first + slot + attempt) % l->total, index = b->epoch->order[position];
        bool skippable;
        if (!l->bad || !tt_bad_samples_failed(l->bad, index)) {
            TtStatus st = load_sample(l, w, b->pub.epoch, position, index, &skippable);
            b->pub.indices[slot] = index;
            b->pub.labels[slot] = w->sample.label;
            if (st == TT_OK || !l->bad || !skippable) return st;
            tt_bad_samples_add(l->bad, index, tt_error_message());
        }
        /* Beyond the bound the run fails when the batch is delivered, whatever stands here. */
        if (!note_bad(l, w, index)) break;
        if (atomic_load(&b->cancelled)) break;
    }
    return TT_FAIL(TT_EDATA, "none of the %lld samples of an epoch could be read", (long long)l->total);
}

static TtStatus fill_slot(TtLoader *l, Worker *w, const Work *work, int slot)
{
    Batch *b = work->batch;
    TT_TRY(load_slot(l, w, b, slot));
    if (!work->sized) {
        bool wanted;
        TT_TRY(agree_on_size(l, b, slot, &w->sample.image, &wanted));
        if (!wanted) return TT_OK; /* an earlier slot has failed, or nobody waits for the batch */
    }
    return place(l, w, b, slot);
}

/* MixUp and CutMix, by the worker that filled the last slot; without the lock. */
static TtStatus mix(TtLoader *l, Batch *b)
{
    int64_t n = b->pub.n, classes = l->o.num_classes;
    void *data = b->pub.targets.data;
    TtStatus st = make_room(&data, &b->targets_capacity, (size_t)(n * classes) * sizeof(float));
    b->pub.targets = tt_tensor(data, TT_F32, TT_SHAPE(n, classes));
    TT_TRY(st);
    float *t = data;
    memset(t, 0, (size_t)(n * classes) * sizeof *t);
    for (int64_t i = 0; i < n; i++) t[i * classes + b->pub.labels[i]] = 1.0f;
    uint64_t key = (uint64_t)(b->pub.step * l->o.world + l->o.rank); /* ranks must not mix alike */
    return tt_transform_chain_apply_batch(l->o.transforms, l->o.seed, (uint64_t)b->pub.epoch, key, b->pub.x,
                                          b->pub.targets);
}

/* ---- the worker */

/* With the lock held: what happened in SLOT. */
static void slot_done(TtLoader *l, Worker *w, Batch *b, int slot, TtStatus st)
{
    b->done++;
    for (int i = 0; i < w->n_bad; i++) {
        if (b->n_bad == b->bad_room)
            b->bad = tt_realloc(b->bad, (size_t)(b->bad_room = TT_MAX(16, 2 * b->bad_room)) * sizeof *b->bad);
        b->bad[b->n_bad++] = (BadSlot){.slot = slot, .attempt = i, .index = w->bad[i]};
    }
    if (st == TT_OK) return;
    fail_batch(l, b, slot, st);
    /* What comes behind a failure is not delivered and need not be loaded. Slots are taken in order, so all before the
     * failure are taken already, and an earlier one may still turn out to have failed. */
    b->done += b->pub.n - b->claimed;
    b->claimed = b->pub.n;
}

/* With the lock held: the worker has nothing more to do in this batch. The last to leave a full batch mixes it and
 * hands it over; only then may the batch be taken, so that nobody is inside when it is used again. */
static void leave(TtLoader *l, Batch *b)
{
    bool full = b->done == b->pub.n;
    if (b->working == 1 && full && b->status == TT_OK && l->o.transforms->n_batch > 0 && !atomic_load(&b->cancelled)) {
        pthread_mutex_unlock(&l->lock);
        TtStatus st = mix(l, b);
        pthread_mutex_lock(&l->lock);
        if (st != TT_OK) fail_batch(l, b, b->pub.n - 1, st);
    }
    if (--b->working > 0) return;
    if (atomic_load(&b->cancelled))
        tt_loader_recycle(l, b);
    else if (full)
        finish(l, b);
}

static void do_work(TtLoader *l, Worker *w, const Work *work)
{
    Batch *b = work->batch;
    bool failed = false;
    for (int slot = work->from; slot < work->to; slot++) {
        w->n_bad = 0;
        TtStatus st = failed || atomic_load(&b->cancelled) ? TT_OK : fill_slot(l, w, work, slot);
        pthread_mutex_lock(&l->lock);
        slot_done(l, w, b, slot, st);
        failed = b->status != TT_OK && b->failed <= slot;
        if (slot + 1 == work->to) leave(l, b);
        pthread_mutex_unlock(&l->lock);
    }
}

void *tt_loader_worker(void *user)
{
    Worker *w = user;
    TtLoader *l = w->loader;
    char name[16];
    snprintf(name, sizeof name, "loader-%d", w->number);
    pthread_setname_np(pthread_self(), name);
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        Work work;
        if (claim(l, &work)) {
            pthread_mutex_unlock(&l->lock);
            do_work(l, w, &work);
            pthread_mutex_lock(&l->lock);
        } else if (can_issue(l)) {
            issue(l);
        } else {
            pthread_cond_wait(&l->work, &l->lock);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}
