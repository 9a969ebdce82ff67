/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/metrics.c - append-only logs that are cut at a resume. */
#include "pipeline/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/json.h"
#include "tensor/arena.h"
#include "tensor/fs.h"

typedef struct Log {
    char *path;
    int fd; /* -1 when switched off */
} Log;

struct TtMetrics {
    Log jsonl, csv;
    char *header; /* of summary.csv, without an end of line; NULL before the first row */
    TtCurve *curves;
    int n_curves;
};

/* ---- curves */

static TtCurve *find_curve(const TtMetrics *m, const char *key)
{
    for (int i = 0; i < m->n_curves; i++)
        if (strcmp(m->curves[i].key, key) == 0) return &m->curves[i];
    return NULL;
}

const TtCurve *tt_metrics_curve(const TtMetrics *m, const char *key)
{
    return find_curve(m, key);
}

static TtCurve *new_curve(TtMetrics *m, const char *key)
{
    m->curves = tt_realloc(m->curves, sizeof *m->curves * (size_t)(m->n_curves + 1));
    TtCurve *c = &m->curves[m->n_curves++];
    size_t bytes = TT_CURVE_POINTS * sizeof(double);
    *c = (TtCurve){.key = strcpy(tt_realloc(NULL, strlen(key) + 1), key),
                   .step = tt_realloc(NULL, bytes),
                   .value = tt_realloc(NULL, bytes),
                   .stride = 1};
    return c;
}

/* A point is the mean of STRIDE values, at the last one's step; when there is no more room, pairs are merged. */
static void add_point(TtCurve *c, double step, double value)
{
    c->sum += value;
    if (++c->pending < c->stride) return;
    c->step[c->n] = step;
    c->value[c->n++] = c->sum / (double)c->stride;
    c->sum = 0, c->pending = 0;
    if (c->n < TT_CURVE_POINTS) return;
    for (c->n = 0; c->n < TT_CURVE_POINTS / 2; c->n++) {
        c->step[c->n] = c->step[2 * c->n + 1];
        c->value[c->n] = 0.5 * (c->value[2 * c->n] + c->value[2 * c->n + 1]);
    }
    c->stride *= 2;
}

static void add_points(TtMetrics *m, const json_t *event)
{
    double step = (double)json_integer_value(json_object_get(event, "step"));
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)event, key, v)
    {
        if (!json_is_real(v) && !json_is_null(v)) continue;
        TtCurve *c = find_curve(m, key);
        if (!c) c = new_curve(m, key);
        add_point(c, step, json_is_real(v) ? json_real_value(v) : NAN);
    }
}

/* ---- cutting */

/* Whether a line stays: its step is known and not beyond STEP. */
typedef bool (*Keeps)(TtMetrics *m, const char *line, size_t n, bool first, int64_t step);

static bool keeps_event(TtMetrics *m, const char *line, size_t n, bool first, int64_t step)
{
    json_t *o = json_loadb(line, n, 0, NULL), *s = json_object_get(o, "step");
    bool keep = json_is_integer(s) && json_integer_value(s) >= 0 && json_integer_value(s) <= step;
    if (keep) add_points(m, o);
    json_decref(o);
    return keep;
}

static bool keeps_row(TtMetrics *m, const char *line, size_t n, bool first, int64_t step)
{
    if (first) return strncmp(line, "step", 4) == 0; /* the header */
    char *end;
    errno = 0;
    long long s = strtoll(line, &end, 10);
    return end > line && errno == 0 && (*end == ',' || *end == '\n') && s >= 0 && s <= step;
}

