/* SPDX-License-Identifier: Apache-2.0 */
/* data/webdataset.c - pictures in tar shards, in the layout of the webdataset library.
 *
 * Members that follow each other and share a key - the path up to the first dot of the base name - are one sample:
 * KEY.jpg (or .jpeg, .png) with KEY.cls (an integer as text, or a class name) or KEY.json ({"label": 3}). Opening goes
 * through all headers once, several shards at a time; after that any sample is one pread away, so shuffling is over
 * the whole set and not over a window. */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "data/dataset.h"
#include "tensor/file.h"
#include "data/loader.h"
#include "data/paths.h"
#include "data/strmap.h"
#include "data/tar.h"

/* More shards than this are opened for each read, so that the limit on open files (1024 as a rule) is kept. */
enum { MOST_OPEN = 512, MOST_THREADS = 16, LONGEST_CLS = 1024, LONGEST_JSON = 1 << 20 };
#define LARGEST_MEMBER ((uint64_t)2 << 30)

typedef struct Options {
    TtStrings path;
    const TtNode *classes;
    const char *label_key;
} Options;

static const TtOption options[] = {
    {"path", TT_OPT_STRINGS, offsetof(Options, path), .min_n = 1,
     .help = "tar files: a path or a list, with braces and wildcards, such as train-{000..146}.tar"},
    {"classes", TT_OPT_NODE, offsetof(Options, classes), .def = "null", .flags = TT_OPT_NULL,
     .help = "class names in index order (or a file with one a line); labels may then be names; null: numbers only"},
    {"label_key", TT_OPT_STRING, offsetof(Options, label_key), .def = "null", .flags = TT_OPT_NULL,
     .help = "key of the label in .json members; null: label, else cls"},
    {0}};

typedef struct Entry {
    uint64_t offset; /* of the picture in its shard */
    uint32_t size;
    int32_t label;
    int32_t shard;
    size_t name; /* of the picture's member, in its shard's names */
} Entry;

typedef struct Shard {
    const char *path;
    int fd; /* -1: opened for each read */
    char *names;
    size_t names_used, names_room;
    Entry *entries;
    size_t n, room;
    size_t lone; /* samples without a picture, left out */
    char first_lone[256];
    TtStatus status; /* of its scan, with the message of the thread that did it */
    char message[1024];
} Shard;

typedef struct Shards {
    Shard *v;
    int n;
    Entry *entries; /* of all shards, in order */
} Shards;

/* The sample whose members are being met. */
typedef struct Scan {
    TtDataset *d;
    const TtStrMap *classes;
    Shard *shard;
    int index;
    int fd;
    char key[4097];
    bool open, has_picture, has_cls;
    Entry entry;
} Scan;

static size_t add_name(Shard *s, const char *name)
{
    size_t len = strlen(name) + 1, at = s->names_used;
    if (s->names_room - at < len) s->names = tt_realloc(s->names, s->names_room = 2 * s->names_room + len + 4096);
    memcpy(s->names + at, name, len);
    s->names_used += len;
    return at;
}

static void end_sample(Scan *c)
{
    Shard *s = c->shard;
    if (!c->open) return;
    c->open = false;
    if (!c->has_picture) {
        if (s->lone++ == 0) snprintf(s->first_lone, sizeof s->first_lone, "%.200s", c->key);
        return;
    }
    if (s->n == s->room) s->entries = tt_realloc(s->entries, (s->room = TT_MAX(256, 2 * s->room)) * sizeof *s->entries);
    s->entries[s->n++] = c->entry;
}

/* A label as text: an index, or with `classes` a name. */
static TtStatus text_label(Scan *c, const char *member, const char *text)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    const int64_t by_name = tt_strmap_get(c->classes, text);
    if (by_name >= 0)
        v = by_name;
    else if (end == text || *end || errno || v < 0 || v >= INT32_MAX)
        return TT_FAIL(TT_EDATA, "%s: member %s: label '%.60s' is neither a class index%s", c->shard->path, member,
                       text, c->d->class_names ? " nor in `classes`" : "; for names give `classes`");
    if (c->d->class_names && v >= c->d->classes)
        return TT_FAIL(TT_EDATA, "%s: member %s: label %lld, but `classes` lists %d names", c->shard->path, member, v,
                       c->d->classes);
    c->entry.label = (int32_t)v;
    return TT_OK;
}

static TtStatus read_member(Scan *c, const TtTarMember *m, size_t most, char *buf)
{
    if (m->size > most)
        return TT_FAIL(TT_EDATA, "%s: member %s: %llu bytes are too many for a label", c->shard->path, m->name,
                       (unsigned long long)m->size);
    buf[m->size] = '\0';
    return tt_file_read_at(c->fd, c->shard->path, buf, (size_t)m->size, m->offset);
}

