/* SPDX-License-Identifier: Apache-2.0 */
/* data/mnist.c - pictures and labels in IDX files: MNIST, Fashion-MNIST, KMNIST, EMNIST, QMNIST.
 *
 * All pictures lie in memory (47 MB for Fashion-MNIST), so that reading one is a copy. Grey becomes three equal
 * channels. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/dataset.h"
#include "data/idx.h"

typedef struct Options {
    const char *path, *images, *labels;
    int split;
    const TtNode *classes;
} Options;

static const TtOption options[] = {
    {"path", TT_OPT_STRING, offsetof(Options, path), .def = "null", .flags = TT_OPT_NULL,
     .help = "folder with the four files named as MNIST's (train-images-idx3-ubyte, ..., .gz or plain)"},
    {"split", TT_OPT_ENUM, offsetof(Options, split), .def = "train", .choices = "train|test",
     .help = "which pair of files in `path`: train-* or t10k-*"},
    {"images", TT_OPT_STRING, offsetof(Options, images), .def = "null", .flags = TT_OPT_NULL,
     .help = "the file with the pictures, instead of `path`: (N,H,W), or (N,H,W,C) with 1 or 3 channels"},
    {"labels", TT_OPT_STRING, offsetof(Options, labels), .def = "null", .flags = TT_OPT_NULL,
     .help = "the file with the labels, with `images`"},
    {"classes", TT_OPT_NODE, offsetof(Options, classes), .def = "null", .flags = TT_OPT_NULL,
     .help = "class names in index order (or a file with one a line); null: numbers only"},
    {0}};

typedef struct Mnist {
    TtIdx images, labels;
    const char *name; /* of the file with the pictures */
    int h, w, c;
} Mnist;

/* PREFIX-images-idx3-ubyte and the like in the folder, under one of the names in use. */
static TtStatus find_file(TtDataset *d, const char *prefix, const char *what, const char *rank, const char **out)
{
    const Options *o = d->options;
    static const char *const forms[] = {"%s/%s-%s-idx%s-ubyte.gz", "%s/%s-%s-idx%s-ubyte", "%s/%s-%s.idx%s-ubyte"};
    for (int i = 0; i < TT_COUNT(forms); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, forms[i], o->path, prefix, what, rank);
        if (access(path, F_OK) != 0) continue;
        *out = tt_arena_strdup(&d->arena, path);
        return TT_OK;
    }
    return TT_FAIL(TT_EDATA, "%s: neither %s-%s-idx%s-ubyte.gz nor %s-%s-idx%s-ubyte is there", o->path, prefix, what,
                   rank, prefix, what, rank);
}

static TtStatus find_files(TtDataset *d, const char **images, const char **labels)
{
    const Options *o = d->options;
    if (o->path) {
        if (o->images || o->labels)
            return tt_node_fail(d->node, "mnist: give either `path` or `images` and `labels`, not both");
        const char *prefix = o->split == 0 ? "train" : "t10k";
        TT_TRY(find_file(d, prefix, "images", "3", images));
        return find_file(d, prefix, "labels", "1", labels);
    }
    if (!o->images || !o->labels)
        return tt_node_fail(d->node, "mnist: give `path` (a folder), or `images` and `labels`");
    *images = o->images;
    *labels = o->labels;
    return TT_OK;
}

