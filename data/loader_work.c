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
    if (l->sound) {
        b->stored = tt_realloc(NULL, n * sizeof *b->stored);
        memset(b->stored, 0, n * sizeof *b->stored);
        for (int k = 0; k < TT_PARTS; k++) b->pub.lengths[k] = tt_realloc(NULL, n * sizeof *b->pub.lengths[k]);
    }
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
    b->sized = l->sound; /* its size is known when all are there */
    b->finished = false;
    atomic_store(&b->cancelled, false);
    b->failed = (int)n;
    b->status = TT_OK;
    b->pub.epoch = l->plan_epoch;
    b->pub.step = l->plan_step;
    b->pub.n = b->slots = (int)n;
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
    if (!b || b->claimed == b->slots) return false;
    work->batch = b;
    work->from = b->claimed;
    work->to = TT_MIN(b->claimed + l->run, b->slots);
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
    bool read_failed;
    TtStatus st = tt_dataset_load(d, l->o.transforms, l->o.seed, (uint64_t)epoch, (uint64_t)position, index, &w->sample,
                                  &w->scratch, &read_failed);
    if (st == TT_EDATA && read_failed && !l->bad) {
        tt_dataset_replay(d, index, replay, sizeof replay);
        st = TT_FAIL(st, "%s (to see it again: %s; to go on without it: data.on_error: skip)", tt_error_message(),
                     replay);
    }
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
    if ((slot == 0 || l->o.drop_bad) && !b->sized) {
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

/* Keep the worker's clip in its slot until the batch is full. */
static TtStatus store(Worker *w, Batch *b, int slot)
{
    enum { ALIGN = 64 };
    Stored *to = &b->stored[slot];
    size_t bytes[TT_PARTS], total = 0;
    for (int k = 0; k < TT_PARTS; k++) {
        const TtPart *p = &w->sample.parts[k];
        bytes[k] = p->data ? (size_t)tt_shape_count(&p->shape) * tt_dtype_size(p->dtype) : 0;
        total += (bytes[k] + ALIGN - 1) / ALIGN * ALIGN;
    }
    TT_TRY(make_room(&to->data, &to->capacity, TT_MAX(total, (size_t)ALIGN)));
    char *at = to->data;
    for (int k = 0; k < TT_PARTS; k++) {
        to->parts[k] = w->sample.parts[k];
        if (!to->parts[k].data) continue;
        if (bytes[k]) memcpy(at, to->parts[k].data, bytes[k]);
        to->parts[k].data = at;
        at += (bytes[k] + ALIGN - 1) / ALIGN * ALIGN;
    }
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
        bool more = note_bad(l, w, index);
        if (l->o.drop_bad) {
            b->pub.indices[slot] = -1;
            return TT_OK;
        }
        if (!more) break;
        if (atomic_load(&b->cancelled)) break;
    }
    return TT_FAIL(TT_EDATA, "none of the %lld samples of an epoch could be read", (long long)l->total);
}

