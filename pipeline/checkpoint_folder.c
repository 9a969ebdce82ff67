/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/checkpoint_folder.c - what lies in a folder of checkpoints, whether it is whole, and which to go on from.
 *
 * "Newest" goes by a serial number, not by the step: after a run has gone back to an older checkpoint, its new saves
 * are newer than those of the path it left, whatever their steps. */
#include "pipeline/checkpoint_folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "pipeline/checkpoint.h"
#include "pipeline/json.h"
#include "pipeline/safetensors.h"

enum { FORMAT = 1, MAX_MANIFEST = 1 << 20, MAX_STATE = 64 << 20 };

#define SEAL "seal"

void tt_checkpoint_name(int64_t step, char name[TT_CHECKPOINT_NAME])
{
    snprintf(name, TT_CHECKPOINT_NAME, "step_%08" PRId64, step);
}

void tt_checkpoint_hidden(const char *name, const char *kind, char hidden[TT_CHECKPOINT_NAME])
{
    snprintf(hidden, TT_CHECKPOINT_NAME, ".%.50s.%s", name, kind);
}

/* The step of "step_DIGITS", or -1. */
static int64_t step_of(const char *name)
{
    char again[TT_CHECKPOINT_NAME];
    if (strncmp(name, "step_", 5) != 0 || strspn(name + 5, "0123456789") != strlen(name + 5)) return -1;
    errno = 0;
    long long step = strtoll(name + 5, NULL, 10);
    tt_checkpoint_name(step, again);
    return errno == 0 && strcmp(again, name) == 0 ? step : -1;
}

/* ------------------------------------------------------------------ manifest */

/* Checksum of everything in the manifest but the seal itself. */
static void compute_seal(json_t *root, char out[TT_FS_DIGEST])
{
    json_t *copy = json_copy(root);
    json_object_del(copy, SEAL);
    char *text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    TT_ASSERT(text);
    XXH128_hash_t h = XXH3_128bits(text, strlen(text));
    snprintf(out, TT_FS_DIGEST, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64, (uint64_t)h.low64);
    free(text);
    json_decref(copy);
}

char *tt_manifest_text(const TtCheckpointEntry *e)
{
    json_t *metric = e->has_metric ? json_pack("{s:s, s:f}", "name", e->monitor, "value", e->metric) : json_null();
    json_t *root = json_pack("{s:i, s:I, s:I, s:o, s:b, s:O}", "format", FORMAT, "step", (json_int_t)e->step, "serial",
                             (json_int_t)e->serial, "metric", metric, "keep", e->keep, "files", e->files);
    TT_ASSERT(root);
    char seal[TT_FS_DIGEST];
    compute_seal(root, seal);
    json_object_set_new(root, SEAL, json_string(seal));
    char *text = tt_json_text(root, 2);
    json_decref(root);
    return text;
}

static TtStatus parse_manifest(const char *path, json_t *root, TtCheckpointEntry *e)
{
    char seal[TT_FS_DIGEST];
    int format = 0, keep = 0;
    json_int_t step, serial;
    json_t *files, *metric;
    const char *has = json_string_value(json_object_get(root, SEAL)), *monitor;
    if (!json_is_object(root) || json_unpack(root, "{s:i}", "format", &format) != 0)
        return TT_FAIL(TT_ECHECKPOINT, "%s: not a checkpoint's manifest", path);
    if (format != FORMAT)
        return TT_FAIL(TT_ECHECKPOINT, "%s: format %d; this version of ttrain knows format %d", path, format, FORMAT);
    compute_seal(root, seal);
    if (!has || strcmp(has, seal) != 0) return TT_FAIL(TT_ECHECKPOINT, "%s: damaged: its checksum is wrong", path);
    if (json_unpack(root, "{s:I, s:I, s:o, s:b, s:o}", "step", &step, "serial", &serial, "metric", &metric, "keep",
                    &keep, "files", &files) != 0 ||
        !json_is_object(files))
        return TT_FAIL(TT_ECHECKPOINT, "%s: not a checkpoint's manifest", path);
    e->step = step, e->serial = serial, e->keep = keep;
    e->files = json_incref(files);
    if (json_unpack(metric, "{s:s, s:F}", "name", &monitor, "value", &e->metric) == 0) {
        e->has_metric = true;
        e->monitor = tt_realloc(NULL, strlen(monitor) + 1);
        strcpy(e->monitor, monitor);
    }
    e->readable = true;
    return TT_OK;
}