/* Copy the lines that stay; when all do, the copy is thrown away. Rows without their header are of no use. */
static TtStatus cut(TtMetrics *m, const char *path, int64_t step, Keeps keeps)
{
    FILE *f = fopen(path, "re");
    if (!f && errno == ENOENT) return TT_OK;
    if (!f) return TT_FAIL(TT_EINTERNAL, "%s: cannot be read: %s", path, strerror(errno));
    TtFsWriter w;
    TtStatus s = tt_fs_open(&w, path, TT_FS_ATOMIC);
    char *line = NULL;
    size_t capacity = 0;
    bool first = true, changed = false;
    for (ssize_t n; s == TT_OK && (n = getline(&line, &capacity, f)) > 0; first = false) {
        bool keep = step > 0 && line[n - 1] == '\n' && keeps(m, line, (size_t)n, first, step);
        if (!keep && first && keeps == keeps_row) step = 0;
        if (keep) s = tt_fs_put(&w, line, (size_t)n);
        changed |= !keep;
    }
    if (s == TT_OK && ferror(f)) s = TT_FAIL(TT_EINTERNAL, "%s: cannot be read: %s", path, strerror(errno));
    if (s == TT_OK && changed)
        s = tt_fs_commit(&w);
    else
        tt_fs_discard(&w);
    free(line);
    fclose(f);
    return s;
}

/* ---- files */

static TtStatus open_log(Log *l, bool on)
{
    if (!on) return TT_OK;
    l->fd = open(l->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return l->fd >= 0 ? TT_OK : TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %s", l->path, strerror(errno));
}

static void close_log(Log *l)
{
    if (l->fd >= 0) close(l->fd);
    free(l->path);
    *l = (Log){.fd = -1};
}

/* One write for the whole line, so that a kill leaves at most one torn line at the end. What a full disk took of it is
 * removed again: the next line must not continue it. TEXT has room for the end of line in the place of its NUL. */
static TtStatus append(Log *l, char *text)
{
    size_t n = strlen(text) + 1, done = 0;
    off_t before = lseek(l->fd, 0, SEEK_END);
    text[n - 1] = '\n';
    while (done < n) {
        ssize_t k = write(l->fd, text + done, n - done);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) break;
        done += (size_t)k;
    }
    if (done == n) return TT_OK;
    int cause = errno;
    if (before >= 0 && ftruncate(l->fd, before) != 0) cause = errno;
    return TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %s", l->path, strerror(cause));
}

static void read_header(TtMetrics *m)
{
    FILE *f = fopen(m->csv.path, "re");
    size_t capacity = 0;
    ssize_t n = f ? getline(&m->header, &capacity, f) : -1;
    if (f) fclose(f);
    if (n > 0)
        m->header[n - 1] = '\0';
    else {
        free(m->header);
        m->header = NULL;
    }
}

TtStatus tt_metrics_open(const char *run_dir, bool jsonl, bool csv, int64_t step, TtMetrics **out)
{
    TtMetrics *m = tt_realloc(NULL, sizeof *m);
    *m = (TtMetrics){.jsonl = {tt_fs_join(run_dir, "metrics.jsonl"), -1},
                     .csv = {tt_fs_join(run_dir, "summary.csv"), -1}};
    TtStatus s = cut(m, m->jsonl.path, step, keeps_event);
    if (s == TT_OK) s = cut(m, m->csv.path, step, keeps_row);
    if (s == TT_OK) s = open_log(&m->jsonl, jsonl);
    if (s == TT_OK) s = open_log(&m->csv, csv);
    if (s == TT_OK) read_header(m);
    if (s != TT_OK) {
        tt_metrics_close(m);
        m = NULL;
    }
    *out = m;
    return s;
}

void tt_metrics_close(TtMetrics *m)
{
    if (!m) return;
    close_log(&m->jsonl);
    close_log(&m->csv);
    for (int i = 0; i < m->n_curves; i++) {
        free(m->curves[i].key);
        free(m->curves[i].step);
        free(m->curves[i].value);
    }
    free(m->curves);
    free(m->header);
    free(m);
}

TtStatus tt_metrics_event(TtMetrics *m, const json_t *event)
{
    add_points(m, event);
    if (m->jsonl.fd < 0) return TT_OK;
    char *line = tt_json_line(event);
    TtStatus s = append(&m->jsonl, line);
    free(line);
    return s;
}

/* ---- summary.csv */

