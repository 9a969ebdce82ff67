/* SPDX-License-Identifier: Apache-2.0 */
/* audio/mask.c - FrequencyMasking, TimeMasking, SpecAugment (Park et al. 2019). */
#include "audio/mask.h"

#include <math.h>
#include <string.h>

#include "data/transform.h"

void tt_mask_draw(TtRng *rng, int64_t size, int64_t most, double p, int64_t *start, int64_t *end)
{
    if (p < 1) most = TT_MIN(most, (int64_t)((double)size * p));
    *start = *end = 0;
    if (most < 1) return;
    const double length = tt_rng_double(rng) * (double)most, first = tt_rng_double(rng) * ((double)size - length);
    *start = (int64_t)first, *end = *start + (int64_t)length;
    *start = TT_MAX(*start, 0), *end = TT_MIN(*end, size); /* a mask may be allowed to be wider than the axis */
}

void tt_mask(TtAudio *a, int channel, TtMaskAxis axis, int64_t start, int64_t end, float value)
{
    const int first = channel < 0 ? 0 : channel, last = channel < 0 ? a->channels : channel + 1;
    const int parts = a->is_complex ? 2 : 1;
    for (int c = first; c < last; c++)
        for (int64_t t = axis == TT_MASK_TIME ? start : 0; t < (axis == TT_MASK_TIME ? end : a->frames); t++) {
            float *row = a->data + ((size_t)c * (size_t)a->frames + (size_t)t) * (size_t)(a->bins * parts);
            const int64_t from = axis == TT_MASK_TIME ? 0 : start, to = axis == TT_MASK_TIME ? a->bins : end;
            for (int64_t k = from * parts; k < to * parts; k++) row[k] = a->is_complex && k % 2 ? 0 : value;
        }
}

static void mask_once(TtTransformArgs *a, TtMaskAxis axis, int64_t most, double p, bool each, float value)
{
    const int64_t size = axis == TT_MASK_TIME ? a->audio->frames : a->audio->bins;
    for (int c = 0; c < (each ? a->audio->channels : 1); c++) {
        int64_t start, end;
        tt_mask_draw(&a->rng, size, most, p, &start, &end);
        tt_mask(a->audio, each ? c : -1, axis, start, end, value);
    }
}

#define IID(type, value)                                                                                          \
    {                                                                                                             \
        "iid_masks", TT_OPT_BOOL, offsetof(type, iid_masks), .def = value, .help = "another mask in each channel" \
    }
#define MOST(type, member, text)                                                                                    \
    {                                                                                                               \
#member, TT_OPT_INT, offsetof(type, member), .flags = TT_OPT_RANGED, .min = 0, .max = 1 << 30, .help = text \
    }
#define P(type)                                                                                         \
    {                                                                                                   \
        "p", TT_OPT_FLOAT, offsetof(type, p), .def = "1.0", .flags = TT_OPT_RANGED, .min = 0, .max = 1, \
                                              .help = "largest part of the axis that one mask may take" \
    }

/* ---- FrequencyMasking, TimeMasking */

typedef struct Masking {
    int64_t freq_mask_param, time_mask_param;
    bool iid_masks;
    double p;
} Masking;

static const TtOption frequency_options[] = {
    MOST(Masking, freq_mask_param, "a mask is shorter than this, in bins"), IID(Masking, "false"), {0}};
static const TtOption time_options[] = {
    MOST(Masking, time_mask_param, "a mask is shorter than this, in frames"), IID(Masking, "false"), P(Masking), {0}};

static TtStatus frequency_apply(const void *o, TtTransformArgs *a)
{
    const Masking *m = o;
    mask_once(a, TT_MASK_FREQUENCY, m->freq_mask_param, 1, m->iid_masks, 0);
    return TT_OK;
}

static TtStatus time_apply(const void *o, TtTransformArgs *a)
{
    const Masking *m = o;
    mask_once(a, TT_MASK_TIME, m->time_mask_param, m->p, m->iid_masks, 0);
    return TT_OK;
}

const TtTransformDef tt_transform_FrequencyMasking = {
    .name = "FrequencyMasking",
    .help = "set a random stretch of bins to 0",
    .options = frequency_options,
    .size = sizeof(Masking),
    .apply = frequency_apply,
    .media = TT_MEDIA_SOUND,
    .random = true,
};

const TtTransformDef tt_transform_TimeMasking = {
    .name = "TimeMasking",
    .help = "set a random stretch of frames to 0",
    .options = time_options,
    .size = sizeof(Masking),
    .apply = time_apply,
    .media = TT_MEDIA_SOUND,
    .random = true,
};

/* ---- SpecAugment */

typedef struct SpecAugment {
    int64_t n_time_masks, time_mask_param, n_freq_masks, freq_mask_param;
    bool iid_masks, zero_masking;
    double p;
} SpecAugment;

#define MASKS(member, text)                                                                                \
    {                                                                                                      \
#member, TT_OPT_INT, offsetof(SpecAugment, member), .flags = TT_OPT_RANGED, .min = 0, .max = 1000, \
                                                            .help = text                                   \
    }

static const TtOption augment_options[] = {MASKS(n_time_masks, "masks over frames"),
                                           MOST(SpecAugment, time_mask_param, "each is shorter than this, in frames"),
                                           MASKS(n_freq_masks, "masks over bins"),
                                           MOST(SpecAugment, freq_mask_param, "each is shorter than this, in bins"),
                                           IID(SpecAugment, "true"),
                                           P(SpecAugment),
                                           {"zero_masking", TT_OPT_BOOL, offsetof(SpecAugment, zero_masking),
                                            .def = "false", .help = "masks are 0; false: they are the clip's mean"},
                                           {0}};

static TtStatus augment_apply(const void *o, TtTransformArgs *a)
{
    const SpecAugment *s = o;
    const size_t n = tt_audio_floats(a->audio);
    double sum = 0;
    TT_TRY(tt_audio_check_real(a->audio, "SpecAugment", a->name));
    for (size_t i = 0; i < n && !s->zero_masking; i++) sum += (double)a->audio->data[i];
    const float value = n ? (float)(sum / (double)n) : 0;
    for (int64_t i = 0; i < s->n_time_masks; i++)
        mask_once(a, TT_MASK_TIME, s->time_mask_param, s->p, s->iid_masks, value);
    for (int64_t i = 0; i < s->n_freq_masks; i++)
        mask_once(a, TT_MASK_FREQUENCY, s->freq_mask_param, s->p, s->iid_masks, value);
    return TT_OK;
}

const TtTransformDef tt_transform_SpecAugment = {
    .name = "SpecAugment",
    .help = "several random masks over frames and over bins",
    .options = augment_options,
    .size = sizeof(SpecAugment),
    .apply = augment_apply,
    .media = TT_MEDIA_SOUND,
    .random = true,
};
