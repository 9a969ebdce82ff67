/* SPDX-License-Identifier: Apache-2.0 */
/* data/image_manifest.c - a CSV or TSV file that lists pictures and their labels.
 *
 * The header row names the columns; others than the two wanted are ignored. Labels are class names (their index is
 * their place in `classes`, or in the sorted names met) or integers. The text stays in memory as it was read and the
 * paths point into it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/csv.h"
#include "data/dataset.h"
#include "data/strmap.h"

enum { LABELS_AUTO, LABELS_NAMES, LABELS_INDICES };

typedef struct Options {
    const char *path, *root, *path_column, *label_column, *delimiter;
    int labels;
    const TtNode *classes;
} Options;

static const TtOption options[] = {
    {"path", TT_OPT_STRING, offsetof(Options, path), .help = "the .csv or .tsv file; its first row names the columns"},
    {"root", TT_OPT_STRING, offsetof(Options, root), .def = "null", .flags = TT_OPT_NULL,
     .help = "folder that the pictures' paths are relative to; null: the folder of the file"},
    {"path_column", TT_OPT_STRING, offsetof(Options, path_column), .def = "path",
     .help = "column with the pictures' paths"},
    {"label_column", TT_OPT_STRING, offsetof(Options, label_column), .def = "label", .flags = TT_OPT_NULL,
     .help = "column with the labels; null: no labels"},
    {"delimiter", TT_OPT_STRING, offsetof(Options, delimiter), .def = "null", .flags = TT_OPT_NULL,
     .help = "one character; null: a tab in files that end in .tsv or .tab, else a comma"},
    {"labels", TT_OPT_ENUM, offsetof(Options, labels), .def = "auto", .choices = "auto|names|indices",
     .help = "what labels are; auto: indices when all are integers and no class has such a name, else names"},
    {"classes", TT_OPT_NODE, offsetof(Options, classes), .def = "null", .flags = TT_OPT_NULL,
     .help = "class names in index order (or a file with one a line); null: the sorted names met"},
    {0}};

typedef struct Row {
    const char *path; /* in the text */
    const char *label_text;
    int64_t label, line;
} Row;

typedef struct Manifest {
    TtCsv csv; /* owns the text */
    Row *rows;
    size_t n, room;
    char *root; /* ends in '/', or is empty */
} Manifest;

static TtStatus pick_delimiter(const TtDataset *d, char *out)
{
    const Options *o = d->options;
    const char *dot = strrchr(o->path, '.');
    *out = dot && (strcasecmp(dot, ".tsv") == 0 || strcasecmp(dot, ".tab") == 0) ? '\t' : ',';
    if (!o->delimiter) return TT_OK;
    const char *t = strcmp(o->delimiter, "\\t") == 0 ? "\t" : o->delimiter;
    if (strlen(t) != 1 || strchr("\"\r\n", t[0]))
        return tt_node_fail(tt_node_get(d->node, "delimiter"), "delimiter: one character, and no quote or line end");
    *out = t[0];
    return TT_OK;
}

