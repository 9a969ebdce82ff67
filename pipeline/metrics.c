/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/metrics.c - append-only logs that are cut at a resume. */
#include "pipeline/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/fs.h"
#include "pipeline/json.h"
#include "tensor/arena.h"

struct TtMetrics {
    TtArena arena;
    const char *jsonl, *csv; /* paths; NULL when off */
    int jsonl_fd, csv_fd;
    char *header; /* of summary.csv, or NULL before the first row */
};

/* Step of a line of metrics.jsonl; -1 when it is torn or no event. */
static int64_t event_step(const char *line, size_t n)
{
    json_t *o = json_loadb(line, n, 0, NULL), *step = json_object_get(o, "step");
    int64_t v = json_is_integer(step) ? json_integer_value(step) : -1;
    json_decref(o);
    return v;
}

/* Step of a row: its first column. */
static int64_t row_step(const char *line, size_t n)
{
    char *end;
    char text[32] = "";
    memcpy(text, line, TT_MIN(n, sizeof text - 1));
    long long v = strtoll(text, &end, 10);
    return end > text && *end == ',' ? v : -1;
}

/* Keep the complete lines up to STEP (and the first KEEP lines whatever they are). */
static TtStatus cut(const char *path, int64_t step, int keep, int64_t (*step_of)(const char *, size_t))
{
    char *text;
    size_t size, out = 0;
    if (!tt_fs_exists(path)) return TT_OK;
    if (step == 0) keep = 0;
    TT_TRY(tt_fs_read(path, (size_t)1 << 32, TT_EINTERNAL, &text, &size));
    for (size_t at = 0, number = 0; at < size; number++) {
        char *end = memchr(text + at, '\n', size - at);
        if (!end) break; /* torn */
        size_t n = (size_t)(end - (text + at)) + 1;
        int64_t s = step_of(text + at, n - 1);
        if ((int)number < keep || (s >= 0 && s <= step && step > 0)) {
            memmove(text + out, text + at, n);
            out += n;
        }
        at += n;
    }
    TtStatus s = out == size ? TT_OK : tt_fs_write(path, text, out);
    free(text);
    return s;
}

static TtStatus open_append(const char *path, int *fd)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return *fd >= 0 ? TT_OK : TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %s", path, strerror(errno));
}

static TtStatus read_header(TtMetrics *m)
{
    char *text;
    size_t size;
    TT_TRY(tt_fs_read(m->csv, (size_t)1 << 32, TT_EINTERNAL, &text, &size));
    char *end = memchr(text, '\n', size);
    if (end) m->header = tt_arena_strndup(&m->arena, text, (size_t)(end - text));
    free(text);
    return TT_OK;
}

TtStatus tt_metrics_open(const char *run_dir, bool jsonl, bool csv, int64_t step, TtMetrics **out)
{
    TtMetrics *m = tt_realloc(NULL, sizeof *m);
    *m = (TtMetrics){.jsonl_fd = -1, .csv_fd = -1};
    *out = m;
    TtStatus s = TT_OK;
    if (jsonl) {
        m->jsonl = tt_arena_printf(&m->arena, "%s/metrics.jsonl", run_dir);
        s = cut(m->jsonl, step, 0, event_step);
        if (s == TT_OK) s = open_append(m->jsonl, &m->jsonl_fd);
    }
    if (csv && s == TT_OK) {
        m->csv = tt_arena_printf(&m->arena, "%s/summary.csv", run_dir);
        s = cut(m->csv, step, 1, row_step);
        if (s == TT_OK) s = open_append(m->csv, &m->csv_fd);
        if (s == TT_OK) s = read_header(m);
    }
    if (s != TT_OK) {
        tt_metrics_close(m);
        *out = NULL;
    }
    return s;
}

void tt_metrics_close(TtMetrics *m)
{
    if (!m) return;
    if (m->jsonl_fd >= 0) close(m->jsonl_fd);
    if (m->csv_fd >= 0) close(m->csv_fd);
    tt_arena_free(&m->arena);
    free(m);
}

/* One write for the whole line, so that a kill leaves at most one torn line at the end. */
static TtStatus append(int fd, const char *path, const char *line, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, line, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %s", path, strerror(errno));
        line += done, n -= (size_t)done;
    }
    return TT_OK;
}

static TtStatus append_line(int fd, const char *path, char *text)
{
    size_t n = strlen(text);
    char *line = tt_realloc(NULL, n + 1);
    memcpy(line, text, n);
    line[n] = '\n';
    TtStatus s = append(fd, path, line, n + 1);
    free(line);
    return s;
}

TtStatus tt_metrics_event(TtMetrics *m, const json_t *event)
{
    if (!m->jsonl) return TT_OK;
    char *line = tt_json_line(event);
    TtStatus s = append_line(m->jsonl_fd, m->jsonl, line);
    free(line);
    return s;
}

static bool scalar(const json_t *v)
{
    return json_is_number(v) || json_is_null(v);
}

TtStatus tt_metrics_row(TtMetrics *m, const json_t *row)
{
    if (!m->csv) return TT_OK;
    const char *key;
    json_t *v;
    char *line = NULL;
    size_t size = 0;
    if (!m->header) {
        FILE *f = open_memstream(&line, &size);
        const char *comma = "";
        json_object_foreach((json_t *)(uintptr_t)row, key, v) if (scalar(v))
        {
            fprintf(f, "%s%s", comma, key);
            comma = ",";
        }
        fclose(f);
        m->header = tt_arena_strdup(&m->arena, line);
        TtStatus s = append_line(m->csv_fd, m->csv, line);
        free(line);
        TT_TRY(s);
    }
    FILE *f = open_memstream(&line, &size);
    char *names = tt_arena_strdup(&m->arena, m->header), *save = NULL;
    for (char *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        if (name != names) fputc(',', f);
        v = json_object_get(row, name);
        if (json_is_integer(v))
            fprintf(f, "%lld", (long long)json_integer_value(v));
        else if (json_is_real(v))
            fprintf(f, "%.9g", json_real_value(v));
    }
    fclose(f);
    TtStatus s = append_line(m->csv_fd, m->csv, line);
    free(line);
    return s;
}
