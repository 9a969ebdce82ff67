/* SPDX-License-Identifier: Apache-2.0 */
/* data/loader.c - the delivering half of the loader: opening, seeking, waiting, closing. */
#include "data/loader.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data/loader_impl.h"
#include "tensor/clock.h"

/* ---- opening and closing */

static TtStatus check_options(const TtLoaderOptions *o)
{
    if (o->batch_size < 1) return TT_FAIL(TT_ECONFIG, "batch size %d: 1 or more is wanted", o->batch_size);
    if (o->num_workers < 1 || o->num_workers > 1024)
        return TT_FAIL(TT_ECONFIG, "data.num_workers: %d is not within 1 to 1024", o->num_workers);
    if (o->prefetch_factor < 1 || o->prefetch_factor > 1024)
        return TT_FAIL(TT_ECONFIG, "data.prefetch_factor: %d is not within 1 to 1024", o->prefetch_factor);
    if (o->channels != 1 && o->channels != 3)
        return TT_FAIL(TT_ECONFIG, "%d channels: 1 or 3 are possible", o->channels);
    if (o->transforms->n_batch > 0 && o->num_classes < 1)
        return TT_FAIL(TT_ECONFIG, "%s mixes labels and needs the number of classes",
                       o->transforms->batch[0].def->name);
    TT_ASSERT(o->world <= 1 || (o->rank >= 0 && o->rank < o->world));
    return TT_OK;
}

/* Labels that the dataset knows without reading are checked before hours of training, not after. */
static TtStatus check_labels(const TtLoader *l)
{
    const TtDataset *d = l->o.dataset;
    const char *key = l->o.classes_key;
    char name[1024];
    if (l->o.num_classes <= 0 || !d->def->label) return TT_OK;
    for (int64_t i = 0; i < d->count; i++) {
        int64_t label = d->def->label(d, i);
        if (label < l->o.num_classes) continue;
        d->def->describe(d, i, name, sizeof name);
        return TT_FAIL(TT_EDATA, "%s: label %lld, but %s is %d: labels run from 0 to %d", name, (long long)label, key,
                       l->o.num_classes, l->o.num_classes - 1);
    }
    return TT_OK;
}

