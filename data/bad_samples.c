/* SPDX-License-Identifier: Apache-2.0 */
/* data/bad_samples.c - the table of bad samples and its file. */
#include "data/bad_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/strmap.h"
#include "tensor/fs.h"

enum { LINE = 8192, WARN_ALL = 5 };
#define LARGEST_FILE ((size_t)1 << 30)

typedef struct Entry {
    bool failed, counted;
    char *message; /* when failed */
} Entry;

struct TtBadSamples {
    const TtDataset *dataset;
    const char *path; /* borrowed */
    bool write_failed;
    pthread_mutex_t lock;
    int32_t *entry_of; /* by sample: 1 + its place in entries, 0 for none; pages that stay zero cost nothing */
    Entry *entries;
    int32_t n, room;
    int64_t counted;
};

static Entry *get_entry(TtBadSamples *b, int64_t index)
{
    if (b->entry_of[index] == 0) {
        if (b->n == b->room) {
            b->room = TT_MAX(64, 2 * b->room);
            b->entries = tt_realloc(b->entries, (size_t)b->room * sizeof *b->entries);
        }
        b->entries[b->n++] = (Entry){0};
        b->entry_of[index] = b->n;
    }
    return &b->entries[b->entry_of[index] - 1];
}

/* Tabs and line ends would break the file's lines. */
static void one_field(char *s)
{
    for (; *s; s++)
        if (*s == '\t' || *s == '\n' || *s == '\r') *s = ' ';
}

/* A line: where the message begins with the name and a byte, those have columns of their own. */
static size_t format_line(const TtBadSamples *b, int64_t index, const char *message, char line[LINE])
{
    char name[PATH_MAX + 1024], rest[2048], byte[24] = "";
    b->dataset->def->describe(b->dataset, index, name, sizeof name);
    size_t len = strlen(name);
    if (strncmp(message, name, len) == 0 && strncmp(message + len, ": ", 2) == 0) message += len + 2;
    if (strncmp(message, "at byte ", 8) == 0) {
        size_t digits = strspn(message + 8, "0123456789");
        if (digits > 0 && digits < sizeof byte && strncmp(message + 8 + digits, ": ", 2) == 0) {
            snprintf(byte, sizeof byte, "%.*s", (int)digits, message + 8);
            message += 8 + digits + 2;
        }
    }
    snprintf(rest, sizeof rest, "%s", message);
    one_field(name);
    one_field(rest);
    int n = snprintf(line, LINE, "%s\t%s\t%s\n", name, byte, rest);
    return (size_t)TT_MIN(n, LINE - 1);
}

/* One write per line, so that lines of several processes do not mix. A full disk must not end the run here: what
 * matters more will meet it too. */
static void append_line(TtBadSamples *b, const char *line, size_t size)
{
    int fd = open(b->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && write(fd, line, size) == (ssize_t)size;
    if (!ok && !b->write_failed) tt_warn("%s: cannot be written: %s", b->path, strerror(errno));
    b->write_failed |= !ok;
    if (fd >= 0) close(fd);
}

/* Mark the samples that the file lists. Names are compared and not numbers: files may have been added meanwhile. */
static TtStatus load(TtBadSamples *b)
{
    char *text, name[PATH_MAX + 1024];
    size_t size;
    if (access(b->path, F_OK) != 0) return TT_OK;
    TT_TRY(tt_fs_read(b->path, LARGEST_FILE, TT_EDATA, &text, &size));
    TtStrMap listed = {0};
    for (char *line = text; line && *line;) {
        char *end = strchr(line, '\n'), *tab = strchr(line, '\t');
        if (!end) append_line(b, "\n", 1); /* a process was killed while it wrote */
        if (tab && (!end || tab < end)) {
            *tab = '\0';
            tt_strmap_put(&listed, line, 0);
        }
        line = end ? end + 1 : NULL;
    }
    for (int64_t i = 0; listed.count > 0 && i < b->dataset->count; i++) {
        b->dataset->def->describe(b->dataset, i, name, sizeof name);
        one_field(name);
        if (tt_strmap_get(&listed, name) < 0) continue;
        get_entry(b, i)->counted = true;
        b->counted++;
    }
    tt_strmap_free(&listed);
    free(text);
    return TT_OK;
}

TtStatus tt_bad_samples_open(const TtDataset *d, const char *path, TtBadSamples **out)
{
    *out = NULL;
    TtBadSamples *b = tt_realloc(NULL, sizeof *b);
    *b = (TtBadSamples){.dataset = d, .path = path, .entry_of = calloc((size_t)d->count, sizeof *b->entry_of)};
    pthread_mutex_init(&b->lock, NULL);
    TtStatus st =
        b->entry_of ? TT_OK : TT_FAIL(TT_EINTERNAL, "out of memory: a table of %lld samples", (long long)d->count);
    if (st == TT_OK && path) st = load(b);
    if (st != TT_OK) {
        tt_bad_samples_close(b);
        return st;
    }
    *out = b;
    return TT_OK;
}

void tt_bad_samples_close(TtBadSamples *b)
{
    if (!b) return;
    for (int32_t i = 0; i < b->n; i++) free(b->entries[i].message);
    free(b->entries);
    free(b->entry_of);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

bool tt_bad_samples_failed(TtBadSamples *b, int64_t index)
{
    pthread_mutex_lock(&b->lock);
    bool failed = b->entry_of[index] > 0 && b->entries[b->entry_of[index] - 1].failed;
    pthread_mutex_unlock(&b->lock);
    return failed;
}

void tt_bad_samples_add(TtBadSamples *b, int64_t index, const char *message)
{
    pthread_mutex_lock(&b->lock);
    Entry *e = get_entry(b, index);
    if (!e->failed) {
        size_t size = strlen(message) + 1;
        e->message = memcpy(tt_realloc(NULL, size), message, size);
        e->failed = true;
    }
    pthread_mutex_unlock(&b->lock);
}

int64_t tt_bad_samples_count(TtBadSamples *b)
{
    pthread_mutex_lock(&b->lock);
    int64_t n = b->counted;
    pthread_mutex_unlock(&b->lock);
    return n;
}

const char *tt_bad_samples_record(TtBadSamples *b, int64_t index)
{
    pthread_mutex_lock(&b->lock);
    Entry *e = get_entry(b, index);
    bool is_new = !e->counted;
    const char *message = e->message;
    e->counted = true;
    int64_t n = b->counted += is_new;
    pthread_mutex_unlock(&b->lock);
    if (!is_new) return message;
    if (b->path) {
        char line[LINE];
        append_line(b, line, format_line(b, index, message, line));
    }
    /* The first few, then at 8, 16, 32, ... */
    if (n <= WARN_ALL || (n >= 8 && (n & (n - 1)) == 0))
        tt_warn("sample left out (%lld so far%s%s): %s", (long long)n, b->path ? ", listed in " : "",
                b->path ? b->path : "", message);
    return message;
}
