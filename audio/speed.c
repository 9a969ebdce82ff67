/* SPDX-License-Identifier: Apache-2.0 */
/* audio/speed.c - Resample, Speed, SpeedPerturbation (Ko et al. 2015). */
#include <math.h>

#include "audio/options.h"
#include "audio/resample.h"

/* Kernels are the process's (resample.h): checked, and made, when the config is read, and found again for each clip. */
static TtStatus check_rates(const TtResampleArgs *r, const TtNode *node)
{
    const TtResampler *made;
    if (r->orig_freq == r->new_freq) return TT_OK;
    if (tt_resampler_get(r, &made) != TT_OK) return tt_node_fail(node, "%s", tt_error_message());
    tt_resampler_put(made);
    return TT_OK;
}

static TtStatus resample(const TtResampleArgs *r, TtTransformArgs *a, const char *who)
{
    const TtResampler *found;
    if (r->orig_freq == r->new_freq) return tt_audio_check_wave(a->audio, who, a->name);
    TT_TRY(tt_resampler_get(r, &found));
    const TtStatus status = tt_resample(found, a->audio, &a->scratch->audio, a->scratch, who, a->name);
    tt_resampler_put(found);
    return tt_audio_take(a, status);
}

#define ORIG_FREQ(type, value)                                                                                  \
    {                                                                                                           \
        "orig_freq", TT_OPT_INT, offsetof(type, orig_freq), .def = value, .flags = TT_OPT_AUTO | TT_OPT_RANGED, \
                                                            .min = 1, .max = 1 << 30,                           \
                                                            .help = "Hz of the waveform; auto: what it has"     \
    }

/* ---- Resample */

typedef struct Resample {
    int64_t orig_freq, new_freq, lowpass_filter_width;
    int resampling_method;
    double rolloff, beta;
} Resample;

static const TtOption resample_options[] = {
    ORIG_FREQ(Resample, "16000"),
    {"new_freq", TT_OPT_INT, offsetof(Resample, new_freq), .def = "16000", .flags = TT_OPT_RANGED, .min = 1,
     .max = 1 << 30, .help = "Hz to convert to"},
    {"resampling_method", TT_OPT_ENUM, offsetof(Resample, resampling_method), .def = "sinc_interp_hann",
     .choices = "sinc_interp_hann|sinc_interp_kaiser", .help = "window of the sinc"},
    {"lowpass_filter_width", TT_OPT_INT, offsetof(Resample, lowpass_filter_width), .def = "6", .flags = TT_OPT_RANGED,
     .min = 1, .max = 4096, .help = "zero crossings of the sinc on each side: more are sharper and slower"},
    {"rolloff", TT_OPT_FLOAT, offsetof(Resample, rolloff), .def = "0.99", .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN,
     .min = 0, .max = 1, .help = "cut-off, as a share of the lower Nyquist frequency"},
    {"beta", TT_OPT_FLOAT, offsetof(Resample, beta), .def = "null",
     .flags = TT_OPT_NULL | TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = 500,
     .help = "shape of the Kaiser window; null: 14.77"},
    {0}};

static TtResampleArgs resample_args(const Resample *r, const TtAudio *a)
{
    return (TtResampleArgs){.orig_freq = r->orig_freq == TT_AUTO_INT ? a->sample_rate : r->orig_freq,
                            .new_freq = r->new_freq,
                            .width = (int)r->lowpass_filter_width,
                            .rolloff = r->rolloff,
                            .method = (TtResampleMethod)r->resampling_method,
                            .beta = isnan(r->beta) ? 0 : r->beta};
}

static TtStatus resample_check(void *o, const TtNode *node, TtArena *arena)
{
    const TtResampleArgs args = resample_args(o, &(TtAudio){.sample_rate = 1});
    return ((Resample *)o)->orig_freq == TT_AUTO_INT ? TT_OK : check_rates(&args, node);
}

