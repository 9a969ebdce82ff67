/* SPDX-License-Identifier: Apache-2.0 */
/* data/dataset.c - the registry of dataset types and what they share. */
#include "data/dataset.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensor/file.h"
#include "tensor/fs.h"
#include "tensor/variant.h"

/* An encoded picture of max_pixels 16-bit samples stays below this; a larger file is no picture. */
#define LARGEST_FILE ((uint64_t)2 << 30)
enum { LARGEST_CLASS_FILE = 64 << 20 };

#define DATASET(name) extern const TtDatasetDef tt_dataset_##name;
#include "data/datasets.def"
#undef DATASET

const TtDatasetDef *const tt_datasets[] = {
#define DATASET(name) &tt_dataset_##name,
#include "data/datasets.def"
#undef DATASET
    NULL};

void tt_sample_free(TtSample *s)
{
    tt_image_free(&s->image);
    tt_audio_free(&s->audio);
    tt_audio_free(&s->reference);
    tt_free(s->tokens);
    tt_free(s->bytes);
    *s = (TtSample){0};
}

TtStatus tt_sample_reserve(TtSample *s, size_t size)
{
    if (size <= s->bytes_capacity) return TT_OK;
    tt_free(s->bytes);
    s->bytes = NULL;
    s->bytes_capacity = 0;
    size_t room = size + size / 4; /* so that slowly growing files do not reallocate each time */
    TT_TRY(tt_alloc((void **)&s->bytes, room));
    s->bytes_capacity = room;
    return TT_OK;
}

TtStatus tt_sample_reserve_tokens(TtSample *s, int64_t n)
{
    if ((size_t)n <= s->tokens_capacity) return TT_OK;
    tt_free(s->tokens);
    s->tokens = NULL;
    s->tokens_capacity = 0;
    TT_TRY(tt_alloc((void **)&s->tokens, (size_t)n * sizeof *s->tokens));
    s->tokens_capacity = (size_t)n;
    return TT_OK;
}

TtStatus tt_sample_read_file(TtSample *s, const char *path)
{
    int fd;
    uint64_t size;
    TT_TRY(tt_file_open(path, &fd, &size));
    TtStatus st = TT_OK;
    if (size == 0) st = TT_FAIL(TT_EDATA, "%s: at byte 0: the file is empty", path);
    if (size > LARGEST_FILE)
        st = TT_FAIL(TT_EDATA, "%s: %llu bytes are too many for one sample", path, (unsigned long long)size);
    if (st == TT_OK) st = tt_sample_reserve(s, (size_t)size);
    if (st == TT_OK) st = tt_file_read_at(fd, path, s->bytes, (size_t)size, 0);
    s->bytes_size = st == TT_OK ? (size_t)size : 0;
    close(fd);
    return st;
}

TtStatus tt_dataset_read_image(const TtDataset *d, const char *path, TtSample *s)
{
    TT_TRY(tt_sample_read_file(s, path));
    return tt_image_decode(s->bytes, s->bytes_size, s->name, &d->image, &s->image);
}

TtMedia tt_dataset_media(const TtDataset *d)
{
    return d->def->media ? d->def->media : TT_MEDIA_IMAGE;
}

TtStatus tt_dataset_load(const TtDataset *d, const TtTransformChain *chain, uint64_t seed, uint64_t epoch,
                         uint64_t position, int64_t index, TtSample *s, TtTransformScratch *scratch, bool *read_failed)
{
    const bool sound = tt_dataset_media(d) == TT_MEDIA_SOUND;
    s->index = index;
    TtStatus st = d->def->read(d, index, s);
    if (read_failed) *read_failed = st != TT_OK;
    TT_TRY(st);
    TT_TRY(tt_transform_chain_apply(chain, seed, epoch, position, s->name, sound ? NULL : &s->image,
                                    sound ? &s->audio : NULL, scratch));
    if (!sound) return TT_OK;
    memset(s->parts, 0, sizeof s->parts);
    TtRng rng = tt_rng(seed, TT_RNG_CROP, epoch, position, 0);
    return d->def->assemble(d, s, &rng);
}

