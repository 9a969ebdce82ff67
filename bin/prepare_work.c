/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare_work.c - what the kinds of `ttrain prepare` share: finding their input, threads, and lists. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

#include "bin/prepare.h"
#include "tensor/clock.h"
#include "tensor/file.h"
#include "tensor/utf8.h"

/* Texts from packages are a megabyte at most; beyond this a small .gz file fills the memory. */
enum { LARGEST_TEXT = 64 << 20 };

bool tt_prepare_look(TtPrepare *p, const char *path, const char **out)
{
    for (int i = 0; i < p->n_folders; i++) {
        *out = tt_arena_printf(&p->arena, "%s/%s", p->folders[i], path);
        if (tt_fs_exists(*out)) return true;
    }
    return false;
}

TtStatus tt_prepare_find(TtPrepare *p, const char *package, const char *path, const char **out)
{
    if (tt_prepare_look(p, path, out)) return TT_OK;
    return TT_FAIL(TT_EDATA, "%s%s has no %s; unpack the Debian package %s there", p->folders[0],
                   p->n_folders > 1 ? " (and the other folders)" : "", path, package);
}

TtStatus tt_prepare_input(TtPrepare *p, const char *name, const char *path)
{
    uint64_t size;
    char digest[TT_FS_DIGEST];
    TT_TRY(tt_fs_checksum(path, TT_EDATA, &size, digest));
    char chain[4096];
    size_t n = (size_t)snprintf(chain, sizeof chain, "%s %s %.4000s", p->input, digest, name);
    XXH128_hash_t h = XXH3_128bits(chain, n);
    snprintf(p->input, sizeof p->input, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
    return TT_OK;
}

void tt_prepare_record(const TtPrepare *p, json_t *record, int version)
{
    json_object_set_new(record, "version", json_integer(version));
    json_object_set_new(record, "input", json_string(p->input));
}

/* Everything that GZ has, and a NUL. */
static TtStatus read_gz(gzFile gz, const char *path, TtArena *arena, char **out, size_t *size)
{
    size_t capacity = 1 << 16, used = 0;
    char *text = tt_realloc(NULL, capacity);
    TtStatus st = TT_OK;
    for (int n; (n = gzread(gz, text + used, (unsigned)(capacity - used))) != 0;) {
        int code;
        const char *why = gzerror(gz, &code);
        if (n < 0) {
            st = TT_FAIL(TT_EDATA, "%s: at byte %lld: damaged: %s", path, (long long)gzoffset(gz), why);
            break;
        }
        used += (size_t)n;
        if (used > LARGEST_TEXT) {
            st = TT_FAIL(TT_EDATA, "%s: more than %d MiB; this cannot be the text that is meant", path,
                         LARGEST_TEXT >> 20);
            break;
        }
        if (used == capacity) text = tt_realloc(text, capacity *= 2);
    }
    int code = Z_OK;
    const char *why = gzerror(gz, &code); /* an early end is no error of gzread's */
    if (st == TT_OK && code != Z_OK && code != Z_STREAM_END)
        st = TT_FAIL(TT_EDATA, "%s: at byte %lld: damaged: %s", path, (long long)gzoffset(gz), why);
    if (st == TT_OK) {
        *out = tt_arena_alloc(arena, used + 1);
        memcpy(*out, text, used);
        *size = used;
    }
    free(text);
    return st;
}

static TtStatus check_text(const char *path, const char *text, size_t size)
{
    int64_t line = 1;
    uint32_t code;
    for (size_t at = 0; at < size;) {
        int n = text[at] ? tt_utf8_decode(text + at, size - at, &code) : 0;
        if (n == 0)
            return TT_FAIL(TT_EDATA, "%s:%lld: at byte %zu: 0x%02x is no UTF-8 text", path, (long long)line, at,
                           (unsigned char)text[at]);
        if (text[at] == '\n') line++;
        at += (size_t)n;
    }
    return TT_OK;
}

TtStatus tt_prepare_text(TtPrepare *p, const char *path, char **out)
{
    int fd;
    uint64_t bytes;
    char *text;
    size_t size;
    const char *slash = strrchr(path, '/');
    TT_TRY(tt_prepare_input(p, slash ? slash + 1 : path, path));
    TT_TRY(tt_file_open(path, &fd, &bytes));
    gzFile gz = gzdopen(fd, "rb");
    if (!gz) {
        close(fd);
        return TT_FAIL(TT_EINTERNAL, "out of memory: reading %s", path);
    }
    TtStatus st = read_gz(gz, path, &p->arena, &text, &size);
    gzclose(gz);
    if (st == TT_OK) st = check_text(path, text, size);
    if (st == TT_OK) *out = text + (strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
    return st;
}

bool tt_prepare_is_name(const char *name)
{
    if (!*name || *name == '.' || strlen(name) > 200) return false;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < ' ' || *c == 0x7f || *c == '/') return false;
    return true;
}

char *tt_prepare_path(TtPrepare *p, const char *name)
{
    return tt_arena_printf(&p->arena, "%s/%s", p->part, name);
}

TtStatus tt_prepare_mkdir(TtPrepare *p, const char *name)
{
    return tt_fs_mkdirs(tt_prepare_path(p, name));
}

/* ---- threads */

typedef struct Crew {
    TtPrepare *p;
    TtPrepareFn fn;
    int64_t n;
    atomic_llong next, done;
    atomic_int working;
    atomic_bool failed;
    pthread_mutex_t lock; /* of what follows */
    TtStatus status;
    int64_t failed_at;
    char message[2048];
} Crew;

/* Items are taken in order and finished once taken: whoever fails first, the lowest that fails is among them. */
static void *work(void *user)
{
    Crew *c = user;
    for (int64_t i; !atomic_load(&c->failed) && (i = atomic_fetch_add(&c->next, 1)) < c->n;) {
        TtStatus st = c->fn(c->p, i);
        atomic_fetch_add(&c->done, 1);
        if (st == TT_OK) continue;
        pthread_mutex_lock(&c->lock);
        if (c->status == TT_OK || i < c->failed_at) {
            c->status = st;
            c->failed_at = i;
            snprintf(c->message, sizeof c->message, "%.2000s", tt_error_message());
        }
        pthread_mutex_unlock(&c->lock);
        atomic_store(&c->failed, true);
    }
    atomic_fetch_sub(&c->working, 1);
    return NULL;
}

/* A bar on a terminal, elsewhere a line every ten seconds. */
static void watch(Crew *c, const char *what)
{
    const bool bar = isatty(STDERR_FILENO);
    double next = tt_now() + 10;
    while (atomic_load(&c->working) > 0) {
        usleep(bar ? 100000 : 2000);
        const long long done = atomic_load(&c->done);
        if (!bar && tt_now() < next) continue;
        next += 10;
        fprintf(stderr, "%sprepare %s: %s [%lld/%lld %lld%%]%s", bar ? "\r" : "", c->p->output, what, done,
                (long long)c->n, done * 100 / c->n, bar ? "" : "\n");
    }
    if (bar) fputc('\n', stderr);
}

TtStatus tt_prepare_each(TtPrepare *p, const char *what, int64_t n, TtPrepareFn fn)
{
    pthread_t threads[TT_PREPARE_MOST_THREADS];
    Crew c = {.p = p, .fn = fn, .n = n};
    int count = 0, want = (int)TT_MIN(n, p->threads);
    pthread_mutex_init(&c.lock, NULL);
    atomic_store(&c.working, want);
    while (count < want && pthread_create(&threads[count], NULL, work, &c) == 0) count++;
    atomic_fetch_sub(&c.working, want - count);
    if (n > 0 && count == 0) {
        atomic_store(&c.working, 1);
        work(&c);
    }
    if (n > 0) watch(&c, what);
    while (count > 0) pthread_join(threads[--count], NULL);
    pthread_mutex_destroy(&c.lock);
    return c.status == TT_OK ? TT_OK : tt_error_set(c.status, c.message, NULL);
}

/* ---- lists */

TtStatus tt_prepare_list_open(TtPrepareList *l, const char *header)
{
    *l = (TtPrepareList){0};
    l->out = open_memstream(&l->text, &l->size);
    if (!l->out) return TT_FAIL(TT_EINTERNAL, "out of memory: %s", strerror(errno));
    fprintf(l->out, "%s\n", header);
    return TT_OK;
}

TtStatus tt_prepare_list_close(TtPrepare *p, TtPrepareList *l, const char *name, TtStatus status)
{
    if (!l->out) return status;
    if (fclose(l->out) != 0 && status == TT_OK) status = TT_FAIL(TT_EINTERNAL, "out of memory: %s", strerror(errno));
    if (status == TT_OK) status = tt_fs_write(tt_prepare_path(p, name), l->text, l->size);
    free(l->text);
    *l = (TtPrepareList){0};
    return status;
}