/* The number of column NAME in the header row that C holds. */
static TtStatus find_column(const TtCsv *c, const char *key, const char *name, int *out)
{
    *out = -1;
    for (int i = 0; i < c->n; i++) {
        if (strcmp(c->fields[i], name) != 0) continue;
        if (*out >= 0)
            return TT_FAIL(TT_EDATA, "%s:%lld: two columns are named '%s'", c->name, (long long)c->row, name);
        *out = i;
    }
    if (*out >= 0) return TT_OK;
    char list[512];
    size_t n = 0;
    list[0] = '\0';
    for (int i = 0; i < c->n && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", c->fields[i]);
    return TT_FAIL(TT_EDATA, "%s:%lld: no column '%s'; the header has: %s (set %s)", c->name, (long long)c->row, name,
                   list, key);
}

static TtStatus read_rows(TtDataset *d, Manifest *m)
{
    const Options *o = d->options;
    TtCsv *c = &m->csv;
    bool more;
    int path_at, label_at = -1, width;
    TT_TRY(tt_csv_next(c, &more));
    if (!more) return TT_FAIL(TT_EDATA, "%s: the file is empty; its first row must name the columns", c->name);
    width = c->n;
    TT_TRY(find_column(c, "path_column", o->path_column, &path_at));
    if (o->label_column) TT_TRY(find_column(c, "label_column", o->label_column, &label_at));
    for (;;) {
        TT_TRY(tt_csv_next(c, &more));
        if (!more) break;
        if (c->n != width)
            return TT_FAIL(TT_EDATA, "%s:%lld: %d fields where the header has %d", c->name, (long long)c->row, c->n,
                           width);
        const char *path = c->fields[path_at], *label = label_at >= 0 ? c->fields[label_at] : NULL;
        if (path[0] == '\0') return TT_FAIL(TT_EDATA, "%s:%lld: the path is empty", c->name, (long long)c->row);
        if (label && label[0] == '\0')
            return TT_FAIL(TT_EDATA, "%s:%lld: the label is empty", c->name, (long long)c->row);
        if (m->n == m->room) m->rows = tt_realloc(m->rows, (m->room = TT_MAX(1024, 2 * m->room)) * sizeof *m->rows);
        m->rows[m->n++] = (Row){.path = path, .label_text = label, .label = -1, .line = c->row};
    }
    if (m->n == 0) return TT_FAIL(TT_EDATA, "%s: no rows below the header", c->name);
    return TT_OK;
}

/* A plain non-negative integer that fits an index; signs and blanks are none. */
static bool parse_index(const char *s, int64_t *out)
{
    if (!*s || s[strspn(s, "0123456789")] != '\0' || strlen(s) > 9) return false;
    *out = strtol(s, NULL, 10);
    return true;
}

static bool labels_are_names(const TtDataset *d, const Manifest *m, const TtStrMap *classes)
{
    const Options *o = d->options;
    int64_t v;
    if (o->labels != LABELS_AUTO) return o->labels == LABELS_NAMES;
    for (size_t i = 0; i < m->n; i++) {
        if (!parse_index(m->rows[i].label_text, &v)) return true;
        if (tt_strmap_get(classes, m->rows[i].label_text) >= 0) return true;
    }
    return false;
}

static TtStatus index_labels(TtDataset *d, Manifest *m)
{
    int64_t largest = -1;
    for (size_t i = 0; i < m->n; i++) {
        Row *r = &m->rows[i];
        if (!parse_index(r->label_text, &r->label))
            return TT_FAIL(TT_EDATA, "%s:%lld: label '%s' is not a class index", m->csv.name, (long long)r->line,
                           r->label_text);
        if (d->class_names && r->label >= d->classes)
            return TT_FAIL(TT_EDATA, "%s:%lld: label %lld, but `classes` lists %d names", m->csv.name,
                           (long long)r->line, (long long)r->label, d->classes);
        largest = TT_MAX(largest, r->label);
    }
    if (!d->class_names) d->classes = (int)largest + 1;
    return TT_OK;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Without `classes`: the names that occur, sorted. CLASSES maps each to its index afterwards. */
static void gather_classes(TtDataset *d, const Manifest *m, TtStrMap *classes)
{
    for (size_t i = 0; i < m->n; i++) tt_strmap_put(classes, m->rows[i].label_text, 0);
    const char **names = TT_NEWN(&d->arena, const char *, classes->count);
    size_t n = 0;
    for (size_t i = 0; i < classes->capacity; i++)
        if (classes->keys[i]) names[n++] = classes->keys[i];
    qsort(names, n, sizeof *names, compare_strings);
    for (size_t i = 0; i < n; i++) *tt_strmap_put(classes, names[i], 0) = (int64_t)i;
    d->class_names = names; /* the texts live as long as the manifest */
    d->classes = (int)n;
}

static TtStatus name_labels(TtDataset *d, Manifest *m, TtStrMap *classes)
{
    if (!d->class_names) gather_classes(d, m, classes);
    for (size_t i = 0; i < m->n; i++) {
        Row *r = &m->rows[i];
        r->label = tt_strmap_get(classes, r->label_text);
        if (r->label >= 0) continue;
        const char *near = tt_nearest(r->label_text, d->class_names, d->classes);
        return TT_FAIL(TT_EDATA, "%s:%lld: label '%s' is not in `classes`%s%s%s", m->csv.name, (long long)r->line,
                       r->label_text, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return TT_OK;
}

static TtStatus resolve_labels(TtDataset *d, Manifest *m)
{
    TtStrMap classes = {0};
    for (int i = 0; d->class_names && i < d->classes; i++) tt_strmap_put(&classes, d->class_names[i], i);
    TtStatus st = labels_are_names(d, m, &classes) ? name_labels(d, m, &classes) : index_labels(d, m);
    tt_strmap_free(&classes);
    return st;
}

static TtStatus manifest_open(TtDataset *d)
{
    const Options *o = d->options;
    Manifest *m = TT_NEW(&d->arena, Manifest);
    d->impl = m;
    char delimiter;
    TT_TRY(pick_delimiter(d, &delimiter));
    TT_TRY(tt_dataset_classes_option(d, o->classes));
    const char *slash = strrchr(o->path, '/');
    if (o->root)
        m->root = tt_arena_printf(&d->arena, "%s/", o->root);
    else
        m->root = tt_arena_strndup(&d->arena, o->path, slash ? (size_t)(slash + 1 - o->path) : 0);
    TT_TRY(tt_csv_open(&m->csv, o->path, delimiter));
    TT_TRY(read_rows(d, m));
    if (o->label_column) TT_TRY(resolve_labels(d, m));
    d->count = (int64_t)m->n;
    return TT_OK;
}

static void manifest_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    const Manifest *m = d->impl;
    const char *path = m->rows[index].path;
    snprintf(buf, size, "%s%s", path[0] == '/' ? "" : m->root, path);
}

static int64_t manifest_label(const TtDataset *d, int64_t index)
{
    return ((const Manifest *)d->impl)->rows[index].label;
}

static TtStatus manifest_read(const TtDataset *d, int64_t index, TtSample *s)
{
    const Manifest *m = d->impl;
    char path[PATH_MAX];
    manifest_describe(d, index, path, sizeof path);
    snprintf(s->name, sizeof s->name, "%.*s", (int)sizeof s->name - 1, path);
    s->label = m->rows[index].label;
    TtStatus st = tt_dataset_read_image(d, path, s);
    /* The row is as likely to be wrong as the file. */
    if (st == TT_EDATA)
        st = TT_FAIL(st, "%s (listed at %s:%lld)", tt_error_message(), m->csv.name, (long long)m->rows[index].line);
    return st;
}

static void manifest_close(TtDataset *d)
{
    Manifest *m = d->impl;
    if (!m) return;
    tt_csv_close(&m->csv);
    free(m->rows);
}

const TtDatasetDef tt_dataset_image_manifest = {
    .name = "image_manifest",
    .help = "pictures and labels listed in a CSV or TSV file",
    .options = options,
    .options_size = sizeof(Options),
    .open = manifest_open,
    .read = manifest_read,
    .label = manifest_label,
    .describe = manifest_describe,
    .close = manifest_close,
};