/* `type` of MAP, or an error that names the nearest known one. */
TtStatus tt_dataset_type(const TtNode *map, const TtNode *key, const TtDatasetDef **out)
{
    const char *names[64];
    int n = 0, index;
    if (!map) return tt_node_fail(key, "a data set is a map with a `type`, such as {type: image_folder, path: DIR}");
    for (; tt_datasets[n]; n++) names[n] = tt_datasets[n]->name;
    TT_ASSERT(n <= TT_COUNT(names));
    TT_TRY(tt_variant_select(map, key, "data set type", "type", names, n, &index));
    *out = tt_datasets[index];
    return TT_OK;
}

TtStatus tt_dataset_open(const TtNode *map, const TtImageOptions *image, TtDataset **out)
{
    *out = NULL;
    const TtDatasetDef *def;
    TT_TRY(tt_dataset_type(map, NULL, &def));
    TtDataset *d = tt_realloc(NULL, sizeof *d);
    *d = (TtDataset){.def = def, .node = map};
    if (image) d->image = *image;
    d->options = tt_arena_alloc(&d->arena, def->options_size);
    TtStatus st = tt_options_parse(def->options, map, "type", NULL, &d->arena, d->options);
    if (st == TT_OK) st = def->open(d);
    if (st == TT_OK && d->count == 0) st = TT_FAIL(TT_EDATA, "the %s dataset holds no samples", def->name);
    if (st != TT_OK) {
        tt_dataset_close(d);
        return st;
    }
    *out = d;
    return TT_OK;
}

void tt_dataset_close(TtDataset *d)
{
    if (!d) return;
    d->def->close(d);
    tt_arena_free(&d->arena);
    free(d);
}

TtStatus tt_class_names_same(const char *const *a, int na, const char *what_a, const char *const *b, int nb,
                             const char *what_b)
{
    if (!a || !b) return TT_OK;
    for (int i = 0; i < TT_MIN(na, nb); i++)
        if (strcmp(a[i], b[i]) != 0)
            return TT_FAIL(TT_EDATA,
                           "class %d is '%s' in %s but '%s' in %s: labels would not mean the same; give both the same "
                           "class folders or the same `classes` list",
                           i, a[i], what_a, b[i], what_b);
    if (na == nb) return TT_OK;
    return TT_FAIL(TT_EDATA, "%s has %d classes and %s has %d: '%s' is only in the %s", what_a, na, what_b, nb,
                   na > nb ? a[nb] : b[na], na > nb ? "first" : "second");
}

/* "image_folder (data/train)" for messages. */
static void dataset_title(const TtDataset *d, char *buf, size_t size)
{
    const TtNode *path = d->node ? tt_node_get(d->node, "path") : NULL;
    snprintf(buf, size, "%s", path && path->kind == TT_NODE_SCALAR ? path->text : d->def->name);
}

TtStatus tt_dataset_same_classes(const TtDataset *a, const TtDataset *b)
{
    char title_a[256], title_b[256];
    dataset_title(a, title_a, sizeof title_a);
    dataset_title(b, title_b, sizeof title_b);
    return tt_class_names_same(a->class_names, a->classes, title_a, b->class_names, b->classes, title_b);
}

/* One name a line; empty lines at the end do not count. */
static void split_lines(TtArena *arena, char *text, TtStrings *out)
{
    size_t n = 1;
    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3;
    for (const char *p = text; *p; p++) n += *p == '\n';
    out->v = TT_NEWN(arena, const char *, n);
    for (char *line = text; line && *line;) {
        char *end = strchr(line, '\n');
        if (end) *end = '\0';
        size_t len = strlen(line);
        if (len > 0 && line[len - 1] == '\r') len--;
        out->v[out->n++] = tt_arena_strndup(arena, line, len);
        line = end ? end + 1 : NULL;
    }
    while (out->n > 0 && out->v[out->n - 1][0] == '\0') out->n--;
}