static TtStatus read_manifest(const char *checkpoint, TtCheckpointEntry *e)
{
    char *path = tt_fs_join(checkpoint, TT_MANIFEST);
    json_t *root = NULL;
    TtStatus status = tt_fs_exists(path) ? tt_json_read(path, MAX_MANIFEST, TT_ECHECKPOINT, &root)
                                         : TT_FAIL(TT_ECHECKPOINT, "%s: not a whole checkpoint: %s is missing",
                                                   checkpoint, TT_MANIFEST);
    if (status == TT_OK) status = parse_manifest(path, root, e);
    json_decref(root);
    free(path);
    return status;
}

static void entry_free(TtCheckpointEntry *e)
{
    free(e->monitor);
    json_decref(e->files);
}

/* ------------------------------------------------------------------ verification and reading */

static TtStatus verify_file(const char *checkpoint, const char *name, const json_t *want)
{
    json_int_t size;
    const char *digest;
    char got[TT_FS_DIGEST];
    uint64_t bytes;
    if (strchr(name, '/') || json_unpack((json_t *)want, "{s:I, s:s}", "size", &size, "xxh3_128", &digest) != 0)
        return TT_FAIL(TT_ECHECKPOINT, "%s: not a checkpoint's manifest", checkpoint);
    char *path = tt_fs_join(checkpoint, name);
    TtStatus status = tt_fs_checksum(path, TT_ECHECKPOINT, &bytes, got);
    if (status == TT_OK && bytes != (uint64_t)size)
        status =
            TT_FAIL(TT_ECHECKPOINT, "%s: damaged: %" PRIu64 " bytes instead of %" PRIu64, path, bytes, (uint64_t)size);
    else if (status == TT_OK && strcmp(got, digest) != 0)
        status = TT_FAIL(TT_ECHECKPOINT, "%s: damaged: its checksum is wrong", path);
    free(path);
    return status;
}

TtStatus tt_checkpoint_verify(const char *path)
{
    TtCheckpointEntry e = {0};
    const char *name;
    json_t *want;
    TtStatus status = read_manifest(path, &e);
    if (status == TT_OK) json_object_foreach(e.files, name, want)
        {
            status = verify_file(path, name, want);
            if (status != TT_OK) break;
        }
    entry_free(&e);
    return status;
}

TtStatus tt_checkpoint_read(const char *path, const TtCheckpointPart *part)
{
    char *file = tt_fs_join(path, part->file);
    TtStateDict *d;
    TtStatus status = tt_safetensors_open(file, &d);
    if (status == TT_OK) status = tt_state_read_all(d, part->list, part->count);
    tt_state_close(d);
    free(file);
    return status;
}

TtStatus tt_checkpoint_read_state(const char *path, json_t **state)
{
    char *file = tt_fs_join(path, TT_STATE);
    TtStatus status = tt_json_read(file, MAX_STATE, TT_ECHECKPOINT, state);
    free(file);
    return status;
}

/* ------------------------------------------------------------------ scan */

static int by_serial(const void *a, const void *b)
{
    const TtCheckpointEntry *x = a, *y = b;
    if (x->readable != y->readable) return x->readable ? 1 : -1;
    if (x->serial != y->serial) return x->serial < y->serial ? -1 : 1;
    return strcmp(x->name, y->name);
}

TtStatus tt_checkpoint_scan(const char *folder, TtCheckpointScan *scan)
{
    *scan = (TtCheckpointScan){0};
    DIR *d = opendir(folder);
    if (!d && errno == ENOENT) return TT_OK;
    if (!d) return TT_FAIL(TT_ECHECKPOINT, "%s: cannot list checkpoints: %s", folder, strerror(errno));
    struct dirent *e;
    while ((e = readdir(d))) {
        char *path = tt_fs_join(folder, e->d_name);
        if (step_of(e->d_name) >= 0 && tt_fs_is_dir(path)) {
            scan->list = tt_realloc(scan->list, sizeof *scan->list * (size_t)(scan->count + 1));
            TtCheckpointEntry *at = &scan->list[scan->count++];
            *at = (TtCheckpointEntry){0};
            strcpy(at->name, e->d_name);                            /* as short as step_of wants it */
            if (read_manifest(path, at) != TT_OK) tt_error_clear(); /* said again when somebody wants this one */
        }
        free(path);
    }
    closedir(d);
    if (scan->count) qsort(scan->list, (size_t)scan->count, sizeof *scan->list, by_serial);
    return TT_OK;
}

void tt_checkpoint_scan_free(TtCheckpointScan *scan)
{
    for (int i = 0; i < scan->count; i++) entry_free(&scan->list[i]);
    free(scan->list);
    *scan = (TtCheckpointScan){0};
}

/* ------------------------------------------------------------------ recovery */

