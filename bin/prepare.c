/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare.c - ttrain prepare mnist ...: IDX files to a tree of PNG files that image_folder reads.
 *
 * The tree is built aside in DIR.part and renamed when it is whole, so DIR is complete or absent. A file in it records
 * what it was made from: asking for the same again does nothing. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <png.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/args.h"
#include "bin/commands.h"
#include "data/idx.h"
#include "data/loader.h"
#include "tensor/fs.h"

static const char usage[] =
    "usage: ttrain prepare mnist --images FILE --labels FILE --output DIR [--class-names A,B,...]\n"
    "Writes the pictures of IDX files (MNIST and relatives, plain or .gz) as DIR/CLASS/NUMBER.png.\n"
    "  --images FILE        pictures: (N,H,W), or (N,H,W,C) with 1 or 3 channels\n"
    "  --labels FILE        their labels: (N)\n"
    "  --output DIR         the folder to make; when it is complete already, nothing is done\n"
    "  --class-names A,B    names of the class folders, in order of the labels; default 0, 1, 2, ...\n";

enum { MOST_CLASSES = 256, MOST_THREADS = 64 };
#define RECORD ".prepared.json"

typedef struct Job {
    const char *images_path, *labels_path, *output, *class_names;
    TtArena arena;
    TtIdx images, labels;
    int n_classes;
    const char *classes[MOST_CLASSES];
    char *part; /* the folder being written */
    atomic_llong next, done;
    atomic_bool failed;
    pthread_mutex_t lock; /* of what follows */
    TtStatus status;
    char message[1024];
} Job;

/* ---- what is asked for */

static TtStatus parse_class_names(Job *job)
{
    if (!job->class_names) return TT_OK;
    for (const char *p = job->class_names;; p++) {
        size_t n = strcspn(p, ",");
        const char *name = tt_arena_strndup(&job->arena, p, n);
        if (n == 0 || name[0] == '.' || strchr(name, '/'))
            return TT_FAIL(TT_ECONFIG, "--class-names: '%s' cannot be a folder's name", name);
        for (int i = 0; i < job->n_classes; i++)
            if (strcmp(job->classes[i], name) == 0)
                return TT_FAIL(TT_ECONFIG, "--class-names: '%s' is there twice", name);
        if (job->n_classes == MOST_CLASSES)
            return TT_FAIL(TT_ECONFIG, "--class-names: more than %d names; labels are bytes", MOST_CLASSES);
        job->classes[job->n_classes++] = name;
        p += n;
        if (!*p) return TT_OK;
    }
}

static TtStatus read_input(Job *job)
{
    TT_TRY(tt_idx_read(job->images_path, &job->images));
    TT_TRY(tt_idx_read(job->labels_path, &job->labels));
    const TtIdx *x = &job->images, *y = &job->labels;
    if (x->rank < 3 || (x->rank == 4 && x->dims[3] != 1 && x->dims[3] != 3))
        return TT_FAIL(TT_EDATA, "%s: no pictures: wanted are (N,H,W), or (N,H,W,C) with 1 or 3 channels",
                       job->images_path);
    if (x->dims[1] > 65535 || x->dims[2] > 65535)
        return TT_FAIL(TT_EDATA, "%s: pictures of %lldx%lld are too large", job->images_path, (long long)x->dims[1],
                       (long long)x->dims[2]);
    if (y->rank != 1 || y->dims[0] != x->dims[0])
        return TT_FAIL(TT_EDATA, "%s: not one label for each of the %lld pictures in %s", job->labels_path,
                       (long long)x->dims[0], job->images_path);
    int largest = 0;
    for (int64_t i = 0; i < y->dims[0]; i++) largest = TT_MAX(largest, y->data[i]);
    for (int i = job->n_classes; !job->class_names && i <= largest; i++)
        job->classes[job->n_classes++] = tt_arena_printf(&job->arena, "%d", i);
    if (largest >= job->n_classes)
        return TT_FAIL(TT_EDATA, "%s: label %d, but --class-names lists %d", job->labels_path, largest, job->n_classes);
    return TT_OK;
}