static TtStatus resample_apply(const void *o, TtTransformArgs *a)
{
    const TtResampleArgs args = resample_args(o, a->audio);
    TT_TRY(resample(&args, a, "Resample"));
    a->audio->sample_rate = (int)args.new_freq;
    return TT_OK;
}

const TtTransformDef tt_transform_Resample = {
    .name = "Resample",
    .help = "convert to another rate by band-limited interpolation",
    .options = resample_options,
    .size = sizeof(Resample),
    .check = resample_check,
    .apply = resample_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- Speed: what plays at FACTOR times the speed, as a clip of the old rate */

typedef struct Speed {
    int64_t orig_freq;
    double factor;
    TtFloats factors;
} Speed;

enum { FACTORS_MAX = 64 };
static const double factor_min = 0.01, factor_max = 100;

static TtResampleArgs speed_args(const Speed *s, double factor, const TtAudio *a)
{
    const int64_t rate = s->orig_freq == TT_AUTO_INT ? a->sample_rate : s->orig_freq;
    return (TtResampleArgs){.orig_freq = (int64_t)(factor * (double)rate), .new_freq = rate};
}

static TtStatus check_factor(const Speed *s, double factor, const char *key, const TtNode *node)
{
    const TtResampleArgs args = speed_args(s, factor, &(TtAudio){.sample_rate = 16000});
    if (args.orig_freq < 1)
        return TT_FAIL_AT_KEY(node, key, "%g times %lld Hz is less than 1 Hz", factor, (long long)args.new_freq);
    return check_rates(&args, node);
}

static TtStatus speed_by(const Speed *s, double factor, TtTransformArgs *a, const char *who)
{
    const int rate = a->audio->sample_rate;
    const TtResampleArgs args = speed_args(s, factor, a->audio);
    TT_TRY(resample(&args, a, who));
    a->audio->sample_rate = rate;
    return TT_OK;
}

static const TtOption speed_options[] = {ORIG_FREQ(Speed, "auto"),
                                         {"factor", TT_OPT_FLOAT, offsetof(Speed, factor), .flags = TT_OPT_RANGED,
                                          .min = factor_min, .max = factor_max, .help = "above 1 is faster"},
                                         {0}};

static TtStatus speed_check(void *o, const TtNode *node, TtArena *arena)
{
    return check_factor(o, ((Speed *)o)->factor, "factor", node);
}

static TtStatus speed_apply(const void *o, TtTransformArgs *a)
{
    return speed_by(o, ((const Speed *)o)->factor, a, "Speed");
}

const TtTransformDef tt_transform_Speed = {
    .name = "Speed",
    .help = "play faster or slower, pitch and all",
    .options = speed_options,
    .size = sizeof(Speed),
    .check = speed_check,
    .apply = speed_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- SpeedPerturbation */

static const TtOption perturbation_options[] = {ORIG_FREQ(Speed, "auto"),
                                                {"factors", TT_OPT_FLOATS, offsetof(Speed, factors),
                                                 .flags = TT_OPT_RANGED, .min = factor_min, .max = factor_max,
                                                 .min_n = 1, .max_n = FACTORS_MAX, .help = "speeds to choose from"},
                                                {0}};

static TtStatus perturbation_check(void *o, const TtNode *node, TtArena *arena)
{
    const Speed *s = o;
    for (int i = 0; i < s->factors.n; i++) TT_TRY(check_factor(s, s->factors.v[i], "factors", node));
    return TT_OK;
}

static TtStatus perturbation_apply(const void *o, TtTransformArgs *a)
{
    const Speed *s = o;
    return speed_by(s, s->factors.v[tt_rng_below(&a->rng, (uint64_t)s->factors.n)], a, "SpeedPerturbation");
}

const TtTransformDef tt_transform_SpeedPerturbation = {
    .name = "SpeedPerturbation",
    .help = "Speed with one of several factors, at random",
    .options = perturbation_options,
    .size = sizeof(Speed),
    .check = perturbation_check,
    .apply = perturbation_apply,
    .media = TT_MEDIA_SOUND,
    .random = true,
};