static TtStatus json_names(TtArena *arena, const char *path, const char *text, size_t size, TtStrings *out)
{
    json_error_t err;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &err);
    if (!root) return TT_FAIL(TT_EDATA, "%s:%d: not JSON: %s", path, err.line, err.text);
    TtStatus st = TT_OK;
    if (!json_is_array(root)) st = TT_FAIL(TT_EDATA, "%s: a class list is an array of strings", path);
    size_t n = json_array_size(root);
    out->v = TT_NEWN(arena, const char *, n);
    for (size_t i = 0; i < n && st == TT_OK; i++) {
        const char *name = json_string_value(json_array_get(root, i));
        if (!name) st = TT_FAIL(TT_EDATA, "%s: element %zu of the class list is not a string", path, i);
        if (name) out->v[out->n++] = tt_arena_strdup(arena, name);
    }
    json_decref(root);
    return st;
}

static TtStatus names_from_file(TtArena *arena, const char *path, TtStrings *out)
{
    char *text;
    size_t size;
    TT_TRY(tt_fs_read(path, LARGEST_CLASS_FILE, TT_EDATA, &text, &size));
    const char *dot = strrchr(path, '.');
    TtStatus st = TT_OK;
    if (dot && strcmp(dot, ".json") == 0)
        st = json_names(arena, path, text, size, out);
    else if (memchr(text, '\0', size))
        st = TT_FAIL(TT_EDATA, "%s: a class list is a text file with one name a line", path);
    else
        split_lines(arena, text, out);
    free(text);
    return st;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Empty and repeated names would make two labels of one class. */
static TtStatus check_names(const TtNode *node, const TtStrings *names)
{
    if (names->n == 0) return tt_node_fail(node, "classes: the list is empty");
    const char **sorted = tt_realloc(NULL, (size_t)names->n * sizeof *sorted);
    memcpy(sorted, names->v, (size_t)names->n * sizeof *sorted);
    qsort(sorted, (size_t)names->n, sizeof *sorted, compare_names);
    TtStatus st = TT_OK;
    if (sorted[0][0] == '\0') st = tt_node_fail(node, "classes: a class has an empty name");
    for (int i = 1; i < names->n && st == TT_OK; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0) st = tt_node_fail(node, "classes: '%s' is listed twice", sorted[i]);
    free(sorted);
    return st;
}

TtStatus tt_dataset_classes_option(TtDataset *d, const TtNode *node)
{
    TtStrings names = {0};
    const char *path;
    if (tt_node_is_null(node)) return TT_OK;
    if (node->kind == TT_NODE_MAP)
        return tt_node_fail(node, "classes: a list of names, or a file with one name a line");
    if (node->kind == TT_NODE_SCALAR) {
        TT_TRY(tt_node_string(node, "classes", &path));
        TT_TRY(names_from_file(&d->arena, path, &names));
    } else {
        names.v = TT_NEWN(&d->arena, const char *, node->count);
        for (; names.n < node->count; names.n++) {
            const TtNode *item = node->items[names.n];
            if (item->kind != TT_NODE_SCALAR) return tt_node_fail(item, "classes: a class name is a string");
            /* Names that look like numbers (0, 1, ...) need no quotes here: nothing else can stand in this list. */
            names.v[names.n] = tt_arena_strdup(&d->arena, item->text);
        }
    }
    TT_TRY(check_names(node, &names));
    d->classes = names.n;
    d->class_names = names.v;
    return TT_OK;
}

const char *tt_shell_quote(const char *text, char *buf, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=@%+";
    if (text[0] && text[strspn(text, plain)] == '\0') {
        snprintf(buf, size, "%s", text);
        return buf;
    }
    size_t n = 0;
    buf[n++] = '\'';
    for (; *text && n + 6 < size; text++) {
        if (*text == '\'') {
            memcpy(buf + n, "'\\''", 4);
            n += 4;
        } else {
            buf[n++] = *text;
        }
    }
    buf[n++] = '\'';
    buf[n] = '\0';
    return buf;
}

void tt_dataset_replay(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    char name[sizeof((TtSample *)0)->name], word[2 * sizeof name];
    if (d->def->replay) {
        d->def->replay(d, index, buf, size);
        return;
    }
    d->def->describe(d, index, name, sizeof name);
    snprintf(buf, size, "ttrain decode %s", tt_shell_quote(name, word, sizeof word));
}
