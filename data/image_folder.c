/* SPDX-License-Identifier: Apache-2.0 */
/* data/image_folder.c - DIR/CLASS/.../FILE, with the rules of torchvision.datasets.ImageFolder.
 *
 * Classes are the sub-folders of DIR in order of their bytes (for UTF-8 that is code point order). Within a class
 * folders are visited as sorted(os.walk(class, followlinks=True)) does - by their full path - and the files of one
 * folder by name. Hidden files and folders count, as there. Differences, all towards being told: a folder that
 * cannot be read is an error, a link that leads back into its own path is left out with a warning.
 *
 * Listing a million files must not take a million system calls: the kind of an entry comes from readdir, names lie
 * packed in one block, and only links and file systems that do not tell the kind cost a stat. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/dataset.h"

typedef struct Options {
    const char *path;
    const TtNode *classes;
    TtStrings extensions;
    bool allow_empty;
} Options;

static const TtOption options[] = {
    {"path", TT_OPT_STRING, offsetof(Options, path), .help = "folder with one sub-folder for each class"},
    {"classes", TT_OPT_NODE, offsetof(Options, classes), .def = "null", .flags = TT_OPT_NULL,
     .help = "class names in index order (or a file with one a line); null: the sorted sub-folders"},
    {"extensions", TT_OPT_STRINGS, offsetof(Options, extensions),
     .def = "[.jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp]", .min_n = 1,
     .help = "endings of the files that count, in any case; default as torchvision"},
    {"allow_empty", TT_OPT_BOOL, offsetof(Options, allow_empty), .def = "false",
     .help = "accept class folders without pictures; they keep their index"},
    {0}};

/* A folder with pictures, or on the way to some. */
typedef struct Folder {
    const char *path;
    int label;
    int parent; /* in the walk of its class; -1 for the class folder */
    dev_t dev;
    ino_t ino;
    size_t first, n; /* its files in Listing.items */
} Folder;

typedef struct Item {
    size_t name; /* offset in Listing.names */
    int folder;
} Item;

/* What listing gathers; all of it grows by doubling. */
typedef struct Listing {
    char *names;
    size_t names_used, names_room;
    Item *items;
    size_t n_items, items_room;
    Folder *folders;
    int n_folders, folders_room;
} Listing;

static const char *item_name(const Listing *l, size_t i)
{
    return l->names + l->items[i].name;
}

static void add_item(Listing *l, const char *name, int folder)
{
    size_t len = strlen(name) + 1;
    if (l->names_room - l->names_used < len) {
        l->names_room = TT_MAX(2 * l->names_room, (size_t)1 << 16);
        l->names = tt_realloc(l->names, l->names_room);
    }
    if (l->n_items == l->items_room) {
        l->items_room = TT_MAX(2 * l->items_room, (size_t)1024);
        l->items = tt_realloc(l->items, l->items_room * sizeof *l->items);
    }
    memcpy(l->names + l->names_used, name, len);
    l->items[l->n_items++] = (Item){.name = l->names_used, .folder = folder};
    l->names_used += len;
}

static int add_folder(Listing *l, const char *path, int label, int parent)
{
    if (l->n_folders == l->folders_room) {
        l->folders_room = TT_MAX(2 * l->folders_room, 64);
        l->folders = tt_realloc(l->folders, (size_t)l->folders_room * sizeof *l->folders);
    }
    l->folders[l->n_folders] = (Folder){.path = path, .label = label, .parent = parent};
    return l->n_folders++;
}