/* What the tree was made from, as text; also what the next run compares. */
static TtStatus make_record(const Job *job, char **out)
{
    uint64_t size;
    char images[TT_FS_DIGEST], labels[TT_FS_DIGEST];
    TT_TRY(tt_fs_checksum(job->images_path, TT_EDATA, &size, images));
    TT_TRY(tt_fs_checksum(job->labels_path, TT_EDATA, &size, labels));
    json_t *names = json_array();
    for (int i = 0; i < job->n_classes; i++) json_array_append_new(names, json_string(job->classes[i]));
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:o}", "format", "mnist", "images", images, "labels", labels, "classes", names);
    *out = root ? json_dumps(root, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    json_decref(root);
    return *out ? TT_OK : TT_FAIL(TT_ECONFIG, "--class-names: the names must be UTF-8");
}

/* Whether the output is there and was made from the same. Anything else in its place is left alone. */
static TtStatus find_complete(const Job *job, const char *record, bool *complete)
{
    char *path, *text = NULL;
    size_t size;
    *complete = false;
    if (!tt_fs_exists(job->output)) return TT_OK;
    path = tt_fs_join(job->output, RECORD);
    TtStatus st = tt_fs_exists(path) ? tt_fs_read(path, 1 << 20, TT_EDATA, &text, &size) : TT_OK;
    free(path);
    if (st == TT_OK && (!text || strcmp(text, record) != 0))
        st = TT_FAIL(TT_ECONFIG,
                     "%s: exists and was not made from these files and names; remove it, or choose another --output",
                     job->output);
    free(text);
    *complete = st == TT_OK;
    return st;
}

/* ---- writing */

