/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/checkpoint.c - saving, in the foreground or behind it, and what is kept.
 *
 * Order of a save, each step flushed before the next: files, manifest, folder, rename, read back, links, removals.
 * A removal first takes the checkpoint's name away, so that a kill in its middle leaves nothing that looks damaged. */
#include "pipeline/checkpoint.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/checkpoint_folder.h"
#include "pipeline/json.h"
#include "pipeline/safetensors.h"

/* A save with everything it needs, in the arena. The tensors' data are the caller's or in the staging buffer. */
typedef struct Job {
    TtArena arena;
    TtCheckpointEntry entry;
    TtCheckpointPart *parts;
    int part_count;
    char *state;
} Job;

struct TtCheckpoints {
    char *folder;
    TtCheckpointPolicy policy;
    Job job;
    char *staging;
    size_t staging_size;
    bool running;
    pthread_t thread;
    /* how the save in the background ended, until it has been reported */
    TtStatus status;
    char message[2048], origin[128];
};

/* ------------------------------------------------------------------ writing one checkpoint */

static TtStatus finish_file(TtFsWriter *w, const char *name, TtStatus status, json_t *files)
{
    char digest[TT_FS_DIGEST];
    uint64_t size = w->size;
    if (status != TT_OK) {
        tt_fs_discard(w);
        return status;
    }
    tt_fs_digest(w, digest);
    TT_TRY(tt_fs_commit(w));
    json_object_set_new(files, name, json_pack("{s:I, s:s}", "size", (json_int_t)size, "xxh3_128", digest));
    return TT_OK;
}

static TtStatus write_part(const char *folder, const TtCheckpointPart *part, json_t *files)
{
    TtFsWriter w;
    char *path = tt_fs_join(folder, part->file);
    TtStatus status = tt_fs_open(&w, path, TT_FS_NEW);
    if (status == TT_OK) status = finish_file(&w, part->file, tt_safetensors_put(&w, part->list, part->count), files);
    free(path);
    return status;
}

static TtStatus write_text(const char *folder, const char *name, const char *text, json_t *files)
{
    TtFsWriter w;
    char *path = tt_fs_join(folder, name);
    TtStatus status = tt_fs_open(&w, path, TT_FS_NEW);
    if (status == TT_OK) {
        TtStatus put = tt_fs_put(&w, text, strlen(text));
        if (put == TT_OK) put = tt_fs_put(&w, "\n", 1);
        status = finish_file(&w, name, put, files);
    }
    free(path);
    return status;
}

/* The same step saved again, as after a resume that was stopped at once: when the model is the same to the bit, what
 * was known of it still holds. */
static void inherit(TtCheckpointEntry *e, const TtCheckpointScan *scan)
{
    for (int i = 0; i < scan->count; i++) {
        const TtCheckpointEntry *old = &scan->list[i];
        if (!old->readable || old->step != e->step ||
            !json_equal(json_object_get(old->files, TT_CHECKPOINT_MODEL),
                        json_object_get(e->files, TT_CHECKPOINT_MODEL)))
            continue;
        e->keep |= old->keep;
        if (e->has_metric || !old->has_metric) continue;
        e->has_metric = true;
        e->metric = old->metric;
        e->monitor = old->monitor; /* outlives the manifest's text */
    }
}

static TtStatus write_files(const char *folder, Job *job, const TtCheckpointScan *scan)
{
    TT_TRY(tt_fs_mkdirs(folder));
    for (int i = 0; i < job->part_count; i++) TT_TRY(write_part(folder, &job->parts[i], job->entry.files));
    TT_TRY(write_text(folder, TT_STATE, job->state, job->entry.files));
    TtCheckpointEntry e = job->entry;
    inherit(&e, scan);
    json_t *none = json_object();
    char *manifest = tt_manifest_text(&e);
    TtStatus status = write_text(folder, TT_MANIFEST, manifest, none);
    free(manifest);
    json_decref(none);
    return status == TT_OK ? tt_fs_sync_dir(folder) : status;
}