static TtStatus read_cls(Scan *c, const TtTarMember *m)
{
    char text[LONGEST_CLS + 1], *p = text;
    TT_TRY(read_member(c, m, LONGEST_CLS, text));
    while (isspace((unsigned char)*p)) p++;
    for (size_t n = strlen(p); n > 0 && isspace((unsigned char)p[n - 1]); n--) p[n - 1] = '\0';
    c->has_cls = true;
    return text_label(c, m->name, p);
}

static TtStatus json_label(Scan *c, const TtTarMember *m, const json_t *root)
{
    const char *key = ((const Options *)c->d->options)->label_key;
    const json_t *v = json_object_get(root, key ? key : "label");
    char text[32];
    if (!v && !key) v = json_object_get(root, "cls");
    if (!v || json_is_null(v)) return TT_OK; /* metadata without a label */
    if (json_is_string(v)) return text_label(c, m->name, json_string_value(v));
    if (!json_is_integer(v))
        return TT_FAIL(TT_EDATA, "%s: member %s: the label is no integer", c->shard->path, m->name);
    snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v));
    return text_label(c, m->name, text);
}

static TtStatus read_json(Scan *c, const TtTarMember *m)
{
    char *text = tt_realloc(NULL, (size_t)TT_MIN(m->size, (uint64_t)LONGEST_JSON) + 1);
    TtStatus st = read_member(c, m, LONGEST_JSON, text);
    json_error_t err;
    json_t *root = st == TT_OK ? json_loadb(text, (size_t)m->size, 0, &err) : NULL;
    if (st == TT_OK && !root)
        st = TT_FAIL(TT_EDATA, "%s: member %s: not JSON: line %d: %s", c->shard->path, m->name, err.line, err.text);
    if (st == TT_OK) st = json_label(c, m, root);
    json_decref(root);
    free(text);
    return st;
}

static bool is_picture(const char *ext)
{
    return strcasecmp(ext, "jpg") == 0 || strcasecmp(ext, "jpeg") == 0 || strcasecmp(ext, "png") == 0;
}

static TtStatus visit(void *user, const TtTarMember *m)
{
    Scan *c = user;
    const char *slash = strrchr(m->name, '/'), *base = slash ? slash + 1 : m->name, *dot = strchr(base, '.');
    if (!dot || dot == base) return TT_OK; /* no extension, or a hidden file: no part of a sample */
    size_t key = (size_t)(dot - m->name);
    if (!c->open || strlen(c->key) != key || memcmp(c->key, m->name, key) != 0) {
        end_sample(c);
        memcpy(c->key, m->name, key);
        c->key[key] = '\0';
        c->open = true;
        c->has_picture = c->has_cls = false;
        c->entry = (Entry){.label = -1, .shard = c->index};
    }
    const char *ext = dot + 1;
    if (strcasecmp(ext, "cls") == 0) return read_cls(c, m);
    if (strcasecmp(ext, "json") == 0) return c->has_cls ? TT_OK : read_json(c, m);
    if (!is_picture(ext)) return TT_OK;
    if (c->has_picture)
        return TT_FAIL(TT_EDATA, "%s: two pictures with the key %s; keys must differ", c->shard->path, c->key);
    if (m->size == 0 || m->size > LARGEST_MEMBER)
        return TT_FAIL(TT_EDATA, "%s: member %s: %llu bytes cannot be a picture", c->shard->path, m->name,
                       (unsigned long long)m->size);
    c->has_picture = true;
    c->entry.offset = m->offset;
    c->entry.size = (uint32_t)m->size;
    c->entry.name = add_name(c->shard, m->name);
    return TT_OK;
}

static TtStatus scan_shard(TtDataset *d, const TtStrMap *classes, Shards *all, int index)
{
    Shard *s = &all->v[index];
    uint64_t size;
    int fd;
    TT_TRY(tt_file_open(s->path, &fd, &size));
    Scan *c = tt_realloc(NULL, sizeof *c);
    *c = (Scan){.d = d, .classes = classes, .shard = s, .index = index, .fd = fd};
    TtStatus st = tt_tar_scan(fd, size, s->path, visit, c);
    end_sample(c);
    free(c);
    if (all->n <= MOST_OPEN)
        s->fd = fd;
    else
        close(fd);
    return st;
}

/* Opening reads little and waits much, so shards are scanned by several threads. */
typedef struct Job {
    TtDataset *d;
    const TtStrMap *classes;
    Shards *all;
    atomic_int next;
} Job;

static void *scan_shards(void *user)
{
    Job *job = user;
    for (int i; (i = atomic_fetch_add(&job->next, 1)) < job->all->n;) {
        Shard *s = &job->all->v[i];
        s->status = scan_shard(job->d, job->classes, job->all, i);
        if (s->status != TT_OK) snprintf(s->message, sizeof s->message, "%.1023s", tt_error_message());
    }
    return NULL;
}