/* A cell: a number or null under a name that needs no quotes. */
static bool is_cell(const char *key, const json_t *v)
{
    return (json_is_number(v) || json_is_null(v)) && *key && !strpbrk(key, ",\"\r\n");
}

static bool has_column(const char *header, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = header; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, key, n) == 0 && (p[n] == ',' || p[n] == '\0')) return true;
    }
    return false;
}

/* The header with the row's new keys; what was added, as commas, goes to COMMAS. */
static char *wider_header(const char *header, const json_t *row, char **commas)
{
    char *text = NULL, *added = NULL;
    size_t size, n;
    FILE *f = open_memstream(&text, &size), *g = open_memstream(&added, &n);
    TT_ASSERT(f && g);
    const char *key;
    json_t *v;
    bool empty = !header;
    fputs(header ? header : "", f);
    json_object_foreach((json_t *)(uintptr_t)row, key, v) if (is_cell(key, v) && !(header && has_column(header, key)))
    {
        fprintf(f, "%s%s", empty ? "" : ",", key);
        if (!empty) fputc(',', g);
        empty = false;
    }
    fclose(f);
    fclose(g);
    *commas = added;
    return text;
}

/* Write the file anew under HEADER, with COMMAS behind each of its rows. */
static TtStatus widen(TtMetrics *m, const char *header, const char *commas)
{
    FILE *f = fopen(m->csv.path, "re");
    TtFsWriter w;
    char *line = NULL;
    size_t capacity = 0;
    TtStatus s = tt_fs_open(&w, m->csv.path, TT_FS_ATOMIC);
    if (s == TT_OK) s = tt_fs_put(&w, header, strlen(header));
    if (s == TT_OK) s = tt_fs_put(&w, "\n", 1);
    for (ssize_t n, number = 0; s == TT_OK && f && (n = getline(&line, &capacity, f)) > 0; number++) {
        if (number == 0) continue;
        s = tt_fs_put(&w, line, (size_t)n - 1);
        if (s == TT_OK) s = tt_fs_put(&w, commas, strlen(commas));
        if (s == TT_OK) s = tt_fs_put(&w, "\n", 1);
    }
    if (s == TT_OK)
        s = tt_fs_commit(&w);
    else
        tt_fs_discard(&w);
    free(line);
    if (f) fclose(f);
    TT_TRY(s);
    close(m->csv.fd); /* of the file that was replaced */
    return open_log(&m->csv, true);
}

static TtStatus prepare_columns(TtMetrics *m, const json_t *row)
{
    char *commas, *header = wider_header(m->header, row, &commas);
    TtStatus s = TT_OK;
    if (!m->header || strcmp(header, m->header) != 0) s = widen(m, header, commas);
    free(commas);
    if (s != TT_OK) {
        free(header);
        return s;
    }
    free(m->header);
    m->header = header;
    return TT_OK;
}

static char *row_text(const char *header, const json_t *row)
{
    char *text = NULL, *key = tt_realloc(NULL, strlen(header) + 1);
    size_t size;
    FILE *f = open_memstream(&text, &size);
    TT_ASSERT(f);
    for (const char *p = header;; p++) {
        size_t n = strcspn(p, ",");
        memcpy(key, p, n);
        key[n] = '\0';
        json_t *v = json_object_get(row, key);
        if (json_is_integer(v))
            fprintf(f, "%lld", (long long)json_integer_value(v));
        else if (json_is_real(v))
            fprintf(f, "%.9g", json_real_value(v));
        p += n;
        if (!*p) break;
        fputc(',', f);
    }
    fclose(f);
    free(key);
    return text;
}

TtStatus tt_metrics_row(TtMetrics *m, const json_t *row)
{
    if (m->jsonl.fd >= 0) fdatasync(m->jsonl.fd);
    if (m->csv.fd < 0) return TT_OK;
    TT_TRY(prepare_columns(m, row));
    char *text = row_text(m->header, row);
    TtStatus s = append(&m->csv, text);
    free(text);
    if (s == TT_OK) fdatasync(m->csv.fd);
    return s;
}
