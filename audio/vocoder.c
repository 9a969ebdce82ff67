/* SPDX-License-Identifier: Apache-2.0 */
/* audio/vocoder.c - TimeStretch, PitchShift, GriffinLim. */
#include "audio/vocoder.h"

#include <math.h>
#include <string.h>

#include "audio/options.h"
#include "audio/resample.h"

TtStatus tt_phase_vocoder(const TtAudio *in, double rate, int64_t hop, TtAudio *out, TtTransformScratch *scratch,
                          const char *who, const char *name)
{
    const int bins = in->bins;
    const int64_t frames = in->frames, made = (int64_t)ceil((double)frames / rate);
    double *phase, *advance;
    if (!in->is_complex)
        return TT_FAIL(TT_ECONFIG,
                       "%s works on complex spectrograms (Spectrogram with power: null), not real ones (%s)", who,
                       name);
    TT_TRY(tt_audio_resize(out, in->channels, made, bins, true));
    TT_TRY(tt_transform_table(scratch, 2 * sizeof(double) * (size_t)bins, (void **)&phase));
    out->sample_rate = in->sample_rate;
    advance = phase + bins;
    for (int k = 0; k < bins; k++) advance[k] = bins > 1 ? M_PI * (double)hop * k / (bins - 1) : 0;
    for (int c = 0; c < in->channels; c++) {
        const float *x = in->data + (size_t)c * (size_t)frames * (size_t)bins * 2;
        float *y = out->data + (size_t)c * (size_t)made * (size_t)bins * 2;
        for (int k = 0; k < bins && frames > 0; k++) phase[k] = atan2((double)x[2 * k + 1], (double)x[2 * k]);
        for (int64_t s = 0; s < made; s++, y += 2 * bins) {
            const double at = (double)(float)((double)s * rate); /* torchaudio's times are float32 */
            const int64_t t = (int64_t)at;
            const double alpha = at - (double)t;
            const float *p = t < frames ? x + t * 2 * bins : NULL, *q = t + 1 < frames ? x + (t + 1) * 2 * bins : NULL;
            for (int k = 0; k < bins; k++) {
                const double re0 = p ? (double)p[2 * k] : 0, im0 = p ? (double)p[2 * k + 1] : 0;
                const double re1 = q ? (double)q[2 * k] : 0, im1 = q ? (double)q[2 * k + 1] : 0;
                const double size = alpha * hypot(re1, im1) + (1 - alpha) * hypot(re0, im0);
                y[2 * k] = (float)(size * cos(phase[k])), y[2 * k + 1] = (float)(size * sin(phase[k]));
                const double turn = atan2(im1, re1) - atan2(im0, re0) - advance[k];
                phase[k] += turn - 2 * M_PI * nearbyint(turn / (2 * M_PI)) + advance[k];
            }
        }
    }
    return TT_OK;
}

/* ---- TimeStretch */

typedef struct Stretch {
    int64_t hop_length, n_freq;
    double fixed_rate;
} Stretch;

static const TtOption stretch_options[] = {
    {"hop_length", TT_OPT_INT, offsetof(Stretch, hop_length), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED,
     .min = 1, .max = 1 << 30, .help = "the spectrogram's; null: n_freq - 1"},
    TT_OPTION_COUNT(Stretch, n_freq, "201", 1, "bins of the spectrogram"),
    {"fixed_rate", TT_OPT_FLOAT, offsetof(Stretch, fixed_rate), .flags = TT_OPT_RANGED, .min = 0.01, .max = 100,
     .help = "above 1 is faster"},
    {0}};

static TtStatus stretch_check(void *o, const TtNode *node, TtArena *arena)
{
    Stretch *s = o;
    if (s->hop_length == TT_NULL_INT) s->hop_length = TT_MAX(s->n_freq - 1, 1);
    return TT_OK;
}

static TtStatus stretch_apply(const void *o, TtTransformArgs *a)
{
    const Stretch *s = o;
    if (a->audio->bins != s->n_freq)
        return TT_FAIL(TT_ECONFIG, "TimeStretch has n_freq %lld, but the spectrogram has %d bins (%s)",
                       (long long)s->n_freq, a->audio->bins, a->name);
    if (s->fixed_rate == 1) return TT_OK;
    return tt_audio_take(a, tt_phase_vocoder(a->audio, s->fixed_rate, s->hop_length, &a->scratch->audio, a->scratch,
                                             "TimeStretch", a->name));
}

