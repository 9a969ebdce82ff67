/* SPDX-License-Identifier: Apache-2.0 */
/* data/file_list.c - pictures named on a command line. */
#include "data/file_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 64 };

typedef struct Files {
    int64_t n, capacity;
    const char **paths;
} Files;

static void add(TtDataset *d, Files *f, const char *path)
{
    if (f->n == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 64;
        f->paths = tt_realloc(f->paths, sizeof *f->paths * (size_t)f->capacity);
    }
    f->paths[f->n++] = tt_arena_strdup(&d->arena, path);
}

static bool is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 || strcasecmp(dot, ".png") == 0);
}

static int by_code_point(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* UTF-8 sorts by code point as bytes */
}

static TtStatus add_folder(TtDataset *d, Files *f, const char *path, int depth)
{
    struct dirent **names;
    if (depth > MAX_DEPTH) return TT_FAIL(TT_EDATA, "%s: folders are nested too deep (a link to itself?)", path);
    int n = scandir(path, &names, NULL, by_code_point);
    if (n < 0) return TT_FAIL(TT_EDATA, "%s: cannot be read: %s", path, strerror(errno));
    TtStatus s = TT_OK;
    for (int i = 0; i < n; i++) {
        const char *full = tt_arena_printf(&d->arena, "%s/%s", path, names[i]->d_name);
        struct stat st;
        if (s == TT_OK && names[i]->d_name[0] != '.' && stat(full, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                s = add_folder(d, f, full, depth + 1);
            else if (is_picture(full))
                add(d, f, full);
        }
        free(names[i]);
    }
    free(names);
    return s;
}

static TtStatus file_list_read(const TtDataset *d, int64_t index, TtSample *out)
{
    const char *path = ((const Files *)d->impl)->paths[index];
    snprintf(out->name, sizeof out->name, "%s", path);
    out->label = -1;
    return tt_dataset_read_image(d, path, out);
}

static int64_t file_list_label(const TtDataset *d, int64_t index)
{
    return -1;
}

static void file_list_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    snprintf(buf, size, "%s", ((const Files *)d->impl)->paths[index]);
}

static void file_list_close(TtDataset *d)
{
    if (d->impl) free(((Files *)d->impl)->paths);
}

/* Not in datasets.def: no config can name it. */
static const TtDatasetDef file_list = {
    .name = "file_list",
    .read = file_list_read,
    .label = file_list_label,
    .describe = file_list_describe,
    .close = file_list_close,
};

TtStatus tt_file_list_open(int n, char *const *files, const TtImageOptions *image, TtDataset **out)
{
    TtDataset *d = tt_realloc(NULL, sizeof *d);
    *d = (TtDataset){.def = &file_list, .image = *image};
    Files *f = TT_NEW(&d->arena, Files);
    d->impl = f;
    TtStatus s = TT_OK;
    for (int i = 0; i < n && s == TT_OK; i++) {
        struct stat st;
        int64_t before = f->n;
        if (stat(files[i], &st) != 0)
            s = TT_FAIL(TT_EDATA, "%s: %s", files[i], strerror(errno));
        else if (!S_ISDIR(st.st_mode))
            add(d, f, files[i]);
        else if ((s = add_folder(d, f, files[i], 0)) == TT_OK && f->n == before)
            s = TT_FAIL(TT_EDATA, "%s: the folder holds no pictures (.jpg, .jpeg, .png)", files[i]);
    }
    d->count = f->n;
    if (s != TT_OK) tt_dataset_close(d), d = NULL;
    *out = d;
    return s;
}