/* Give the finished folder its name. One of the same step is put aside first, as no rename replaces a full folder; a
 * kill in between is mended by tt_checkpoint_recover. */
static TtStatus publish(const char *folder, const char *hidden, const char *name)
{
    char old[TT_CHECKPOINT_NAME];
    tt_checkpoint_hidden(name, "old", old);
    char *from = tt_fs_join(folder, hidden), *to = tt_fs_join(folder, name), *aside = tt_fs_join(folder, old);
    TtStatus status = TT_OK;
    bool replaced = tt_fs_exists(to);
    if (replaced) status = tt_fs_rename(to, aside);
    if (status == TT_OK) status = tt_fs_rename(from, to);
    if (status != TT_OK && replaced && !tt_fs_exists(to) && rename(aside, to) != 0)
        tt_warn("%s: cannot be put back: %s; the next start does it", to, strerror(errno));
    if (status == TT_OK && replaced) status = tt_fs_remove_tree(folder, old);
    free(from);
    free(to);
    free(aside);
    return status;
}

/* Give the space of a failed save back, but tell of the failure and not of this. */
static void clear_failed(const char *folder, TtStatus status)
{
    char message[2048], origin[128];
    snprintf(message, sizeof message, "%s", tt_error_message());
    snprintf(origin, sizeof origin, "%s", tt_error_origin());
    if (tt_checkpoint_recover(folder) != TT_OK) tt_warn("%s", tt_error_message());
    tt_error_set(status, message, origin);
}

static TtStatus write_checkpoint(const TtCheckpoints *c, Job *job)
{
    char hidden[TT_CHECKPOINT_NAME];
    TtCheckpointScan scan;
    TtCheckpointEntry *e = &job->entry;
    TT_TRY(tt_checkpoint_recover(c->folder));
    TT_TRY(tt_checkpoint_scan(c->folder, &scan));
    for (int i = 0; i < scan.count; i++)
        if (scan.list[i].readable) e->serial = TT_MAX(e->serial, scan.list[i].serial + 1);
    tt_checkpoint_hidden(e->name, "tmp", hidden);
    char *temp = tt_fs_join(c->folder, hidden);
    TtStatus status = write_files(temp, job, &scan);
    if (status == TT_OK) status = publish(c->folder, hidden, e->name);
    if (status != TT_OK) clear_failed(c->folder, status);
    free(temp);
    tt_checkpoint_scan_free(&scan);
    return status;
}

/* ------------------------------------------------------------------ links and what is kept */

/* A before B among the best; of equals the older one, so that `best` does not move without a gain. */
static bool better(const TtCheckpoints *c, const TtCheckpointEntry *a, const TtCheckpointEntry *b)
{
    if (a->metric != b->metric) return c->policy.maximize ? a->metric > b->metric : a->metric < b->metric;
    return a->serial < b->serial;
}

static bool comparable(const TtCheckpoints *c, const TtCheckpointEntry *e)
{
    return e->readable && e->has_metric && c->policy.monitor && strcmp(e->monitor, c->policy.monitor) == 0;
}

/* How many are better, or -1 when it has no metric to compare. */
static int rank_of(const TtCheckpoints *c, const TtCheckpointScan *scan, const TtCheckpointEntry *e)
{
    int rank = 0;
    if (!comparable(c, e)) return -1;
    for (int i = 0; i < scan->count; i++) rank += comparable(c, &scan->list[i]) && better(c, &scan->list[i], e);
    return rank;
}

static void read_link(const TtCheckpoints *c, const char *name, char target[TT_CHECKPOINT_NAME])
{
    char *path = tt_fs_join(c->folder, name);
    ssize_t n = readlink(path, target, TT_CHECKPOINT_NAME - 1);
    target[n > 0 ? n : 0] = '\0';
    free(path);
}

static TtStatus set_link(const TtCheckpoints *c, const char *name, const char *target)
{
    char now[TT_CHECKPOINT_NAME];
    read_link(c, name, now);
    if (strcmp(now, target) == 0) return TT_OK;
    char *path = tt_fs_join(c->folder, name);
    TtStatus status = tt_fs_symlink(target, path);
    free(path);
    return status;
}