const TtTransformDef tt_transform_TimeStretch = {
    .name = "TimeStretch",
    .help = "stretch a complex spectrogram in time without changing pitch",
    .options = stretch_options,
    .size = sizeof(Stretch),
    .check = stretch_check,
    .apply = stretch_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- PitchShift */

typedef struct Pitch {
    int64_t sample_rate, n_steps, bins_per_octave;
    TtSpecArgs spec;
    TtAudioStft stft; /* derived, as are rate and resampling */
    double rate;
    TtResampleArgs resample;
} Pitch;

static const TtOption pitch_options[] = {TT_OPTION_SAMPLE_RATE(Pitch),
                                         {"n_steps", TT_OPT_INT, offsetof(Pitch, n_steps), .flags = TT_OPT_RANGED,
                                          .min = -1200, .max = 1200, .help = "steps to shift by, above 0 is higher"},
                                         {"bins_per_octave", TT_OPT_INT, offsetof(Pitch, bins_per_octave), .def = "12",
                                          .flags = TT_OPT_RANGED, .min = 1, .max = 1200, .help = "steps of an octave"},
                                         TT_OPTIONS_FRAMES(Pitch, spec, "512"),
                                         TT_OPTIONS_WINDOW(Pitch, spec),
                                         {0}};

static TtStatus pitch_check(void *o, const TtNode *node, TtArena *arena)
{
    Pitch *p = o;
    const TtResampler *made;
    p->spec.center = p->spec.onesided = true;
    TT_TRY(tt_spec_init(&p->spec, 4, node, &p->stft, arena));
    p->rate = exp2(-(double)p->n_steps / (double)p->bins_per_octave);
    if (p->rate < 0.01 || p->rate > 100) return TT_FAIL_AT_KEY(node, "n_steps", "n_steps is more than six octaves");
    p->resample =
        (TtResampleArgs){.orig_freq = (int64_t)((double)p->sample_rate / p->rate), .new_freq = p->sample_rate};
    if (p->resample.orig_freq == p->resample.new_freq) return TT_OK;
    if (tt_resampler_get(&p->resample, &made) != TT_OK)
        return TT_FAIL_AT_KEY(node, "sample_rate", "%s", tt_error_message());
    tt_resampler_put(made);
    return TT_OK;
}

static TtStatus pitch_apply(const void *o, TtTransformArgs *a)
{
    const Pitch *p = o;
    TtAudio *x = a->audio, *spare = &a->scratch->audio;
    const int64_t frames = x->frames;
    const int rate = x->sample_rate;
    const TtResampler *r;
    tt_audio_expect_rate(x, p->sample_rate, "PitchShift", a->name);
    TT_TRY(tt_audio_take(a, tt_audio_stft(&p->stft, NAN, NULL, x, spare, a->scratch, "PitchShift", a->name)));
    if (p->rate != 1)
        TT_TRY(tt_audio_take(a, tt_phase_vocoder(x, p->rate, p->stft.hop, spare, a->scratch, "PitchShift", a->name)));
    TT_TRY(tt_audio_take(a, tt_audio_istft(&p->stft, (int64_t)nearbyint((double)frames / p->rate), x, spare, a->scratch,
                                           "PitchShift", a->name)));
    if (p->resample.orig_freq != p->resample.new_freq) {
        TT_TRY(tt_resampler_get(&p->resample, &r));
        const TtStatus status = tt_resample(r, x, spare, a->scratch, "PitchShift", a->name);
        tt_resampler_put(r);
        TT_TRY(tt_audio_take(a, status));
    }
    TT_TRY(tt_audio_resize(spare, x->channels, frames, 1, false)); /* cut, or filled up with zeros */
    const int64_t kept = TT_MIN(frames, x->frames);
    for (int c = 0; c < x->channels; c++) {
        float *to = spare->data + c * frames;
        memcpy(to, x->data + c * x->frames, sizeof(float) * (size_t)kept);
        memset(to + kept, 0, sizeof(float) * (size_t)(frames - kept));
    }
    spare->sample_rate = rate;
    tt_audio_swap(x, spare);
    return TT_OK;
}

const TtTransformDef tt_transform_PitchShift = {
    .name = "PitchShift",
    .help = "shift the pitch without changing the length",
    .options = pitch_options,
    .size = sizeof(Pitch),
    .check = pitch_check,
    .apply = pitch_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- GriffinLim: Griffin and Lim 1984, with momentum as Perraudin et al. 2013 */

typedef struct GriffinLim {
    TtSpecArgs spec;
    int64_t n_iter, length;
    double power, momentum;
    bool rand_init;
    TtAudioStft stft; /* derived */
} GriffinLim;

static const TtOption griffin_options[] = {
    TT_OPTIONS_FRAMES(GriffinLim, spec, "400"),
    {"n_iter", TT_OPT_INT, offsetof(GriffinLim, n_iter), .def = "32", .flags = TT_OPT_RANGED, .min = 0, .max = 100000,
     .help = "rounds"},
    TT_OPTIONS_WINDOW(GriffinLim, spec),
    {"power", TT_OPT_FLOAT, offsetof(GriffinLim, power), .def = "2.0", .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN,
     .min = 0, .max = 100, .help = "exponent of the magnitude that the spectrogram holds"},
    {"momentum", TT_OPT_FLOAT, offsetof(GriffinLim, momentum), .def = "0.99", .flags = TT_OPT_RANGED | TT_OPT_BELOW_MAX,
     .min = 0, .max = 1, .help = "0 is the plain method"},
    {"length", TT_OPT_INT, offsetof(GriffinLim, length), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED, .min = 1,
     .max = 1 << 30, .help = "samples that come out; null: what the frames cover"},
    {"rand_init", TT_OPT_BOOL, offsetof(GriffinLim, rand_init), .def = "true",
     .help = "begin with random phases; false: with zero"},
    {0}};

static TtStatus griffin_check(void *o, const TtNode *node, TtArena *arena)
{
    GriffinLim *g = o;
    g->spec.center = g->spec.onesided = true;
    return tt_spec_init(&g->spec, 2, node, &g->stft, arena);
}

typedef struct Phases {
    TtAudio size, guess, last, wave; /* magnitudes; magnitude times phase; the last rebuilt spectrum; the waveform */
} Phases;

/* guess = size * z / |z| with z = rebuilt - momentum * last; in one pass, and REBUILT becomes LAST. */
static void griffin_update(Phases *p, TtAudio *rebuilt, float momentum)
{
    const size_t n = tt_audio_floats(&p->size);
    for (size_t i = 0; i < n; i++) {
        const float re = rebuilt->data[2 * i] - momentum * p->last.data[2 * i];
        const float im = rebuilt->data[2 * i + 1] - momentum * p->last.data[2 * i + 1];
        const float by = p->size.data[i] / (hypotf(re, im) + 1e-16f);
        p->guess.data[2 * i] = re * by, p->guess.data[2 * i + 1] = im * by;
    }
    tt_audio_swap(&p->last, rebuilt);
}

static TtStatus griffin_run(const GriffinLim *g, Phases *p, TtTransformArgs *a)
{
    static const char who[] = "GriffinLim";
    const TtAudio *in = a->audio;
    const size_t n = tt_audio_floats(in);
    const float momentum = (float)(g->momentum / (1 + g->momentum));
    TT_TRY(tt_audio_resize(&p->size, in->channels, in->frames, in->bins, false));
    TT_TRY(tt_audio_resize(&p->guess, in->channels, in->frames, in->bins, true));
    TT_TRY(tt_audio_resize(&p->last, in->channels, in->frames, in->bins, true));
    p->guess.sample_rate = in->sample_rate;
    for (size_t i = 0; i < n; i++) {
        const float re = g->rand_init ? tt_rng_float(&a->rng) : 1, im = g->rand_init ? tt_rng_float(&a->rng) : 0;
        const float size = powf(in->data[i], (float)(1 / g->power));
        p->size.data[i] = size;
        p->guess.data[2 * i] = size * re, p->guess.data[2 * i + 1] = size * im;
        p->last.data[2 * i] = p->last.data[2 * i + 1] = 0;
    }
    for (int64_t i = 0; i < g->n_iter; i++) {
        TT_TRY(tt_audio_istft(&g->stft, g->length, &p->guess, &p->wave, a->scratch, who, a->name));
        TT_TRY(tt_audio_stft(&g->stft, NAN, NULL, &p->wave, &a->scratch->audio, a->scratch, who, a->name));
        if (a->scratch->audio.frames != in->frames)
            return TT_FAIL(TT_EDATA, "%s: GriffinLim's length %lld makes %lld frames, but the spectrogram has %lld",
                           a->name, (long long)g->length, (long long)a->scratch->audio.frames, (long long)in->frames);
        griffin_update(p, &a->scratch->audio, momentum);
    }
    return tt_audio_istft(&g->stft, g->length, &p->guess, a->audio, a->scratch, who, a->name);
}

static TtStatus griffin_apply(const void *o, TtTransformArgs *a)
{
    const GriffinLim *g = o;
    Phases p = {0};
    TT_TRY(tt_audio_check_real(a->audio, "GriffinLim", a->name));
    const TtStatus status = griffin_run(g, &p, a);
    tt_audio_free(&p.size), tt_audio_free(&p.guess), tt_audio_free(&p.last), tt_audio_free(&p.wave);
    return status;
}

const TtTransformDef tt_transform_GriffinLim = {
    .name = "GriffinLim",
    .help = "a waveform with this magnitude spectrogram, by the Griffin-Lim method",
    .options = griffin_options,
    .size = sizeof(GriffinLim),
    .check = griffin_check,
    .apply = griffin_apply,
    .media = TT_MEDIA_SOUND,
    .random = true,
};
