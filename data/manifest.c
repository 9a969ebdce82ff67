/* SPDX-License-Identifier: Apache-2.0 */
/* data/manifest.c - lists of sound files. */
#include "data/manifest.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/reader.h"
#include "audio/resample.h"
#include "tensor/fs.h"

enum { MAX_FIELDS = 256 };
#define MOST_BYTES ((size_t)1 << 32)

/* Cut the line at *AT into fields; returns how many there are, at most MAX_FIELDS + 1. */
static int cut_line(char **at, char *end, char **fields)
{
    char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
    *at = stop ? stop + 1 : end;
    if (!stop) stop = end;
    if (stop > line && stop[-1] == '\r') stop--;
    *stop = '\0'; /* at END stands a NUL already */
    int n = 0;
    while (n <= MAX_FIELDS) {
        fields[n++] = line;
        line = strchr(line, '\t');
        if (!line) break;
        *line++ = '\0';
    }
    return n;
}

static TtStatus find_columns(TtManifest *m, char **header, int width, const char *const *wanted, int needed, int *where)
{
    for (int k = 0; wanted[k]; k++) {
        where[k] = -1;
        for (int i = 0; i < width; i++) {
            if (strcmp(header[i], wanted[k]) != 0) continue;
            if (where[k] >= 0) return TT_FAIL(TT_EDATA, "%s:1: two columns are named '%s'", m->path, wanted[k]);
            where[k] = i;
        }
        if (where[k] >= 0 || k >= needed) continue;
        char list[512] = "";
        for (int i = 0, n = 0; i < width && n < (int)sizeof list - 1; i++)
            n += snprintf(list + n, sizeof list - (size_t)n, "%s%s", i ? ", " : "", header[i]);
        return TT_FAIL(TT_EDATA, "%s:1: no column '%s'; the header has: %s (columns are separated by tabs)", m->path,
                       wanted[k], list);
    }
    return TT_OK;
}

static void add_row(TtManifest *m, size_t *room, char **fields, const int *where, int64_t line)
{
    if ((size_t)m->n == *room) {
        *room = TT_MAX(1024, 2 * *room);
        m->cells = tt_realloc(m->cells, *room * (size_t)m->columns * sizeof *m->cells);
        m->lines = tt_realloc(m->lines, *room * sizeof *m->lines);
    }
    for (int k = 0; k < m->columns; k++) m->cells[m->n * m->columns + k] = where[k] >= 0 ? fields[where[k]] : NULL;
    m->lines[m->n++] = line;
}

static TtStatus read_rows(TtManifest *m, size_t size, const char *const *wanted, int needed)
{
    char *fields[MAX_FIELDS + 1], *at = m->text, *end = m->text + size;
    int where[MAX_FIELDS];
    size_t room = 0;
    if (size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    if (at == end) return TT_FAIL(TT_EDATA, "%s: the file is empty; its first line must name the columns", m->path);
    int width = cut_line(&at, end, fields);
    if (width > MAX_FIELDS) return TT_FAIL(TT_EDATA, "%s:1: more than %d columns", m->path, MAX_FIELDS);
    TT_TRY(find_columns(m, fields, width, wanted, needed, where));
    for (int64_t line = 2; at < end; line++) {
        int n = cut_line(&at, end, fields);
        if (n == 1 && fields[0][0] == '\0') continue; /* an empty line */
        if (n != width)
            return TT_FAIL(TT_EDATA, "%s:%lld: %d fields where the header has %d", m->path, (long long)line, n, width);
        for (int k = 0; k < needed; k++)
            if (fields[where[k]][0] == '\0' && strcmp(wanted[k], "text") != 0)
                return TT_FAIL(TT_EDATA, "%s:%lld: the column '%s' is empty", m->path, (long long)line, wanted[k]);
        add_row(m, &room, fields, where, line);
    }
    return m->n ? TT_OK : TT_FAIL(TT_EDATA, "%s: no lines below the header", m->path);
}

TtStatus tt_manifest_open(TtManifest *m, TtArena *arena, const char *path, const char *const *columns, int needed)
{
    size_t size;
    *m = (TtManifest){.path = path};
    while (columns[m->columns]) m->columns++;
    TT_ASSERT(m->columns <= MAX_FIELDS);
    const char *slash = strrchr(path, '/');
    m->folder = tt_arena_strndup(arena, path, slash ? (size_t)(slash + 1 - path) : 0);
    TT_TRY(tt_fs_read(path, MOST_BYTES, TT_EDATA, &m->text, &size));
    if (memchr(m->text, '\0', size))
        return TT_FAIL(TT_EDATA, "%s: at byte %zu: a zero byte; this is no text", path, strlen(m->text));
    return read_rows(m, size, columns, needed);
}

void tt_manifest_close(TtManifest *m)
{
    free(m->text);
    free(m->cells);
    free(m->lines);
    *m = (TtManifest){0};
}

const char *tt_manifest_cell(const TtManifest *m, int64_t row, int column)
{
    return m->cells[row * m->columns + column];
}

const char *tt_manifest_path(const TtManifest *m, int64_t row, int column, char *buf, size_t size)
{
    const char *cell = tt_manifest_cell(m, row, column);
    snprintf(buf, size, "%s%s", cell[0] == '/' ? "" : m->folder, cell);
    return buf;
}

TtStatus tt_manifest_fail(const TtManifest *m, int64_t row, TtStatus code, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return TT_FAIL(code, "%s:%lld: %s", m->path, (long long)m->lines[row], text);
}

/* torch.mean over the channels: sums in order, then one division. */
static TtStatus average_channels(TtAudio *a)
{
    const int64_t n = a->frames;
    const float c = (float)a->channels;
    if (a->channels < 2) return TT_OK;
    for (int64_t i = 0; i < n; i++) {
        float sum = a->data[i];
        for (int k = 1; k < a->channels; k++) sum += a->data[k * n + i];
        a->data[i] = sum / c;
    }
    return tt_audio_resize(a, 1, n, 1, false); /* smaller: keeps what is there */
}

TtStatus tt_sound_read(const char *path, int rate, TtSample *s, TtAudio *out)
{
    TtTransformScratch scratch = {0};
    TtStatus st = tt_sample_read_file(s, path);
    if (st == TT_OK) st = tt_audio_decode(s->bytes, s->bytes_size, path, out);
    if (st == TT_OK && (out->channels == 0 || out->frames == 0)) st = TT_FAIL(TT_EDATA, "%s: " TT_AUDIO_EMPTY, path);
    if (st == TT_OK) st = average_channels(out);
    if (st == TT_OK) st = tt_audio_to_rate(out, rate, &scratch, path);
    tt_transform_scratch_free(&scratch);
    return st;
}

TtStatus tt_manifest_clip(const TtManifest *m, int64_t row, int column, int rate, TtSample *s, TtAudio *out)
{
    char path[PATH_MAX];
    tt_manifest_path(m, row, column, path, sizeof path);
    TtStatus st = tt_sound_read(path, rate, s, out);
    /* The line is as likely to be wrong as the file. */
    if (st == TT_EDATA)
        st = TT_FAIL(st, "%s (listed at %s:%lld)", tt_error_message(), m->path, (long long)m->lines[row]);
    return st;
}