static TtStatus set_links(const TtCheckpoints *c, const TtCheckpointScan *scan)
{
    const TtCheckpointEntry *newest = scan->count ? &scan->list[scan->count - 1] : NULL;
    if (newest && newest->readable) TT_TRY(set_link(c, "last", newest->name));
    for (int i = 0; i < scan->count && c->policy.save_top_k != 0; i++)
        if (rank_of(c, scan, &scan->list[i]) == 0) TT_TRY(set_link(c, "best", scan->list[i].name));
    return TT_OK;
}

/* Whether it stays; AGE counts from the newest, which is 0 and always stays. What cannot be read is left for a person to
 * look at. */
static bool is_kept(const TtCheckpoints *c, const TtCheckpointScan *scan, const TtCheckpointEntry *e, int age)
{
    char best[TT_CHECKPOINT_NAME];
    const TtCheckpointPolicy *p = &c->policy;
    int rank = rank_of(c, scan, e);
    read_link(c, "best", best);
    return age == 0 || age < p->keep_last || p->keep_last < 0 || !e->readable || e->keep ||
           strcmp(best, e->name) == 0 || (rank >= 0 && rank < p->save_top_k);
}

static TtStatus remove_checkpoint(const TtCheckpoints *c, const char *name)
{
    char gone[TT_CHECKPOINT_NAME];
    tt_checkpoint_hidden(name, "gone", gone);
    TT_TRY(tt_fs_remove_tree(c->folder, gone));
    char *from = tt_fs_join(c->folder, name), *to = tt_fs_join(c->folder, gone);
    TtStatus status = tt_fs_rename(from, to);
    free(from);
    free(to);
    return status == TT_OK ? tt_fs_remove_tree(c->folder, gone) : status;
}

static TtStatus retain(const TtCheckpoints *c)
{
    TtCheckpointScan scan;
    TT_TRY(tt_checkpoint_scan(c->folder, &scan));
    TtStatus status = set_links(c, &scan);
    for (int i = 0; i < scan.count && status == TT_OK; i++)
        if (!is_kept(c, &scan, &scan.list[i], scan.count - 1 - i)) status = remove_checkpoint(c, scan.list[i].name);
    tt_checkpoint_scan_free(&scan);
    return status;
}

static TtStatus run_job(const TtCheckpoints *c, Job *job)
{
    TT_TRY(write_checkpoint(c, job));
    char *path = tt_fs_join(c->folder, job->entry.name);
    TtStatus status = tt_checkpoint_verify(path);
    if (status != TT_OK)
        status = TT_FAIL(TT_EINTERNAL, "the checkpoint just written cannot be read back (%s); older ones are kept",
                         tt_error_message());
    free(path);
    return status == TT_OK ? retain(c) : status;
}

/* ------------------------------------------------------------------ jobs */

static size_t staged_bytes(const TtNamedTensor *t)
{
    return tt_aligned((size_t)tt_shape_count(&t->shape) * tt_dtype_size(t->dtype));
}

static TtStatus reserve_staging(TtCheckpoints *c, const TtCheckpointSave *s)
{
    size_t size = 0;
    for (int i = 0; i < s->part_count; i++)
        for (int k = 0; k < s->parts[i].count; k++) size += staged_bytes(&s->parts[i].list[k]);
    if (size <= c->staging_size) return TT_OK;
    tt_free(c->staging);
    c->staging = NULL, c->staging_size = 0;
    TT_TRY(tt_alloc((void **)&c->staging, size));
    c->staging_size = size;
    return TT_OK;
}