/* Not tt_png_write: a rename for each file would take most of the time, and the folder is renamed as a whole. */
static TtStatus write_picture(const Job *job, int64_t i)
{
    const TtIdx *x = &job->images;
    char path[4096];
    int h = (int)x->dims[1], w = (int)x->dims[2], c = x->rank == 4 ? (int)x->dims[3] : 1;
    snprintf(path, sizeof path, "%s/%s/%05lld.png", job->part, job->classes[job->labels.data[i]], (long long)i);
    const uint8_t *pixels = x->data + (size_t)i * (size_t)h * (size_t)w * (size_t)c;
    png_image im = {.version = PNG_IMAGE_VERSION,
                    .width = (png_uint_32)w,
                    .height = (png_uint_32)h,
                    .format = c == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
    if (png_image_write_to_file(&im, path, 0, pixels, w * c, NULL)) return TT_OK;
    return TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %s", path, im.message);
}

static void *write_pictures(void *user)
{
    Job *job = user;
    for (int64_t i; !atomic_load(&job->failed) && (i = atomic_fetch_add(&job->next, 1)) < job->images.dims[0];) {
        TtStatus st = write_picture(job, i);
        atomic_fetch_add(&job->done, 1);
        if (st == TT_OK) continue;
        pthread_mutex_lock(&job->lock);
        job->status = st;
        snprintf(job->message, sizeof job->message, "%.1000s", tt_error_message());
        pthread_mutex_unlock(&job->lock);
        atomic_store(&job->failed, true);
    }
    return NULL;
}

static TtStatus write_all(Job *job)
{
    pthread_t threads[MOST_THREADS];
    int n = 0, want = TT_MIN(tt_cpu_count(), MOST_THREADS);
    long long count = job->images.dims[0];
    bool bar = isatty(STDERR_FILENO);
    while (n < want && pthread_create(&threads[n], NULL, write_pictures, job) == 0) n++;
    if (n == 0) write_pictures(job);
    for (long long done = 0; bar && done < count && !atomic_load(&job->failed);) {
        usleep(100000);
        done = atomic_load(&job->done);
        fprintf(stderr, "\rprepare %s [%lld/%lld %lld%%]", job->output, done, count, done * 100 / count);
    }
    while (n > 0) pthread_join(threads[--n], NULL);
    if (bar) fputc('\n', stderr);
    return job->status == TT_OK ? TT_OK : tt_error_set(job->status, job->message, NULL);
}

/* A new, empty DIR.part with the class folders. What a killed run left of it goes. */
static TtStatus make_folders(Job *job)
{
    char *slash = strrchr(job->part, '/');
    const char *parent = slash ? tt_arena_strndup(&job->arena, job->part, (size_t)(slash - job->part)) : ".";
    if (slash == job->part) parent = "/";
    TT_TRY(tt_fs_mkdirs(parent));
    TT_TRY(tt_fs_remove_tree(parent, slash ? slash + 1 : job->part));
    for (int i = 0; i < job->n_classes; i++)
        TT_TRY(tt_fs_mkdirs(tt_arena_printf(&job->arena, "%s/%s", job->part, job->classes[i])));
    return TT_OK;
}

/* Sixty thousand small files: one flush of their file system is quicker than one for each. */
static TtStatus flush(const Job *job)
{
    int fd = open(job->part, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = fd < 0 ? -1 : syncfs(fd);
    TtStatus st =
        rc == 0 ? TT_OK : TT_FAIL(TT_EINTERNAL, "%s: cannot be flushed to the disk: %s", job->part, strerror(errno));
    if (fd >= 0) close(fd);
    return st;
}

static TtStatus build(Job *job, const char *record)
{
    TT_TRY(make_folders(job));
    TT_TRY(write_all(job));
    TT_TRY(tt_fs_write(tt_arena_printf(&job->arena, "%s/" RECORD, job->part), record, strlen(record)));
    TT_TRY(flush(job));
    TT_TRY(tt_fs_rename(job->part, job->output));
    fprintf(stderr, "prepare: %s: %lld pictures in %d classes\n", job->output, (long long)job->images.dims[0],
            job->n_classes);
    return TT_OK;
}

static TtStatus prepare(Job *job)
{
    char *output = tt_arena_strdup(&job->arena, job->output);
    for (size_t n = strlen(output); n > 1 && output[n - 1] == '/'; n--) output[n - 1] = '\0';
    job->output = output;
    job->part = tt_arena_printf(&job->arena, "%s.part", output);
    TT_TRY(parse_class_names(job));
    TT_TRY(read_input(job));
    char *record;
    bool complete;
    TT_TRY(make_record(job, &record));
    TtStatus st = find_complete(job, record, &complete);
    if (st == TT_OK && complete) fprintf(stderr, "prepare: %s is complete already\n", job->output);
    if (st == TT_OK && !complete) st = build(job, record);
    free(record);
    return st;
}

int tt_cmd_prepare(int argc, char **argv)
{
    Job *job = tt_realloc(NULL, sizeof *job);
    memset(job, 0, sizeof *job);
    pthread_mutex_init(&job->lock, NULL);
    const TtFlag flags[] = {{"--images", .text = &job->images_path},
                            {"--labels", .text = &job->labels_path},
                            {"--output", .text = &job->output},
                            {"--class-names", .text = &job->class_names},
                            {0}};
    TtArgs a;
    TtStatus st = tt_args_parse(argc, argv, flags, usage, &a);
    if (st == TT_OK && !a.help) {
        if (!a.config || strcmp(a.config, "mnist") != 0 || a.n_inputs || a.n_overrides)
            st = TT_FAIL(
                TT_ECONFIG,
                "prepare: what it prepares is `mnist`: ttrain prepare mnist --images F --labels F --output DIR");
        else if (!job->images_path || !job->labels_path || !job->output)
            st = TT_FAIL(TT_ECONFIG, "prepare mnist: --images, --labels and --output are all needed");
        else
            st = prepare(job);
    }
    tt_args_free(&a);
    tt_idx_free(&job->images);
    tt_idx_free(&job->labels);
    tt_arena_free(&job->arena);
    pthread_mutex_destroy(&job->lock);
    free(job);
    return tt_args_exit(st);
}