static TtStatus fill_slot(TtLoader *l, Worker *w, const Work *work, int slot)
{
    Batch *b = work->batch;
    TT_TRY(load_slot(l, w, b, slot));
    if (b->pub.indices[slot] < 0) return TT_OK; /* left out */
    if (l->sound) return atomic_load(&b->cancelled) ? TT_OK : store(w, b, slot);
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

/* The longest sample's first axis; that all agree on the rest. */
static TtStatus longest(const TtLoader *l, const Batch *b, int k, int64_t *out)
{
    const TtPart *first = &b->stored[0].parts[k];
    *out = 0;
    for (int i = 0; i < b->pub.n; i++) {
        const TtPart *p = &b->stored[i].parts[k];
        bool same = p->dtype == first->dtype && p->shape.rank == first->shape.rank;
        for (int a = p->padded ? 1 : 0; same && a < p->shape.rank; a++) same = p->shape.dims[a] == first->shape.dims[a];
        *out = TT_MAX(*out, p->shape.dims[0]);
        if (same) continue;
        char name[1024], was[TT_SHAPE_TEXT], now[TT_SHAPE_TEXT];
        l->o.dataset->def->describe(l->o.dataset, b->pub.indices[i], name, sizeof name);
        return TT_FAIL(
            TT_EDATA,
            "%s: is of %s (frames and channels) after the transforms, but its batch begins with %s; all clips "
            "of a batch must agree",
            name, tt_shape_text(&p->shape, now), tt_shape_text(&first->shape, was));
    }
    return TT_OK;
}

/* One part of all samples, filled up to the longest. */
static TtStatus collate_part(TtLoader *l, Batch *b, int k, TtTensor *out, size_t *capacity)
{
    const TtPart *first = &b->stored[0].parts[k];
    int64_t n = b->pub.n, most, multiple = k == TT_PART_X && first->padded ? l->o.pad_multiple : 1;
    if (!first->data) return TT_OK;
    TT_TRY(longest(l, b, k, &most));
    TtShape shape = {.rank = first->shape.rank + 1, .dims = {n, (most + multiple - 1) / multiple * multiple}};
    for (int a = 1; a < first->shape.rank; a++) shape.dims[a + 1] = first->shape.dims[a];
    size_t bytes = (size_t)tt_shape_count(&shape) * tt_dtype_size(first->dtype), row = n ? bytes / (size_t)n : 0;
    void *data = out->data;
    TtStatus st = make_room(&data, capacity, TT_MAX(bytes, (size_t)1));
    *out = tt_tensor(data, first->dtype, shape);
    TT_TRY(st);
    for (int64_t i = 0; i < n; i++) {
        const TtPart *p = &b->stored[i].parts[k];
        size_t size = (size_t)tt_shape_count(&p->shape) * tt_dtype_size(p->dtype);
        char *to = (char *)data + (size_t)i * row;
        memcpy(to, p->data, size);
        memset(to + size, 0, row - size);
        b->pub.lengths[k][i] = p->shape.dims[0];
    }
    return TT_OK;
}

/* Sound: the batch out of its samples, by the worker that filled the last slot; without the lock. */
static TtStatus collate(TtLoader *l, Batch *b)
{
    TT_TRY(collate_part(l, b, TT_PART_X, &b->pub.x, &b->x_capacity));
    TT_TRY(collate_part(l, b, TT_PART_EXTRA, &b->pub.extra, &b->extra_capacity));
    return collate_part(l, b, TT_PART_TARGET, &b->pub.targets, &b->targets_capacity);
}

/* Close the gaps that samples have left. */
static void close_gaps(TtLoader *l, Batch *b)
{
    int to = 0;
    size_t row = b->sized && !l->sound && b->pub.n ? tt_tensor_bytes(&b->pub.x) / (size_t)b->pub.n : 0;
    for (int i = 0; i < b->pub.n; i++) {
        if (b->pub.indices[i] < 0) continue;
        if (i != to) {
            b->pub.indices[to] = b->pub.indices[i], b->pub.labels[to] = b->pub.labels[i];
            if (row) memcpy((char *)b->pub.x.data + (size_t)to * row, (char *)b->pub.x.data + (size_t)i * row, row);
            if (l->sound) {
                Stored s = b->stored[to];
                b->stored[to] = b->stored[i], b->stored[i] = s;
            }
        }
        to++;
    }
    b->pub.n = to;
    b->pub.x.shape.dims[0] = to;
}

static TtStatus complete(TtLoader *l, Batch *b)
{
    if (l->o.drop_bad) close_gaps(l, b);
    if (l->sound) return b->pub.n ? collate(l, b) : TT_OK;
    return l->o.transforms->n_batch > 0 ? mix(l, b) : TT_OK;
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
    b->done += b->slots - b->claimed;
    b->claimed = b->slots;
}

/* With the lock held: the worker has nothing more to do in this batch. The last to leave a full batch completes it and
 * hands it over; only then may the batch be taken, so that nobody is inside when it is used again. */
static void leave(TtLoader *l, Batch *b)
{
    bool full = b->done == b->slots;
    bool more = l->sound || l->o.drop_bad || l->o.transforms->n_batch > 0;
    if (b->working == 1 && full && b->status == TT_OK && more && !atomic_load(&b->cancelled)) {
        pthread_mutex_unlock(&l->lock);
        int n = b->pub.n;
        TtStatus st = complete(l, b);
        pthread_mutex_lock(&l->lock);
        if (l->sound) l->batch_bytes = b->x_capacity + b->extra_capacity + b->targets_capacity;
        if (st != TT_OK) fail_batch(l, b, n - 1, st);
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