/* The pictures' shape, against the limits and the number of labels. */
static TtStatus check_shapes(TtDataset *d, Mnist *m, const char *labels_name)
{
    const TtIdx *x = &m->images, *y = &m->labels;
    int64_t most = d->image.max_pixels > 0 ? d->image.max_pixels : TT_MAX_PIXELS_DEFAULT;
    if (x->rank < 3)
        return TT_FAIL(TT_EDATA, "%s: %d dimensions; pictures have 3 (N,H,W) or 4 (N,H,W,C)", m->name, x->rank);
    if (y->rank != 1) return TT_FAIL(TT_EDATA, "%s: %d dimensions; labels have 1", labels_name, y->rank);
    if (x->rank == 4 && x->dims[3] != 1 && x->dims[3] != 3)
        return TT_FAIL(TT_EDATA, "%s: %lld channels; 1 or 3 are read", m->name, (long long)x->dims[3]);
    if (x->dims[1] > most / x->dims[2]) /* each below 2^32 */
        return TT_FAIL(TT_EDATA, "%s: pictures of %lldx%lld are more than max_pixels (%lld)", m->name,
                       (long long)x->dims[1], (long long)x->dims[2], (long long)most);
    if (x->dims[1] > INT_MAX / 4 || x->dims[2] > INT_MAX / 4)
        return TT_FAIL(TT_EDATA, "%s: pictures of %lldx%lld are too long", m->name, (long long)x->dims[1],
                       (long long)x->dims[2]);
    if (x->dims[0] != y->dims[0])
        return TT_FAIL(TT_EDATA, "%s: %lld pictures, but %s has %lld labels", m->name, (long long)x->dims[0],
                       labels_name, (long long)y->dims[0]);
    m->h = (int)x->dims[1], m->w = (int)x->dims[2], m->c = x->rank == 4 ? (int)x->dims[3] : 1;
    return TT_OK;
}

static TtStatus check_labels(TtDataset *d, const Mnist *m, const char *name)
{
    int largest = 0;
    for (int64_t i = 0; i < m->labels.dims[0]; i++) {
        int v = m->labels.data[i];
        if (d->class_names && v >= d->classes)
            return TT_FAIL(TT_EDATA, "%s: label %d of sample %lld, but `classes` lists %d names", name, v, (long long)i,
                           d->classes);
        largest = TT_MAX(largest, v);
    }
    if (!d->class_names) d->classes = largest + 1;
    return TT_OK;
}

static TtStatus mnist_open(TtDataset *d)
{
    const Options *o = d->options;
    const char *images, *labels;
    Mnist *m = TT_NEW(&d->arena, Mnist);
    d->impl = m;
    TT_TRY(find_files(d, &images, &labels));
    TT_TRY(tt_dataset_classes_option(d, o->classes));
    m->name = images;
    TT_TRY(tt_idx_read(images, &m->images));
    TT_TRY(tt_idx_read(labels, &m->labels));
    TT_TRY(check_shapes(d, m, labels));
    TT_TRY(check_labels(d, m, labels));
    d->count = m->images.dims[0];
    return TT_OK;
}

static void mnist_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    snprintf(buf, size, "%s[%lld]", ((const Mnist *)d->impl)->name, (long long)index);
}

static int64_t mnist_label(const TtDataset *d, int64_t index)
{
    return ((const Mnist *)d->impl)->labels.data[index];
}

static TtStatus mnist_read(const TtDataset *d, int64_t index, TtSample *s)
{
    const Mnist *m = d->impl;
    size_t pixels = (size_t)m->h * (size_t)m->w, bytes = pixels * (size_t)m->c;
    const uint8_t *from = m->images.data + (size_t)index * bytes;
    mnist_describe(d, index, s->name, sizeof s->name);
    s->label = mnist_label(d, index);
    TT_TRY(tt_image_resize_buffer(&s->image, m->h, m->w, 3, TT_U8));
    uint8_t *to = s->image.data;
    if (m->c == 3)
        memcpy(to, from, bytes);
    else
        for (size_t i = 0; i < pixels; i++) to[3 * i] = to[3 * i + 1] = to[3 * i + 2] = from[i];
    return TT_OK;
}

static void mnist_close(TtDataset *d)
{
    Mnist *m = d->impl;
    if (!m) return;
    tt_idx_free(&m->images);
    tt_idx_free(&m->labels);
}

const TtDatasetDef tt_dataset_mnist = {
    .name = "mnist",
    .help = "IDX files: MNIST, Fashion-MNIST and relatives, plain or .gz",
    .options = options,
    .options_size = sizeof(Options),
    .open = mnist_open,
    .read = mnist_read,
    .label = mnist_label,
    .describe = mnist_describe,
    .close = mnist_close,
};
