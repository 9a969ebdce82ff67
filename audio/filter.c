/* SPDX-License-Identifier: Apache-2.0 */
/* audio/filter.c - Preemphasis, Deemphasis, Loudness. */
#include "audio/filter.h"

#include <math.h>

#include "audio/options.h"

TtBiquad tt_biquad_highpass(double sample_rate, double cutoff, double q)
{
    const double w = 2 * M_PI * cutoff / sample_rate, alpha = sin(w) / 2 / q, c = cos(w);
    return (TtBiquad){(1 + c) / 2, -1 - c, (1 + c) / 2, 1 + alpha, -2 * c, 1 - alpha};
}

TtBiquad tt_biquad_treble(double sample_rate, double gain, double centre, double q)
{
    const double w = 2 * M_PI * centre / sample_rate, alpha = sin(w) / 2 / q, a = pow(10, gain / 40);
    const double root = 2 * sqrt(a) * alpha, less = (a - 1) * cos(w), more = (a + 1) * cos(w);
    return (TtBiquad){a * (a + 1 + less + root), -2 * a * (a - 1 + more), a * (a + 1 + less - root),
                      a + 1 - less + root,       2 * (a - 1 - more),      a + 1 - less - root};
}

void tt_biquad(const TtBiquad *f, TtAudio *a)
{
    const double b0 = f->b0 / f->a0, b1 = f->b1 / f->a0, b2 = f->b2 / f->a0, a1 = f->a1 / f->a0, a2 = f->a2 / f->a0;
    for (int c = 0; c < a->channels; c++) {
        float *p = a->data + c * a->frames;
        double x1 = 0, x2 = 0, y1 = 0, y2 = 0;
        for (int64_t i = 0; i < a->frames; i++) {
            const double x = (double)p[i], y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2;
            x2 = x1, x1 = x, y2 = y1, y1 = y;
            p[i] = (float)fmin(fmax(y, -1), 1);
        }
    }
}

/* ---- Preemphasis, Deemphasis */

typedef struct Emphasis {
    double coeff;
} Emphasis;

static const TtOption emphasis_options[] = {{"coeff", TT_OPT_FLOAT, offsetof(Emphasis, coeff), .def = "0.97",
                                             .flags = TT_OPT_RANGED, .min = -1, .max = 1,
                                             .help = "weight of the sample before"},
                                            {0}};

static TtStatus pre_apply(const void *o, TtTransformArgs *a)
{
    const float k = (float)((const Emphasis *)o)->coeff;
    TtAudio *x = a->audio;
    TT_TRY(tt_audio_check_wave(x, "Preemphasis", a->name));
    for (int c = 0; c < x->channels; c++) {
        float *p = x->data + c * x->frames;
        for (int64_t i = x->frames - 1; i > 0; i--) p[i] -= k * p[i - 1];
    }
    return TT_OK;
}

static TtStatus de_apply(const void *o, TtTransformArgs *a)
{
    TT_TRY(tt_audio_check_wave(a->audio, "Deemphasis", a->name));
    tt_biquad(&(TtBiquad){.b0 = 1, .a0 = 1, .a1 = -((const Emphasis *)o)->coeff}, a->audio);
    return TT_OK;
}

const TtTransformDef tt_transform_Preemphasis = {
    .name = "Preemphasis",
    .help = "y[i] = x[i] - coeff x[i-1]",
    .options = emphasis_options,
    .size = sizeof(Emphasis),
    .apply = pre_apply,
    .media = TT_MEDIA_SOUND,
};

const TtTransformDef tt_transform_Deemphasis = {
    .name = "Deemphasis",
    .help = "y[i] = x[i] + coeff y[i-1], limited to [-1,1]",
    .options = emphasis_options,
    .size = sizeof(Emphasis),
    .apply = de_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- Loudness */

enum { CHANNELS_MAX = 5 };
static const double weights[CHANNELS_MAX] = {1, 1, 1, 1.41, 1.41}, bias = -0.691, gate_absolute = -70;

/* Mean square of channel C in block B. */
static double energy(const TtAudio *a, int c, int64_t b, int64_t size, int64_t step)
{
    const float *p = a->data + c * a->frames + b * step;
    double sum = 0;
    for (int64_t i = 0; i < size; i++) sum += (double)p[i] * (double)p[i];
    return sum / (double)size;
}

TtStatus tt_loudness(TtAudio *a, int64_t sample_rate, const char *name, double *lkfs)
{
    const int64_t size = (int64_t)nearbyint(0.4 * (double)sample_rate);
    const int64_t step = (int64_t)nearbyint((double)size * 0.25);
    TT_TRY(tt_audio_check_wave(a, "Loudness", name));
    if (a->channels > CHANNELS_MAX)
        return TT_FAIL(TT_EDATA, "%s: Loudness knows up to %d channels, not %d", name, CHANNELS_MAX, a->channels);
    if (a->frames < size || step < 1)
        return TT_FAIL(TT_EDATA, "%s: %lld samples are too few for Loudness; it needs %lld", name, (long long)a->frames,
                       (long long)size);
    const TtBiquad shelf = tt_biquad_treble((double)sample_rate, 4.0, 1500.0, M_SQRT1_2);
    const TtBiquad high = tt_biquad_highpass((double)sample_rate, 38.0, 0.5);
    tt_biquad(&shelf, a), tt_biquad(&high, a);
    const int64_t blocks = (a->frames - size) / step + 1;
    double gate = gate_absolute, loudness = 0;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        int64_t n = 0;
        for (int64_t b = 0; b < blocks; b++) {
            double block = 0;
            for (int c = 0; c < a->channels; c++) block += weights[c] * energy(a, c, b, size, step);
            const double l = block > 0 ? bias + 10 * log10(block) : -INFINITY;
            if (l > gate_absolute && l > gate) sum += block, n++;
        }
        loudness = n > 0 ? bias + 10 * log10(sum / (double)n) : (double)NAN;
        gate = loudness - 10;
    }
    *lkfs = loudness;
    return TT_OK;
}

typedef struct Loudness {
    int64_t sample_rate;
} Loudness;

static const TtOption loudness_options[] = {TT_OPTION_SAMPLE_RATE(Loudness), {0}};

static TtStatus loudness_apply(const void *o, TtTransformArgs *a)
{
    double lkfs;
    tt_audio_expect_rate(a->audio, ((const Loudness *)o)->sample_rate, "Loudness", a->name);
    TT_TRY(tt_loudness(a->audio, ((const Loudness *)o)->sample_rate, a->name, &lkfs));
    TT_TRY(tt_audio_resize(a->audio, 1, 1, 1, false));
    a->audio->data[0] = (float)lkfs;
    return TT_OK;
}

const TtTransformDef tt_transform_Loudness = {
    .name = "Loudness",
    .help = "the clip's loudness in LKFS (ITU-R BS.1770-4), one value; NaN when every block is gated away",
    .options = loudness_options,
    .size = sizeof(Loudness),
    .apply = loudness_apply,
    .media = TT_MEDIA_SOUND,
};