/* A copy of the lists and their names, and with STAGED of the data. */
static void copy_parts(TtCheckpoints *c, const TtCheckpointSave *s, bool staged)
{
    Job *job = &c->job;
    char *at = c->staging;
    job->part_count = s->part_count;
    job->parts = TT_NEWN(&job->arena, TtCheckpointPart, s->part_count + 1);
    for (int i = 0; i < s->part_count; i++) {
        const TtCheckpointPart *part = &s->parts[i];
        TtNamedTensor *list = TT_NEWN(&job->arena, TtNamedTensor, part->count + 1);
        for (int k = 0; k < part->count; k++) {
            list[k] = part->list[k];
            list[k].name = tt_arena_strdup(&job->arena, part->list[k].name);
            size_t bytes = (size_t)tt_shape_count(&list[k].shape) * tt_dtype_size(list[k].dtype);
            if (!staged || bytes == 0) continue;
            list[k].data = memcpy(at, part->list[k].data, bytes);
            at += staged_bytes(&list[k]);
        }
        job->parts[i] = (TtCheckpointPart){tt_arena_strdup(&job->arena, part->file), list, part->count};
    }
}

static TtStatus make_job(TtCheckpoints *c, const TtCheckpointSave *s, bool staged)
{
    TT_ASSERT(s->step >= 0);
    Job *job = &c->job;
    if (staged) TT_TRY(reserve_staging(c, s));
    *job = (Job){.entry = {.step = s->step,
                           .metric = s->metric,
                           .has_metric = s->has_metric && isfinite(s->metric) && c->policy.monitor,
                           .keep = s->keep,
                           .monitor = (char *)c->policy.monitor,
                           .files = json_object()}};
    tt_checkpoint_name(s->step, job->entry.name);
    job->state = tt_json_text(s->state, 2);
    copy_parts(c, s, staged);
    return TT_OK;
}

static void job_free(Job *job)
{
    json_decref(job->entry.files);
    free(job->state);
    tt_arena_free(&job->arena);
    *job = (Job){0};
}

static void *background(void *user)
{
    TtCheckpoints *c = user;
    c->status = run_job(c, &c->job);
    if (c->status != TT_OK) {
        snprintf(c->message, sizeof c->message, "%s", tt_error_message());
        snprintf(c->origin, sizeof c->origin, "%s", tt_error_origin());
    }
    return NULL;
}

/* Signals are for the thread that trains. */
static bool start_thread(TtCheckpoints *c)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    c->running = pthread_create(&c->thread, NULL, background, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return c->running;
}

TtStatus tt_checkpoints_wait(TtCheckpoints *c)
{
    if (!c->running) return TT_OK;
    pthread_join(c->thread, NULL);
    c->running = false;
    job_free(&c->job);
    return c->status == TT_OK ? TT_OK : tt_error_set(c->status, c->message, c->origin);
}

TtStatus tt_checkpoints_save(TtCheckpoints *c, const TtCheckpointSave *save)
{
    TT_TRY(tt_checkpoints_wait(c));
    TT_TRY(make_job(c, save, c->policy.async));
    if (c->policy.async && start_thread(c)) return TT_OK;
    TtStatus status = run_job(c, &c->job);
    job_free(&c->job);
    return status;
}

static char *copy_text(const char *s)
{
    return strcpy(tt_realloc(NULL, strlen(s) + 1), s);
}

TtStatus tt_checkpoints_open(const char *folder, const TtCheckpointPolicy *policy, TtCheckpoints **out)
{
    *out = NULL;
    TT_TRY(tt_fs_mkdirs(folder));
    TT_TRY(tt_checkpoint_recover(folder));
    TtCheckpoints *c = tt_realloc(NULL, sizeof *c);
    *c = (TtCheckpoints){.folder = copy_text(folder), .policy = *policy};
    if (policy->monitor) c->policy.monitor = copy_text(policy->monitor);
    TtCheckpointScan scan;
    TtStatus status = tt_checkpoint_scan(folder, &scan);
    if (status == TT_OK) status = set_links(c, &scan);
    tt_checkpoint_scan_free(&scan);
    if (status == TT_OK)
        *out = c;
    else
        tt_checkpoints_close(c);
    return status;
}

void tt_checkpoints_close(TtCheckpoints *c)
{
    if (!c) return;
    if (tt_checkpoints_wait(c) != TT_OK) tt_warn("%s", tt_error_message());
    tt_free(c->staging);
    free((char *)c->policy.monitor);
    free(c->folder);
    free(c);
}