static TtStatus start_workers(TtLoader *l)
{
    sigset_t all, old;
    int rc = 0;
    l->workers = tt_realloc(NULL, (size_t)l->o.num_workers * sizeof *l->workers);
    memset(l->workers, 0, (size_t)l->o.num_workers * sizeof *l->workers);
    /* Signals are the main thread's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (; l->n_workers < l->o.num_workers && rc == 0; l->n_workers += rc == 0) {
        Worker *w = &l->workers[l->n_workers];
        w->loader = l;
        w->number = l->n_workers;
        rc = pthread_create(&w->thread, NULL, tt_loader_worker, w);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) return TT_FAIL(TT_EINTERNAL, "worker thread %d could not be started: %s", l->n_workers, strerror(rc));
    return TT_OK;
}

static void init_sizes(TtLoader *l)
{
    const TtLoaderOptions *o = &l->o;
    int64_t share = (int64_t)o->batch_size * o->world;
    l->sound = tt_dataset_media(o->dataset) == TT_MEDIA_SOUND;
    l->total = tt_sampler_count(o->sampler);
    l->steps = o->drop_last ? l->total / share : (l->total + share - 1) / share;
    l->depth = o->num_workers * o->prefetch_factor;
    l->run = TT_MAX(1, TT_MIN(4, o->batch_size / (4 * o->num_workers)));
    tt_transform_chain_size(o->transforms, &l->fixed_h, &l->fixed_w);
}

static void init_locks(TtLoader *l)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->sized, NULL);
    pthread_cond_init(&l->ready, &attr);
    pthread_condattr_destroy(&attr);
}

TtStatus tt_loader_open(const TtLoaderOptions *o, TtLoader **out)
{
    *out = NULL;
    TT_TRY(check_options(o));
    TtLoader *l = tt_realloc(NULL, sizeof *l);
    *l = (TtLoader){.o = *o, .chain = *o->transforms};
    l->o.transforms = &l->chain;
    if (l->o.world < 1) l->o.world = 1;
    if (l->o.pad_multiple < 1) l->o.pad_multiple = 1;
    if (!(l->o.stall_seconds > 0)) l->o.stall_seconds = 60;
    if (!l->o.classes_key) l->o.classes_key = "model.num_classes";
    init_sizes(l);
    init_locks(l);
    TtStatus st = TT_OK;
    if (l->steps == 0)
        st = TT_FAIL(TT_ECONFIG,
                     "%lld samples do not fill one batch of %lld; lower data.global_batch_size or set "
                     "data.drop_last: false",
                     (long long)l->total, (long long)l->o.batch_size * l->o.world);
    if (st == TT_OK) st = check_labels(l);
    if (st == TT_OK && o->skip_errors) st = tt_bad_samples_open(o->dataset, o->bad_samples_path, &l->bad);
    if (st == TT_OK) st = start_workers(l);
    if (st != TT_OK) {
        tt_loader_close(l);
        return st;
    }
    *out = l;
    return TT_OK;
}

int64_t tt_loader_steps(const TtLoader *l)
{
    return l->steps;
}

/* Give up all queued batches; those in work are recycled by the last worker that leaves them. */
static void drop_queue(TtLoader *l)
{
    for (Batch *b = l->head, *next; b; b = next) {
        next = b->next;
        atomic_store(&b->cancelled, true);
        if (b->working == 0) tt_loader_recycle(l, b);
    }
    l->head = l->tail = NULL;
    l->queued = 0;
    pthread_cond_broadcast(&l->sized);
}

static void free_batches(TtLoader *l)
{
    for (Batch *b = l->all, *next; b; b = next) {
        next = b->all_next;
        tt_free(b->pub.x.data);
        tt_free(b->pub.targets.data);
        tt_free(b->pub.extra.data);
        for (int i = 0; b->stored && i < l->o.batch_size; i++) tt_free(b->stored[i].data);
        for (int k = 0; k < TT_PARTS; k++) free(b->pub.lengths[k]);
        free(b->stored);
        free(b->pub.labels);
        free(b->pub.indices);
        free(b->bad);
        free(b);
    }
    for (Epoch *e = l->epochs, *next; e; e = next) {
        next = e->next;
        tt_free(e->order);
        free(e);
    }
}

/* Wait for the workers, some seconds at most: one that hangs in a read must not keep a run from ending. */
static bool join_workers(TtLoader *l)
{
    enum { PATIENCE = 5 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    for (int i = 0; i < l->n_workers; i++) {
        Worker *w = &l->workers[i];
        if (pthread_timedjoin_np(w->thread, NULL, &until) == 0) continue;
        char name[1024];
        l->o.dataset->def->describe(l->o.dataset, atomic_load(&w->index), name, sizeof name);
        tt_warn("%s: a reader hangs in it and is left behind", name);
        return false;
    }
    return true;
}

bool tt_loader_close(TtLoader *l)
{
    if (!l) return true;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    drop_queue(l);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    if (!join_workers(l)) return false;
    for (int i = 0; i < l->n_workers; i++) {
        Worker *w = &l->workers[i];
        tt_sample_free(&w->sample);
        tt_transform_scratch_free(&w->scratch);
        free(w->bad);
    }
    free(l->workers);
    free_batches(l);
    tt_bad_samples_close(l->bad);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->sized);
    pthread_cond_destroy(&l->ready);
    free(l);
    return true;
}

/* ---- seeking */

/* With the lock held. */
static void start_at(TtLoader *l, int64_t epoch, int64_t step)
{
    l->at_epoch = l->plan_epoch = l->asked_epoch = epoch;
    l->at_step = l->plan_step = step;
    if (step == l->steps) l->plan_epoch++, l->plan_step = 0;
    l->running = true;
    pthread_cond_broadcast(&l->work);
}

TtStatus tt_loader_seek(TtLoader *l, int64_t epoch, int64_t step)
{
    if (epoch < 0 || step < 0 || step > l->steps)
        return TT_FAIL(TT_ECONFIG,
                       "no step %lld in epoch %lld: an epoch has %lld; has the batch size or the data changed?",
                       (long long)step, (long long)epoch, (long long)l->steps);
    pthread_mutex_lock(&l->lock);
    drop_queue(l);
    l->status = TT_OK;
    start_at(l, epoch, step);
    pthread_mutex_unlock(&l->lock);
    return TT_OK;
}

/* ---- delivering */

/* Warn of samples that have been in work for too long, and say how long to wait until the next look. */
static double watch(TtLoader *l)
{
    char name[1024];
    double wait = l->o.stall_seconds, now = tt_now();
    for (int i = 0; i < l->n_workers; i++) {
        Worker *w = &l->workers[i];
        long long started = atomic_load(&w->started);
        if (started == 0) continue;
        double age = now - 1e-9 * (double)started;
        double due = w->warned_start == started ? 2 * w->warned_age : l->o.stall_seconds;
        if (age >= due) {
            l->o.dataset->def->describe(l->o.dataset, atomic_load(&w->index), name, sizeof name);
            tt_warn("%s: has been in work for %.0f seconds; is its storage reachable?", name, age);
            w->warned_start = started;
            w->warned_age = age;
            due = 2 * age;
        }
        wait = TT_MIN(wait, TT_MAX(due - age, 0.01));
    }
    return wait;
}

/* Wait for the queue's first batch. TT_ESTOPPED when interrupted. */
static TtStatus wait_ready(TtLoader *l)
{
    while (!(l->head && l->head->finished) && !l->interrupted && l->status == TT_OK) {
        double wait = watch(l);
        if (l->o.stop) {
            if (l->o.stop()) return TT_FAIL(TT_ESTOPPED, "told to stop while waiting for data");
            wait = TT_MIN(wait, 0.1);
        }
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        int64_t ns = t.tv_nsec + (int64_t)(1e9 * TT_MIN(wait, 1e6));
        t.tv_sec += ns / 1000000000;
        t.tv_nsec = ns % 1000000000;
        pthread_cond_timedwait(&l->ready, &l->lock, &t);
    }
    if (l->interrupted) {
        l->interrupted = false;
        return TT_FAIL(TT_ESTOPPED, "interrupted while waiting for data");
    }
    return TT_OK;
}

static int compare_bad(const void *a, const void *b)
{
    const BadSlot *x = a, *y = b;
    return x->slot != y->slot ? (x->slot > y->slot) - (x->slot < y->slot)
                              : (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* Count what was left out of batch B, in order. Without the lock: the batch is ours. */
static TtStatus account(TtLoader *l, Batch *b)
{
    if (b->n_bad > 0) qsort(b->bad, (size_t)b->n_bad, sizeof *b->bad, compare_bad);
    for (int i = 0; i < b->n_bad; i++) {
        const char *message = tt_bad_samples_record(l->bad, b->bad[i].index), *path = l->o.bad_samples_path;
        int64_t count = tt_bad_samples_count(l->bad);
        if (l->o.max_errors >= 0 && count > l->o.max_errors)
            return TT_FAIL(TT_EDATA, "%s; bad samples: %lld, but data.max_errors is %lld%s%s", message,
                           (long long)count, (long long)l->o.max_errors, path ? "; all are listed in " : "",
                           path ? path : "");
    }
    return b->status == TT_OK ? TT_OK : tt_error_set(b->status, b->message, b->origin);
}

TtStatus tt_loader_next(TtLoader *l, TtBatch **out)
{
    double start = tt_now();
    Batch *b = NULL;
    *out = NULL;
    pthread_mutex_lock(&l->lock);
    if (!l->running) start_at(l, 0, 0);
    TtStatus st = TT_OK;
    bool end = l->at_step == l->steps && l->status == TT_OK && !l->interrupted;
    if (end) {
        l->at_epoch++, l->at_step = 0;
    } else {
        if (l->asked_epoch < l->at_epoch) pthread_cond_broadcast(&l->work);
        l->asked_epoch = l->at_epoch;
        st = wait_ready(l);
    }
    if (st == TT_OK && l->status != TT_OK) st = tt_error_set(l->status, l->message, l->origin);
    if (st == TT_OK && !end) {
        b = l->head;
        l->head = b->next;
        if (!l->head) l->tail = NULL;
        l->queued--;
        l->at_step++;
        pthread_cond_broadcast(&l->work);
    }
    pthread_mutex_unlock(&l->lock);
    if (!b) return st;

    st = account(l, b);
    if (st == TT_OK) {
        b->pub.wait = tt_now() - start;
        *out = &b->pub;
        return TT_OK;
    }
    pthread_mutex_lock(&l->lock);
    l->status = st;
    memcpy(l->message, tt_error_message(), strlen(tt_error_message()) + 1);
    memcpy(l->origin, tt_error_origin(), strlen(tt_error_origin()) + 1);
    tt_loader_recycle(l, b);
    pthread_mutex_unlock(&l->lock);
    return st;
}

void tt_loader_release(TtLoader *l, TtBatch *batch)
{
    pthread_mutex_lock(&l->lock);
    tt_loader_recycle(l, (Batch *)batch);
    pthread_mutex_unlock(&l->lock);
}

int64_t tt_loader_errors(const TtLoader *l)
{
    return l->bad ? tt_bad_samples_count(l->bad) : 0;
}

void tt_loader_interrupt(TtLoader *l)
{
    pthread_mutex_lock(&l->lock);
    l->interrupted = true;
    pthread_cond_broadcast(&l->ready);
    pthread_mutex_unlock(&l->lock);
}