static void scan_all(TtDataset *d, const TtStrMap *classes, Shards *all)
{
    Job job = {.d = d, .classes = classes, .all = all};
    pthread_t threads[MOST_THREADS];
    int n = 0, want = TT_MIN(TT_MIN(all->n, tt_cpu_count()), MOST_THREADS) - 1;
    while (n < want && pthread_create(&threads[n], NULL, scan_shards, &job) == 0) n++;
    scan_shards(&job);
    while (n > 0) pthread_join(threads[--n], NULL);
}

/* The first shard that failed, in order; then one table of all samples. */
static TtStatus merge(TtDataset *d, Shards *all)
{
    size_t count = 0, lone = 0;
    int largest = -1;
    const Shard *first_lone = NULL;
    for (int i = 0; i < all->n; i++) {
        const Shard *s = &all->v[i];
        if (s->status != TT_OK) return tt_error_set(s->status, s->message, NULL);
        count += s->n;
        lone += s->lone;
        if (s->lone > 0 && !first_lone) first_lone = s;
    }
    if (lone > 0)
        tt_warn("%s: %zu samples have no .jpg, .jpeg or .png and are left out, '%s' first", first_lone->path, lone,
                first_lone->first_lone);
    if (count == 0) return TT_FAIL(TT_EDATA, "%s: no pictures in the shards", all->v[0].path);
    all->entries = tt_realloc(NULL, count * sizeof *all->entries);
    count = 0;
    for (int i = 0; i < all->n; i++) {
        Shard *s = &all->v[i];
        if (s->n > 0) memcpy(all->entries + count, s->entries, s->n * sizeof *s->entries);
        count += s->n;
        free(s->entries);
        s->entries = NULL;
    }
    for (size_t i = 0; i < count; i++) largest = TT_MAX(largest, all->entries[i].label);
    d->count = (int64_t)count;
    if (!d->class_names) d->classes = largest + 1;
    return TT_OK;
}

static TtStatus shards_open(TtDataset *d)
{
    const Options *o = d->options;
    Shards *all = TT_NEW(&d->arena, Shards);
    TtStrings paths;
    TtStrMap classes = {0};
    d->impl = all;
    TT_TRY(tt_dataset_classes_option(d, o->classes));
    TT_TRY(tt_paths_expand(&o->path, &d->arena, &paths));
    all->n = paths.n;
    all->v = tt_realloc(NULL, (size_t)paths.n * sizeof *all->v);
    for (int i = 0; i < paths.n; i++) all->v[i] = (Shard){.path = paths.v[i], .fd = -1};
    for (int i = 0; d->class_names && i < d->classes; i++) tt_strmap_put(&classes, d->class_names[i], i);
    scan_all(d, &classes, all);
    tt_strmap_free(&classes);
    return merge(d, all);
}

static void shards_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    const Shards *all = d->impl;
    const Entry *e = &all->entries[index];
    snprintf(buf, size, "%s:%s", all->v[e->shard].path, all->v[e->shard].names + e->name);
}

static void shards_replay(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    const Shards *all = d->impl;
    const Entry *e = &all->entries[index];
    const char *member = all->v[e->shard].names + e->name;
    char shard[1024], name[1024];
    snprintf(buf, size, "tar -xOf %s -- %s >sample && ttrain decode sample",
             tt_shell_quote(all->v[e->shard].path, shard, sizeof shard), tt_shell_quote(member, name, sizeof name));
}

static int64_t shards_label(const TtDataset *d, int64_t index)
{
    return ((const Shards *)d->impl)->entries[index].label;
}

static TtStatus shards_read(const TtDataset *d, int64_t index, TtSample *s)
{
    const Shards *all = d->impl;
    const Entry *e = &all->entries[index];
    const Shard *shard = &all->v[e->shard];
    uint64_t size;
    int fd = shard->fd;
    shards_describe(d, index, s->name, sizeof s->name);
    s->label = e->label;
    TT_TRY(tt_sample_reserve(s, e->size));
    if (fd < 0) TT_TRY(tt_file_open(shard->path, &fd, &size));
    TtStatus st = tt_file_read_at(fd, shard->path, s->bytes, e->size, e->offset);
    if (fd != shard->fd) close(fd);
    TT_TRY(st);
    s->bytes_size = e->size;
    return tt_image_decode(s->bytes, s->bytes_size, s->name, &d->image, &s->image);
}

static void shards_close(TtDataset *d)
{
    Shards *all = d->impl;
    if (!all) return;
    for (int i = 0; i < all->n; i++) {
        if (all->v[i].fd >= 0) close(all->v[i].fd);
        free(all->v[i].names);
        free(all->v[i].entries);
    }
    free(all->v);
    free(all->entries);
}

const TtDatasetDef tt_dataset_webdataset = {
    .name = "webdataset",
    .help = "pictures in tar shards, in webdataset's layout",
    .options = options,
    .options_size = sizeof(Options),
    .open = shards_open,
    .read = shards_read,
    .label = shards_label,
    .describe = shards_describe,
    .replay = shards_replay,
    .close = shards_close,
};
