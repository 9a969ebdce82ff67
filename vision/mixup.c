/* SPDX-License-Identifier: Apache-2.0 */
/* vision/mixup.c - MixUp (Zhang et al. 2018) and CutMix (Yun et al. 2019) on batches.
 *
 * Each picture meets the one before it in the batch, and the first meets the last, as torchvision's roll(1) has
 * it; the sampler has shuffled them. Going down from the last picture, each finds its partner still unchanged;
 * only the last one's old values are needed at the end, and a small block of them is kept at a time. */
#include <math.h>
#include <string.h>

#include "vision/options.h"
#include "vision/pixels.h"

enum { BLOCK = 1024 };

/* x[i] = lam * x[i] + (1 - lam) * x[i - 1] for n rows of size floats. */
static void mix_rows(float *x, int64_t n, int64_t size, double lam)
{
    const float mine = (float)lam, theirs = (float)(1.0 - lam);
    float last[BLOCK];
    for (int64_t k = 0; k < size; k += BLOCK) {
        const int64_t m = TT_MIN(size - k, BLOCK);
        memcpy(last, x + (n - 1) * size + k, (size_t)m * sizeof *x);
        for (int64_t i = n - 1; i >= 0; i--) {
            float *row = x + i * size + k;
            const float *other = i > 0 ? row - size : last;
            for (int64_t j = 0; j < m; j++) row[j] = other[j] * theirs + row[j] * mine;
        }
    }
}

void tt_batch_mixup(TtTensor x, TtTensor targets, double lam)
{
    const int64_t n = x.shape.dims[0];
    if (n == 0) return;
    mix_rows(x.data, n, tt_tensor_count(&x) / n, lam);
    mix_rows(targets.data, n, targets.shape.dims[1], lam);
}

void tt_batch_cutmix(TtTensor x, TtTensor targets, const int box[4], double lam)
{
    const int64_t n = x.shape.dims[0], h = x.shape.dims[1], w = x.shape.dims[2], c = x.shape.dims[3];
    const int64_t size = h * w * c, length = (box[2] - box[0]) * c;
    float last[BLOCK];
    if (n == 0) return;
    for (int y = box[1]; y < box[3]; y++) {
        float *line = (float *)x.data + (y * w + box[0]) * c;
        for (int64_t k = 0; k < length; k += BLOCK) {
            const size_t bytes = (size_t)TT_MIN(length - k, BLOCK) * sizeof *line;
            memcpy(last, line + (n - 1) * size + k, bytes);
            for (int64_t i = n - 1; i > 0; i--) memcpy(line + i * size + k, line + (i - 1) * size + k, bytes);
            memcpy(line + k, last, bytes);
        }
    }
    mix_rows(targets.data, n, targets.shape.dims[1], lam);
}

typedef struct Mix {
    double alpha;
    int64_t num_classes;
} Mix;

static const TtOption options[] = {
    {"alpha", TT_OPT_FLOAT, offsetof(Mix, alpha), .def = "1.0", .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0,
     .max = 1e6, .help = "lambda is drawn from Beta(alpha, alpha)"},
    {"num_classes", TT_OPT_INT, offsetof(Mix, num_classes), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED,
     .min = 1, .max = 1e9, .help = "checked against the model's number of classes; null: not checked"},
    {0}};

static TtStatus check_classes(const Mix *m, const TtBatchTransformArgs *a, const char *name)
{
    TT_ASSERT(a->x.dtype == TT_F32 && a->x.shape.rank == 4 && tt_tensor_contiguous(&a->x));
    TT_ASSERT(a->targets.dtype == TT_F32 && a->targets.shape.rank == 2 && tt_tensor_contiguous(&a->targets));
    TT_ASSERT(a->targets.shape.dims[0] == a->x.shape.dims[0]);
    if (m->num_classes == TT_NULL_INT || m->num_classes == a->targets.shape.dims[1]) return TT_OK;
    return TT_FAIL(TT_ECONFIG, "%s.num_classes is %lld, but the labels have %lld classes; leave it out", name,
                   (long long)m->num_classes, (long long)a->targets.shape.dims[1]);
}

static TtStatus mixup(const void *o, TtBatchTransformArgs *a)
{
    const Mix *m = o;
    TT_TRY(check_classes(m, a, "MixUp"));
    tt_batch_mixup(a->x, a->targets, tt_rng_beta(&a->rng, m->alpha, m->alpha));
    return TT_OK;
}

static TtStatus cutmix(const void *o, TtBatchTransformArgs *a)
{
    const Mix *m = o;
    TT_TRY(check_classes(m, a, "CutMix"));
    const int h = (int)a->x.shape.dims[1], w = (int)a->x.shape.dims[2];
    const double lam = tt_rng_beta(&a->rng, m->alpha, m->alpha), r = 0.5 * sqrt(1.0 - lam);
    const int x = (int)tt_rng_below(&a->rng, (uint64_t)w), y = (int)tt_rng_below(&a->rng, (uint64_t)h);
    const int dx = (int)(r * w), dy = (int)(r * h);
    const int box[4] = {TT_MAX(x - dx, 0), TT_MAX(y - dy, 0), TT_MIN(x + dx, w), TT_MIN(y + dy, h)};
    const double area = (double)(box[2] - box[0]) * (box[3] - box[1]);
    tt_batch_cutmix(a->x, a->targets, box, 1.0 - area / ((double)w * h)); /* lambda by what was really cut */
    return TT_OK;
}

const TtTransformDef tt_transform_MixUp = {
    .name = "MixUp",
    .help = "blend each picture and its label with another of the batch",
    .options = options,
    .size = sizeof(Mix),
    .apply_batch = mixup,
    .random = true,
};

const TtTransformDef tt_transform_CutMix = {
    .name = "CutMix",
    .help = "paste a box of another picture of the batch, mix the labels by area",
    .options = options,
    .size = sizeof(Mix),
    .apply_batch = cutmix,
    .random = true,
};
