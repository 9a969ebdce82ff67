/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/fake_set.c - pictures and transforms made up for the tests of the loader. */
#include "tests/support/fake_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>
#include <cmocka.h>

/* ---- the set */

Fake fake_set(void)
{
    return (Fake){.size = 4, .odd = -1, .wrong_label = -1, .stuck = -1};
}

uint8_t fake_byte(int64_t sample, int k)
{
    return (uint8_t)tt_mix64((uint64_t)(sample * 4096 + k));
}

void sleep_us(int us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000L}, NULL);
}

static void fake_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    snprintf(buf, size, "fake/%03lld.png", (long long)index);
}

static int64_t fake_label(const TtDataset *d, int64_t index)
{
    return index % FAKE_CLASSES;
}

static TtStatus fake_read(const TtDataset *d, int64_t index, TtSample *s)
{
    Fake *f = d->impl;
    int h = index == f->odd ? f->size + 2 : f->size, w = f->size + 1;
    atomic_fetch_add(&f->reads, 1);
    fake_describe(d, index, s->name, sizeof s->name);
    s->label = index == f->wrong_label ? FAKE_CLASSES : fake_label(d, index);
    if (f->sleep_us) sleep_us((int)(tt_mix64((uint64_t)index) % (uint64_t)f->sleep_us));
    if (atomic_load(&f->stuck) == index) atomic_store(&f->stuck_seen, 1);
    while (atomic_load(&f->stuck) == index) sleep_us(1000);
    if (f->bad && f->bad[index] == '1')
        return TT_FAIL(TT_EDATA, "%s: at byte %lld: broken", s->name, (long long)index + 100);
    TT_TRY(tt_image_resize_buffer(&s->image, h, w, 3, TT_U8));
    uint8_t *p = s->image.data;
    for (int k = 0; k < h * w * 3; k++) p[k] = fake_byte(index, k);
    return TT_OK;
}

const TtDatasetDef fake_def = {.name = "fake", .read = fake_read, .label = fake_label, .describe = fake_describe};

/* ---- transforms */

static TtStatus add_noise(const void *options, TtTransformArgs *a)
{
    uint8_t v = (uint8_t)tt_rng_u32(&a->rng), *p = a->image->data;
    for (size_t i = 0; i < tt_image_bytes(a->image); i++) p[i] = (uint8_t)(p[i] + v);
    return TT_OK;
}

static void fixed_size(const void *options, int *h, int *w)
{
    *h = 4, *w = 5;
}

static TtStatus take_green(const void *options, TtTransformArgs *a)
{
    uint8_t *p = a->image->data;
    int n = a->image->h * a->image->w;
    for (int i = 0; i < n; i++) p[i] = p[3 * i + 1];
    a->image->c = 1;
    return TT_OK;
}

static TtStatus mix_neighbours(const void *options, TtBatchTransformArgs *a)
{
    float share = tt_rng_float(&a->rng), *t = a->targets.data;
    int64_t n = a->targets.shape.dims[0], classes = a->targets.shape.dims[1];
    for (int64_t i = 0; i < (n - 1) * classes; i++) t[i] = share * t[i] + (1 - share) * t[i + classes];
    return TT_OK;
}

static const TtTransformDef noise_def = {.name = "Noise", .apply = add_noise, .random = true};
static const TtTransformDef fixed_def = {.name = "Fixed", .apply = add_noise, .random = true, .out_size = fixed_size};
static const TtTransformDef green_def = {.name = "Green", .apply = take_green};
static const TtTransformDef mix_def = {.name = "Mix", .apply_batch = mix_neighbours, .random = true};

const TtTransformChain plain = {0};
const TtTransformChain noise = {.n = 1, .list = &(TtTransform){&noise_def, NULL}};
const TtTransformChain noise_fixed = {.n = 1, .list = &(TtTransform){&fixed_def, NULL}};
const TtTransformChain made_grey = {.n = 1, .list = &(TtTransform){&green_def, NULL}};
const TtTransformChain mixed = {
    .n = 1, .list = &(TtTransform){&noise_def, NULL}, .n_batch = 1, .batch = &(TtTransform){&mix_def, NULL}};

/* ---- the loader */

void prepare(Fixture *f, Fake *fake, int64_t n, TtSamplerKind kind)
{
    *f = (Fixture){.set = {.def = &fake_def, .count = n, .classes = FAKE_CLASSES, .impl = fake}};
    assert_int_equal(tt_sampler_open(&f->set, &(TtSamplerOptions){.kind = kind, .seed = 11}, &f->sampler), TT_OK);
    f->o = (TtLoaderOptions){.dataset = &f->set,
                             .sampler = f->sampler,
                             .transforms = &noise,
                             .seed = 5,
                             .batch_size = 8,
                             .num_workers = 3,
                             .prefetch_factor = 2,
                             .num_classes = FAKE_CLASSES,
                             .channels = 3,
                             .max_errors = -1};
}

void open_loader(Fixture *f)
{
    assert_int_equal(tt_loader_open(&f->o, &f->l), TT_OK);
}

void finish(Fixture *f)
{
    tt_loader_close(f->l);
    tt_sampler_close(f->sampler);
    f->l = NULL;
}

TtBatch *next(Fixture *f)
{
    TtBatch *b;
    TtStatus st = tt_loader_next(f->l, &b);
    if (st != TT_OK) print_error("%s\n", tt_error_message());
    assert_int_equal(st, TT_OK);
    return b;
}

uint64_t hash_batch(const TtBatch *b)
{
    size_t n = (size_t)b->n;
    uint64_t h = XXH3_64bits(b->x.data, tt_tensor_bytes(&b->x));
    h = XXH3_64bits_withSeed(b->labels, n * sizeof *b->labels, h);
    h = XXH3_64bits_withSeed(b->indices, n * sizeof *b->indices, h);
    if (b->targets.data) h = XXH3_64bits_withSeed(b->targets.data, tt_tensor_bytes(&b->targets), h);
    return h ^ tt_mix64((uint64_t)(b->epoch * 1000 + b->step));
}

int hash_epochs(Fixture *f, int epochs, uint64_t *out)
{
    int n = 0;
    for (int e = 0; e < epochs; e++) {
        int64_t step = 0;
        for (TtBatch *b; (b = next(f)); tt_loader_release(f->l, b)) {
            assert_int_equal(b->epoch, e);
            assert_int_equal(b->step, step++);
            out[n++] = hash_batch(b);
        }
        assert_int_equal(step, tt_loader_steps(f->l));
    }
    return n;
}
