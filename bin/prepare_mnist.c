/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare_mnist.c - ttrain prepare mnist: IDX files to a tree of PNG files that image_folder reads. */
#include <png.h>
#include <string.h>

#include "bin/prepare.h"
#include "data/idx.h"

enum { MOST_CLASSES = 256 };
enum { IMAGES, LABELS, CLASS_NAMES };

typedef struct Mnist {
    TtIdx images, labels;
    int n_classes;
    const char *classes[MOST_CLASSES];
} Mnist;

static TtStatus parse_class_names(TtPrepare *p, Mnist *m)
{
    if (!p->values[CLASS_NAMES]) return TT_OK;
    for (const char *at = p->values[CLASS_NAMES];; at++) {
        size_t n = strcspn(at, ",");
        const char *name = tt_arena_strndup(&p->arena, at, n);
        if (!tt_prepare_is_name(name))
            return TT_FAIL(TT_ECONFIG, "--class-names: '%s' cannot be a folder's name", name);
        for (int i = 0; i < m->n_classes; i++)
            if (strcmp(m->classes[i], name) == 0)
                return TT_FAIL(TT_ECONFIG, "--class-names: '%s' is there twice", name);
        if (m->n_classes == MOST_CLASSES)
            return TT_FAIL(TT_ECONFIG, "--class-names: more than %d names; labels are bytes", MOST_CLASSES);
        m->classes[m->n_classes++] = name;
        at += n;
        if (!*at) return TT_OK;
    }
}

static TtStatus read_input(TtPrepare *p, Mnist *m)
{
    TT_TRY(tt_idx_read(p->values[IMAGES], &m->images));
    TT_TRY(tt_idx_read(p->values[LABELS], &m->labels));
    const TtIdx *x = &m->images, *y = &m->labels;
    if (x->rank < 3 || (x->rank == 4 && x->dims[3] != 1 && x->dims[3] != 3))
        return TT_FAIL(TT_EDATA, "%s: no pictures: wanted are (N,H,W), or (N,H,W,C) with 1 or 3 channels",
                       p->values[IMAGES]);
    if (x->dims[1] > 65535 || x->dims[2] > 65535)
        return TT_FAIL(TT_EDATA, "%s: pictures of %lldx%lld are too large", p->values[IMAGES], (long long)x->dims[1],
                       (long long)x->dims[2]);
    if (y->rank != 1 || y->dims[0] != x->dims[0])
        return TT_FAIL(TT_EDATA, "%s: not one label for each of the %lld pictures in %s", p->values[LABELS],
                       (long long)x->dims[0], p->values[IMAGES]);
    int largest = 0;
    for (int64_t i = 0; i < y->dims[0]; i++) largest = TT_MAX(largest, y->data[i]);
    for (int i = m->n_classes; !p->values[CLASS_NAMES] && i <= largest; i++)
        m->classes[m->n_classes++] = tt_arena_printf(&p->arena, "%d", i);
    if (largest >= m->n_classes)
        return TT_FAIL(TT_EDATA, "%s: label %d, but --class-names lists %d", p->values[LABELS], largest, m->n_classes);
    return TT_OK;
}

static TtStatus mnist_read(TtPrepare *p, json_t *record)
{
    Mnist *m = TT_NEW(&p->arena, Mnist);
    uint64_t size;
    char images[TT_FS_DIGEST], labels[TT_FS_DIGEST];
    p->impl = m;
    TT_TRY(parse_class_names(p, m));
    TT_TRY(read_input(p, m));
    TT_TRY(tt_fs_checksum(p->values[IMAGES], TT_EDATA, &size, images));
    TT_TRY(tt_fs_checksum(p->values[LABELS], TT_EDATA, &size, labels));
    json_t *names = json_array();
    for (int i = 0; i < m->n_classes; i++)
        if (json_array_append_new(names, json_string(m->classes[i])) != 0) {
            json_decref(names);
            return TT_FAIL(TT_ECONFIG, "--class-names: the names must be UTF-8");
        }
    json_object_set_new(record, "images", json_string(images));
    json_object_set_new(record, "labels", json_string(labels));
    json_object_set_new(record, "classes", names);
    return TT_OK;
}

/* Not tt_png_write: a rename for each file would take most of the time, and the folder is renamed as a whole. */
static TtStatus write_picture(TtPrepare *p, int64_t i)
{
    const Mnist *m = p->impl;
    const TtIdx *x = &m->images;
    char path[4096];
    int h = (int)x->dims[1], w = (int)x->dims[2], c = x->rank == 4 ? (int)x->dims[3] : 1;
    snprintf(path, sizeof path, "%s/%s/%05lld.png", p->part, m->classes[m->labels.data[i]], (long long)i);
    const uint8_t *pixels = x->data + (size_t)i * (size_t)h * (size_t)w * (size_t)c;
    png_image im = {.version = PNG_IMAGE_VERSION,
                    .width = (png_uint_32)w,
                    .height = (png_uint_32)h,
                    .format = c == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
    if (png_image_write_to_file(&im, path, 0, pixels, w * c, NULL)) return TT_OK;
    return TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %s", path, im.message);
}

static TtStatus mnist_write(TtPrepare *p)
{
    const Mnist *m = p->impl;
    for (int i = 0; i < m->n_classes; i++) TT_TRY(tt_prepare_mkdir(p, m->classes[i]));
    snprintf(p->summary, sizeof p->summary, "%lld pictures in %d classes", (long long)m->images.dims[0], m->n_classes);
    return tt_prepare_each(p, "pictures", m->images.dims[0], write_picture);
}

static void mnist_close(TtPrepare *p)
{
    Mnist *m = p->impl;
    tt_idx_free(&m->images);
    tt_idx_free(&m->labels);
}

const TtPrepareDef tt_prepare_mnist = {
    .name = "mnist",
    .usage = "--images FILE --labels FILE [--class-names A,B,...]\n"
             "  Writes the pictures of IDX files (MNIST and relatives, plain or .gz) as DIR/CLASS/NUMBER.png.\n"
             "  --images FILE        pictures: (N,H,W), or (N,H,W,C) with 1 or 3 channels\n"
             "  --labels FILE        their labels: (N)\n"
             "  --class-names A,B    names of the class folders, in order of the labels; default 0, 1, 2, ...\n",
    .flags = {{"--images", true}, {"--labels", true}, {"--class-names", false}},
    .read = mnist_read,
    .write = mnist_write,
    .close = mnist_close,
};