/* NAME of ".NAME.KIND" when it is one of ours. */
static bool is_hidden(const char *entry, const char *kind, char name[TT_CHECKPOINT_NAME])
{
    char again[TT_CHECKPOINT_NAME];
    size_t n = strlen(entry), m = strlen(kind) + 1;
    if (n < m + 2 || n >= TT_CHECKPOINT_NAME) return false;
    snprintf(name, TT_CHECKPOINT_NAME, "%.*s", (int)(n - m - 1), entry + 1);
    tt_checkpoint_hidden(name, kind, again);
    return strcmp(again, entry) == 0 && step_of(name) >= 0;
}

static TtStatus recover_one(const char *folder, const char *entry)
{
    char name[TT_CHECKPOINT_NAME];
    if (is_hidden(entry, "old", name)) {
        char *from = tt_fs_join(folder, entry), *to = tt_fs_join(folder, name);
        bool lost = !tt_fs_exists(to);
        TtStatus status = lost ? tt_fs_rename(from, to) : tt_fs_remove_tree(folder, entry);
        free(from);
        free(to);
        return status;
    }
    if (is_hidden(entry, "tmp", name) || is_hidden(entry, "gone", name)) return tt_fs_remove_tree(folder, entry);
    return TT_OK;
}

TtStatus tt_checkpoint_recover(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) return TT_OK; /* nothing there, or tt_checkpoint_scan says what is wrong */
    char(*names)[TT_CHECKPOINT_NAME] = NULL;
    int count = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] != '.' || strlen(e->d_name) >= TT_CHECKPOINT_NAME) continue;
        names = tt_realloc(names, sizeof *names * (size_t)(count + 1));
        strcpy(names[count++], e->d_name);
    }
    closedir(d);
    TtStatus status = TT_OK;
    for (int i = 0; i < count && status == TT_OK; i++) status = recover_one(folder, names[i]);
    free(names);
    return status == TT_OK ? tt_fs_remove_temps(folder) : status; /* links that were never renamed into place */
}

/* ------------------------------------------------------------------ resume */

/* The newest whole checkpoint, NULL when there is none. */
static TtStatus find_newest(const char *folder, char **path)
{
    TtCheckpointScan scan;
    TT_TRY(tt_checkpoint_scan(folder, &scan));
    int damaged = 0;
    for (int i = scan.count - 1; i >= 0 && !*path; i--) {
        *path = tt_fs_join(folder, scan.list[i].name);
        if (tt_checkpoint_verify(*path) == TT_OK) continue;
        tt_warn("damaged checkpoint passed over: %s", tt_error_message());
        tt_error_clear();
        free(*path);
        *path = NULL;
        damaged++;
    }
    /* those that nobody can order may have been newer than the one found */
    for (int i = 0; i < scan.count && *path && !scan.list[i].readable; i++, damaged++)
        tt_warn("damaged checkpoint passed over: %s/%s", folder, scan.list[i].name);
    if (damaged && !*path) tt_warn("%s: no whole checkpoint is left", folder);
    tt_checkpoint_scan_free(&scan);
    return TT_OK;
}

static TtStatus must_find(const char *folder, char **path)
{
    TT_TRY(find_newest(folder, path));
    if (*path) return TT_OK;
    return TT_FAIL(TT_ECHECKPOINT, "%s: no checkpoint to resume from", folder);
}

/* A checkpoint, a folder of checkpoints, or a run. */
static TtStatus resume_named(const char *named, char **path)
{
    if (!tt_fs_exists(named))
        return TT_FAIL(TT_ECHECKPOINT, "%s: no such checkpoint (resume: auto, never, must or a folder)", named);
    if (!tt_fs_is_dir(named)) return TT_FAIL(TT_ECHECKPOINT, "%s: is no folder; name the checkpoint's folder", named);
    char *run = tt_fs_join(named, "checkpoints");
    TtCheckpointScan scan;
    TtStatus status = TT_OK;
    if (tt_fs_is_dir(run)) {
        status = must_find(run, path);
    } else {
        status = tt_checkpoint_scan(named, &scan);
        bool several = status == TT_OK && scan.count > 0;
        tt_checkpoint_scan_free(&scan);
        if (several) {
            status = must_find(named, path);
        } else if (status == TT_OK) {
            status = tt_checkpoint_verify(named);
            if (status == TT_OK) *path = strcpy(tt_realloc(NULL, strlen(named) + 1), named);
        }
    }
    free(run);
    return status;
}

TtStatus tt_checkpoint_resume(const char *folder, const char *resume, char **path)
{
    *path = NULL;
    if (strcmp(resume, "never") == 0) return TT_OK;
    TT_TRY(tt_checkpoint_recover(folder));
    if (strcmp(resume, "auto") == 0) return find_newest(folder, path);
    if (strcmp(resume, "must") == 0) return must_find(folder, path);
    return resume_named(resume, path);
}