static bool is_dot(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Whether the entry is a folder; *link tells whether it was reached through a link. A broken link is a file, as in
 * os.walk. */
static bool is_folder(int dir_fd, const struct dirent *e, bool *link)
{
    struct stat st;
    *link = e->d_type == DT_LNK;
    if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN) return e->d_type == DT_DIR;
    if (e->d_type == DT_UNKNOWN)
        *link = fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    return fstatat(dir_fd, e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static bool has_extension(const char *name, const TtStrings *extensions)
{
    size_t len = strlen(name);
    for (int i = 0; i < extensions->n; i++) {
        size_t n = strlen(extensions->v[i]);
        if (len >= n && strcasecmp(name + len - n, extensions->v[i]) == 0) return true;
    }
    return false;
}

/* Whether folder F is one of its own ancestors, seen again through a link. */
static bool is_loop(const Listing *l, int f)
{
    for (int a = l->folders[f].parent; a >= 0; a = l->folders[a].parent)
        if (l->folders[a].dev == l->folders[f].dev && l->folders[a].ino == l->folders[f].ino) return true;
    return false;
}

static int compare_names(const void *a, const void *b, void *user)
{
    const Listing *l = user;
    return strcmp(l->names + ((const Item *)a)->name, l->names + ((const Item *)b)->name);
}

/* List folder F: its files go to the listing, sorted; its sub-folders are queued behind it. */
static TtStatus list_folder(TtDataset *d, Listing *l, int f)
{
    const Options *o = d->options;
    const char *path = l->folders[f].path;
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 && fstat(fd, &st) == 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        TtStatus status = TT_FAIL(TT_EDATA, "%s: cannot list the folder: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return status;
    }
    l->folders[f].dev = st.st_dev, l->folders[f].ino = st.st_ino;
    l->folders[f].first = l->n_items;
    if (is_loop(l, f)) {
        tt_warn("%s: the link leads back to a folder above it; left out", path);
        closedir(dir);
        return TT_OK;
    }
    int error = 0;
    for (;;) {
        bool link;
        errno = 0;
        const struct dirent *e = readdir(dir);
        if (!e) {
            error = errno;
            break;
        }
        if (is_dot(e->d_name)) continue;
        if (is_folder(fd, e, &link))
            add_folder(l, tt_arena_printf(&d->arena, "%s/%s", path, e->d_name), l->folders[f].label, f);
        else if (has_extension(e->d_name, &o->extensions))
            add_item(l, e->d_name, f);
    }
    closedir(dir);
    if (error) return TT_FAIL(TT_EDATA, "%s: cannot list the folder: %s", path, strerror(error));
    Folder *folder = &l->folders[f];
    folder->n = l->n_items - folder->first;
    if (folder->n > 0) qsort_r(l->items + folder->first, folder->n, sizeof *l->items, compare_names, l);
    return TT_OK;
}

static int compare_folders(const void *a, const void *b)
{
    return strcmp(((const Folder *)a)->path, ((const Folder *)b)->path);
}

/* Walk one class and append its files to ALL in torchvision's order. */
static TtStatus list_class(TtDataset *d, Listing *all, const char *path, int label)
{
    Listing walk = {0};
    TtStatus st = TT_OK;
    add_folder(&walk, path, label, -1);
    for (int f = 0; f < walk.n_folders && st == TT_OK; f++) st = list_folder(d, &walk, f);
    if (st == TT_OK) {
        qsort(walk.folders, (size_t)walk.n_folders, sizeof *walk.folders, compare_folders);
        for (int f = 0; f < walk.n_folders; f++) {
            if (walk.folders[f].n == 0) continue;
            int to = add_folder(all, walk.folders[f].path, label, -1);
            for (size_t i = 0; i < walk.folders[f].n; i++)
                add_item(all, item_name(&walk, walk.folders[f].first + i), to);
        }
    }
    free(walk.names);
    free(walk.items);
    free(walk.folders);
    return st;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The sub-folders of PATH, sorted. */
static TtStatus find_classes(TtDataset *d, const char *path, TtStrings *out)
{
    DIR *dir = opendir(path);
    if (!dir) return TT_FAIL(TT_EDATA, "%s: cannot open the folder: %s", path, strerror(errno));
    const char **names = NULL;
    int n = 0, room = 0;
    bool link;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (is_dot(e->d_name) || !is_folder(dirfd(dir), e, &link)) continue;
        if (n == room) names = tt_realloc(names, (size_t)(room = TT_MAX(64, 2 * room)) * sizeof *names);
        names[n++] = tt_arena_strdup(&d->arena, e->d_name);
        if (e->d_name[0] == '.') tt_warn("%s/%s: a hidden folder counts as a class", path, e->d_name);
    }
    closedir(dir);
    if (n > 0) qsort(names, (size_t)n, sizeof *names, compare_strings);
    *out = (TtStrings){.n = n, .v = tt_arena_copy(&d->arena, names, (size_t)n * sizeof *names)};
    free(names);
    return TT_OK;
}

/* With a given class list: folders that are not in it stay out of the set, which is said. */
static void warn_unlisted(const TtDataset *d, const char *path, const TtStrings *found, const char **listed_sorted)
{
    int n = 0;
    const char *first = NULL;
    for (int i = 0; i < found->n; i++) {
        if (bsearch(&found->v[i], listed_sorted, (size_t)d->classes, sizeof *listed_sorted, compare_strings)) continue;
        if (n++ == 0) first = found->v[i];
    }
    if (n > 0) tt_warn("%s: %d folders are not in `classes` and are left out, '%s' first", path, n, first);
}

/* Class folders are visited in order of name, whatever their index. */
static TtStatus list_classes(TtDataset *d, Listing *all, const TtStrings *found)
{
    const Options *o = d->options;
    size_t n = (size_t)d->classes;
    const char **sorted = tt_arena_copy(&d->arena, d->class_names, n * sizeof *sorted);
    int *index = TT_NEWN(&d->arena, int, n); /* of the sorted names */
    qsort(sorted, n, sizeof *sorted, compare_strings);
    for (int i = 0; i < d->classes; i++) {
        const char **at = bsearch(&d->class_names[i], sorted, n, sizeof *sorted, compare_strings);
        index[at - sorted] = i;
    }
    warn_unlisted(d, o->path, found, sorted);

    int empty = 0;
    const char *first_empty = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t before = all->n_items;
        if (bsearch(&sorted[i], found->v, (size_t)found->n, sizeof *found->v, compare_strings))
            TT_TRY(list_class(d, all, tt_arena_printf(&d->arena, "%s/%s", o->path, sorted[i]), index[i]));
        if (all->n_items > before) continue;
        if (empty++ == 0) first_empty = sorted[i];
    }
    if (empty == 0 || o->allow_empty) return TT_OK;
    return TT_FAIL(TT_EDATA,
                   "%s: no pictures for class '%s'%s; remove the folder, or set allow_empty: true to keep its index",
                   o->path, first_empty, empty > 1 ? " (and others)" : "");
}

static TtStatus folder_open(TtDataset *d)
{
    const Options *o = d->options;
    TtStrings found = {0};
    Listing *l = TT_NEW(&d->arena, Listing);
    d->impl = l;
    TT_TRY(find_classes(d, o->path, &found));
    TT_TRY(tt_dataset_classes_option(d, o->classes));
    if (!d->class_names) {
        if (found.n == 0)
            return TT_FAIL(TT_EDATA, "%s: no class folders; expected %s/CLASS/PICTURE.jpg", o->path, o->path);
        d->classes = found.n;
        d->class_names = found.v;
    }
    TT_TRY(list_classes(d, l, &found));
    if (l->n_items == 0) return TT_FAIL(TT_EDATA, "%s: no pictures in any class folder", o->path);
    d->count = (int64_t)l->n_items;
    return TT_OK;
}

static void folder_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    const Listing *l = d->impl;
    snprintf(buf, size, "%s/%s", l->folders[l->items[index].folder].path, item_name(l, (size_t)index));
}

static int64_t folder_label(const TtDataset *d, int64_t index)
{
    const Listing *l = d->impl;
    return l->folders[l->items[index].folder].label;
}

static TtStatus folder_read(const TtDataset *d, int64_t index, TtSample *s)
{
    char path[PATH_MAX];
    folder_describe(d, index, path, sizeof path);
    snprintf(s->name, sizeof s->name, "%.*s", (int)sizeof s->name - 1, path);
    s->label = folder_label(d, index);
    return tt_dataset_read_image(d, path, s);
}

static void folder_close(TtDataset *d)
{
    Listing *l = d->impl;
    if (!l) return;
    free(l->names);
    free(l->items);
    free(l->folders);
}

const TtDatasetDef tt_dataset_image_folder = {
    .name = "image_folder",
    .help = "DIR/CLASS/PICTURE, as torchvision.datasets.ImageFolder",
    .options = options,
    .options_size = sizeof(Options),
    .open = folder_open,
    .read = folder_read,
    .label = folder_label,
    .describe = folder_describe,
    .close = folder_close,
};
