/* SPDX-License-Identifier: Apache-2.0 */
/* audio/spectrogram.c - Spectrogram, InverseSpectrogram, SpectralCentroid, MelSpectrogram, MelScale, MFCC, LFCC. */
#include <math.h>
#include <string.h>

#include "audio/mel.h"
#include "audio/options.h"

static const double mfcc_top_db = 80, db_least = 1e-10;

#define POWER(type, flag, text)                                                                                  \
    {                                                                                                            \
        "power", TT_OPT_FLOAT, offsetof(type, power),                                                            \
            .def = "2.0", .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN | (flag), .min = 0, .max = 100, .help = text \
    }

/* ---- Spectrogram */

typedef struct Spectrogram {
    TtSpecArgs spec;
    double power;
    TtAudioStft stft; /* derived */
} Spectrogram;

static const TtOption spectrogram_options[] = {
    TT_OPTIONS_FRAMES(Spectrogram, spec, "400"),
    TT_OPTION_PAD(Spectrogram, spec),
    TT_OPTIONS_WINDOW(Spectrogram, spec),
    POWER(Spectrogram, TT_OPT_NULL, "exponent of the magnitude; null: the complex spectrum"),
    TT_OPTIONS_SPECTRUM(Spectrogram, spec),
    TT_OPTION_ONESIDED(Spectrogram, spec),
    {0}};

static TtStatus spectrogram_check(void *o, const TtNode *node, TtArena *arena)
{
    Spectrogram *s = o;
    return tt_spec_init(&s->spec, 2, node, &s->stft, arena);
}

static TtStatus spectrogram_apply(const void *o, TtTransformArgs *a)
{
    const Spectrogram *s = o;
    return tt_audio_take(
        a, tt_audio_stft(&s->stft, s->power, NULL, a->audio, &a->scratch->audio, a->scratch, "Spectrogram", a->name));
}

const TtTransformDef tt_transform_Spectrogram = {
    .name = "Spectrogram",
    .help = "short-time Fourier transform: power, magnitude or the complex spectrum",
    .options = spectrogram_options,
    .size = sizeof(Spectrogram),
    .check = spectrogram_check,
    .apply = spectrogram_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- InverseSpectrogram */

typedef struct InverseSpectrogram {
    TtSpecArgs spec;
    int64_t length;
    TtAudioStft stft; /* derived */
} InverseSpectrogram;

static const TtOption inverse_options[] = {
    TT_OPTIONS_FRAMES(InverseSpectrogram, spec, "400"),
    TT_OPTION_PAD(InverseSpectrogram, spec),
    TT_OPTIONS_WINDOW(InverseSpectrogram, spec),
    TT_OPTIONS_SPECTRUM(InverseSpectrogram, spec),
    TT_OPTION_ONESIDED(InverseSpectrogram, spec),
    {"length", TT_OPT_INT, offsetof(InverseSpectrogram, length), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED,
     .min = 1, .max = 1 << 30, .help = "samples that come out; null: what the frames cover (and pad is not cut off)"},
    {0}};

static TtStatus inverse_check(void *o, const TtNode *node, TtArena *arena)
{
    InverseSpectrogram *s = o;
    return tt_spec_init(&s->spec, 2, node, &s->stft, arena);
}

static TtStatus inverse_apply(const void *o, TtTransformArgs *a)
{
    const InverseSpectrogram *s = o;
    return tt_audio_take(a, tt_audio_istft(&s->stft, s->length, a->audio, &a->scratch->audio, a->scratch,
                                           "InverseSpectrogram", a->name));
}

const TtTransformDef tt_transform_InverseSpectrogram = {
    .name = "InverseSpectrogram",
    .help = "the waveform of a complex spectrogram",
    .options = inverse_options,
    .size = sizeof(InverseSpectrogram),
    .check = inverse_check,
    .apply = inverse_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- SpectralCentroid */

typedef struct Centroid {
    int64_t sample_rate;
    TtSpecArgs spec;
    TtAudioStft stft; /* derived */
} Centroid;

static const TtOption centroid_options[] = {TT_OPTION_SAMPLE_RATE(Centroid),
                                            TT_OPTIONS_FRAMES(Centroid, spec, "400"),
                                            TT_OPTION_PAD(Centroid, spec),
                                            TT_OPTIONS_WINDOW(Centroid, spec),
                                            {0}};

static TtStatus centroid_check(void *o, const TtNode *node, TtArena *arena)
{
    Centroid *c = o;
    c->spec.center = c->spec.onesided = true;
    return tt_spec_init(&c->spec, 2, node, &c->stft, arena);
}

static TtStatus centroid_apply(const void *o, TtTransformArgs *a)
{
    const Centroid *c = o;
    TtAudio *spec = &a->scratch->audio;
    tt_audio_expect_rate(a->audio, c->sample_rate, "SpectralCentroid", a->name);
    TT_TRY(tt_audio_stft(&c->stft, 1, NULL, a->audio, spec, a->scratch, "SpectralCentroid", a->name));
    const int64_t rows = spec->channels * spec->frames;
    TT_TRY(tt_audio_resize(a->audio, spec->channels, spec->frames, 1, false));
    for (int64_t t = 0; t < rows; t++) {
        const float *x = spec->data + t * spec->bins;
        double sum = 0, weighted = 0;
        for (int k = 0; k < spec->bins; k++) {
            const double hz = spec->bins > 1 ? (double)(c->sample_rate / 2) * k / (spec->bins - 1) : 0;
            sum += (double)x[k], weighted += hz * (double)x[k];
        }
        a->audio->data[t] = (float)(weighted / sum); /* 0/0 in silence is NaN, as in torchaudio */
    }
    return TT_OK;
}

const TtTransformDef tt_transform_SpectralCentroid = {
    .name = "SpectralCentroid",
    .help = "mean frequency of each frame, weighted by magnitude (Hz; NaN in digital silence)",
    .options = centroid_options,
    .size = sizeof(Centroid),
    .check = centroid_check,
    .apply = centroid_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- the mel scale: filters on a spectrum */

typedef struct Filters {
    int64_t n_mels;
    double f_min, f_max;
    int norm, mel_scale;
} Filters;

#define FILTERS(type, member)                                                                              \
    {"f_min",                                                                                              \
     TT_OPT_FLOAT,                                                                                         \
     offsetof(type, member.f_min),                                                                         \
     .def = "0.0",                                                                                         \
     .flags = TT_OPT_RANGED,                                                                               \
     .min = 0,                                                                                             \
     .max = 1e9,                                                                                           \
     .help = "where the lowest filter begins, Hz"},                                                        \
        {"f_max",                                                                                          \
         TT_OPT_FLOAT,                                                                                     \
         offsetof(type, member.f_max),                                                                     \
         .def = "null",                                                                                    \
         .flags = TT_OPT_NULL | TT_OPT_RANGED,                                                             \
         .min = 0,                                                                                         \
         .max = 1e9,                                                                                       \
         .help = "where the highest ends, Hz; null: sample_rate // 2"},                                    \
        {"n_mels",                                                                                         \
         TT_OPT_INT,                                                                                       \
         offsetof(type, member.n_mels),                                                                    \
         .def = "128",                                                                                     \
         .flags = TT_OPT_RANGED,                                                                           \
         .min = 1,                                                                                         \
         .max = 1 << 16,                                                                                   \
         .help = "filters"},                                                                               \
        {"norm",                                                                                           \
         TT_OPT_ENUM,                                                                                      \
         offsetof(type, member.norm),                                                                      \
         .def = "null",                                                                                    \
         .flags = TT_OPT_NULL,                                                                             \
         .choices = "null|slaney",                                                                         \
         .help = "slaney: each filter divided by half its width"},                                         \
    {                                                                                                      \
        "mel_scale", TT_OPT_ENUM, offsetof(type, member.mel_scale), .def = "htk", .choices = "htk|slaney", \
                                                                    .help = "formula of the scale"         \
    }

static TtStatus filters_init(Filters *f, int n_freqs, int64_t sample_rate, const TtNode *node, TtBands *out,
                             TtArena *arena)
{
    int empty;
    if (isnan(f->f_max)) f->f_max = (double)(sample_rate / 2);
    if (f->f_min >= f->f_max)
        return TT_FAIL_AT_KEY(node, "f_min", "f_min (%g Hz) must be less than f_max (%g Hz)", f->f_min, f->f_max);
    if ((double)f->n_mels * n_freqs > 1 << 28)
        return TT_FAIL_AT_KEY(node, "n_mels", "%lld filters of %d bins are too many", (long long)f->n_mels, n_freqs);
    tt_mel_bank(out, n_freqs, f->f_min, f->f_max, (int)f->n_mels, sample_rate, f->norm == 1, (TtMelScale)f->mel_scale,
                &empty, arena);
    if (empty > 0)
        tt_warn("%d of the %lld mel filters cover no frequency of the spectrum and stay 0: n_mels is too large for "
                "n_fft, or f_max too small",
                empty, (long long)f->n_mels);
    return TT_OK;
}

/* Rows times BANDS, into the scratch's clip. */
static TtStatus multiply(const TtBands *b, TtTransformArgs *a, const char *who)
{
    TtAudio *in = a->audio, *out = &a->scratch->audio;
    TT_TRY(tt_audio_check_real(in, who, a->name));
    if (in->bins != b->n_in)
        return TT_FAIL(TT_ECONFIG, "%s expects %d bins, but the spectrogram has %d (%s)", who, b->n_in, in->bins,
                       a->name);
    TT_TRY(tt_audio_resize(out, in->channels, in->frames, b->n_out, false));
    out->sample_rate = in->sample_rate;
    tt_audio_loops()->bands(b, in->data, (size_t)in->bins, (size_t)(in->channels * in->frames), out->data,
                            (size_t)out->bins);
    tt_audio_swap(in, out);
    return TT_OK;
}

typedef struct MelScale {
    int64_t sample_rate, n_stft;
    Filters filters;
    TtBands bank; /* derived */
} MelScale;

static const TtOption mel_scale_options[] = {TT_OPTION_SAMPLE_RATE(MelScale, .def = "16000"),
                                             FILTERS(MelScale, filters),
                                             TT_OPTION_COUNT(MelScale, n_stft, "201", 1, "bins of the spectrogram"),
                                             {0}};

static TtStatus mel_scale_check(void *o, const TtNode *node, TtArena *arena)
{
    MelScale *m = o;
    return filters_init(&m->filters, (int)m->n_stft, m->sample_rate, node, &m->bank, arena);
}

static TtStatus mel_scale_apply(const void *o, TtTransformArgs *a)
{
    const MelScale *m = o;
    tt_audio_expect_rate(a->audio, m->sample_rate, "MelScale", a->name);
    return multiply(&m->bank, a, "MelScale");
}

const TtTransformDef tt_transform_MelScale = {
    .name = "MelScale",
    .help = "a spectrogram's bins summed up by triangular filters on the mel scale",
    .options = mel_scale_options,
    .size = sizeof(MelScale),
    .check = mel_scale_check,
    .apply = mel_scale_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- MelSpectrogram */

typedef struct Mel {
    int64_t sample_rate;
    TtSpecArgs spec;
    double power;
    Filters filters;
    const TtNode *onesided;
    TtAudioStft stft; /* derived, as is the bank */
    TtBands bank;
} Mel;

#define MEL_OPTIONS                                                                                                   \
    TT_OPTIONS_FRAMES(Mel, spec, "400"), FILTERS(Mel, filters), TT_OPTION_PAD(Mel, spec),                             \
        TT_OPTIONS_WINDOW(Mel, spec), POWER(Mel, 0, "exponent of the magnitude"), TT_OPTIONS_SPECTRUM(Mel, spec),     \
    {                                                                                                                 \
        "onesided", TT_OPT_NODE, offsetof(Mel, onesided), .flags = TT_OPT_HIDDEN, .help = "accepted; changes nothing" \
    }

static const TtOption mel_options[] = {TT_OPTION_SAMPLE_RATE(Mel, .def = "16000"), MEL_OPTIONS, {0}};
static const TtOption mel_kwargs[] = {MEL_OPTIONS, {0}};

static TtStatus mel_check(void *o, const TtNode *node, TtArena *arena)
{
    Mel *m = o;
    m->spec.onesided = true;
    TT_TRY(tt_spec_init(&m->spec, 2, node, &m->stft, arena));
    return filters_init(&m->filters, tt_audio_stft_bins(&m->stft), m->sample_rate, node, &m->bank, arena);
}

static TtStatus mel_run(const Mel *m, TtTransformArgs *a, const char *who)
{
    tt_audio_expect_rate(a->audio, m->sample_rate, who, a->name);
    return tt_audio_take(
        a, tt_audio_stft(&m->stft, m->power, &m->bank, a->audio, &a->scratch->audio, a->scratch, who, a->name));
}

static TtStatus mel_apply(const void *o, TtTransformArgs *a)
{
    return mel_run(o, a, "MelSpectrogram");
}

const TtTransformDef tt_transform_MelSpectrogram = {
    .name = "MelSpectrogram",
    .help = "Spectrogram, then MelScale",
    .options = mel_options,
    .size = sizeof(Mel),
    .check = mel_check,
    .apply = mel_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- cepstra: logarithm of a filtered spectrum, then the cosine transform */

static TtStatus cepstrum(const TtBands *dct, bool log, TtTransformArgs *a, const char *who)
{
    const TtAudioLoops *l = tt_audio_loops();
    const size_t n = tt_audio_floats(a->audio);
    if (log)
        l->log(a->audio->data, n, 1e-6f);
    else {
        l->decibel(a->audio->data, n, 10, (float)db_least);
        l->clamp(a->audio->data, n, l->max(a->audio->data, n) - (float)mfcc_top_db, INFINITY);
    }
    return multiply(dct, a, who);
}

#define DCT_OPTIONS(type)                                                                  \
    {"dct_type", TT_OPT_INT, offsetof(type, dct_type), .def = "2", .flags = TT_OPT_RANGED, \
     .min = 2,   .max = 2,   .help = "only 2 exists"},                                     \
    {                                                                                      \
        "norm", TT_OPT_ENUM, offsetof(type, norm),                                         \
            .def = "ortho", .flags = TT_OPT_NULL, .choices = "null|ortho",                 \
            .help = "ortho: the cosine transform keeps lengths; null: it is 2 sum x cos"   \
    }

typedef struct Mfcc {
    int64_t n_mfcc, dct_type;
    int norm;
    bool log_mels;
    int64_t sample_rate;
    Mel mel;
    TtBands dct; /* derived */
} Mfcc;

static const TtOption mfcc_options[] = {
    TT_OPTION_SAMPLE_RATE(Mfcc, .def = "16000"),
    TT_OPTION_COUNT(Mfcc, n_mfcc, "40", 1, "coefficients"),
    DCT_OPTIONS(Mfcc),
    {"log_mels", TT_OPT_BOOL, offsetof(Mfcc, log_mels), .def = "false",
     .help = "natural logarithm of the mel spectrum + 1e-6 instead of decibels with top_db 80"},
    {"melkwargs", TT_OPT_MAP, offsetof(Mfcc, mel), .def = "{}", .sub = mel_kwargs,
     .help = "MelSpectrogram's arguments"},
    {0}};

static TtStatus mfcc_check(void *o, const TtNode *node, TtArena *arena)
{
    Mfcc *m = o;
    const TtNode *inner = tt_node_get(node, "melkwargs");
    m->mel.sample_rate = m->sample_rate;
    TT_TRY(mel_check(&m->mel, inner ? inner : node, arena));
    if (m->n_mfcc > m->mel.filters.n_mels)
        return TT_FAIL_AT_KEY(node, "n_mfcc", "n_mfcc (%lld) must not be greater than n_mels (%lld)",
                              (long long)m->n_mfcc, (long long)m->mel.filters.n_mels);
    tt_dct_matrix(&m->dct, (int)m->mel.filters.n_mels, (int)m->n_mfcc, m->norm == 1, arena);
    return TT_OK;
}

static TtStatus mfcc_apply(const void *o, TtTransformArgs *a)
{
    const Mfcc *m = o;
    TT_TRY(mel_run(&m->mel, a, "MFCC"));
    return cepstrum(&m->dct, m->log_mels, a, "MFCC");
}

const TtTransformDef tt_transform_MFCC = {
    .name = "MFCC",
    .help = "cepstral coefficients on the mel scale",
    .options = mfcc_options,
    .size = sizeof(Mfcc),
    .check = mfcc_check,
    .apply = mfcc_apply,
    .media = TT_MEDIA_SOUND,
};

typedef struct Lfcc {
    int64_t sample_rate, n_filter, n_lfcc, dct_type;
    double f_min, f_max;
    int norm;
    bool log_lf;
    Spectrogram spec;
    TtBands bank, dct; /* derived */
} Lfcc;

static const TtOption lfcc_options[] = {
    TT_OPTION_SAMPLE_RATE(Lfcc, .def = "16000"),
    TT_OPTION_COUNT(Lfcc, n_filter, "128", 1, "filters"),
    TT_OPTION_FREQUENCY(Lfcc, f_min, "0.0", 0, "where the lowest filter begins, Hz"),
    TT_OPTION_FREQUENCY(Lfcc, f_max, "null", TT_OPT_NULL, "where the highest ends, Hz; null: sample_rate // 2"),
    TT_OPTION_COUNT(Lfcc, n_lfcc, "40", 1, "coefficients"),
    DCT_OPTIONS(Lfcc),
    {"log_lf", TT_OPT_BOOL, offsetof(Lfcc, log_lf), .def = "false",
     .help = "natural logarithm of the filtered spectrum + 1e-6 instead of decibels with top_db 80"},
    {"speckwargs", TT_OPT_MAP, offsetof(Lfcc, spec), .def = "{}", .sub = spectrogram_options,
     .help = "Spectrogram's arguments"},
    {0}};

static TtStatus lfcc_check(void *o, const TtNode *node, TtArena *arena)
{
    Lfcc *c = o;
    const TtNode *inner = tt_node_get(node, "speckwargs");
    TT_TRY(spectrogram_check(&c->spec, inner ? inner : node, arena));
    if (isnan(c->spec.power) || !c->spec.spec.onesided)
        return tt_node_fail(inner, "LFCC needs a one-sided spectrogram with a power");
    if (isnan(c->f_max)) c->f_max = (double)(c->sample_rate / 2);
    if (c->f_min >= c->f_max)
        return TT_FAIL_AT_KEY(node, "f_min", "f_min (%g Hz) must be less than f_max (%g Hz)", c->f_min, c->f_max);
    if (c->n_lfcc > c->n_filter)
        return TT_FAIL_AT_KEY(node, "n_lfcc", "n_lfcc (%lld) must not be greater than n_filter (%lld)",
                              (long long)c->n_lfcc, (long long)c->n_filter);
    const int bins = tt_audio_stft_bins(&c->spec.stft);
    if ((double)c->n_filter * TT_MAX(bins, (double)c->n_lfcc) > 1 << 28)
        return TT_FAIL_AT_KEY(node, "n_filter", "%lld filters of %d bins are too many", (long long)c->n_filter, bins);
    tt_linear_bank(&c->bank, bins, c->f_min, c->f_max, (int)c->n_filter, c->sample_rate, arena);
    tt_dct_matrix(&c->dct, (int)c->n_filter, (int)c->n_lfcc, c->norm == 1, arena);
    return TT_OK;
}

static TtStatus lfcc_apply(const void *o, TtTransformArgs *a)
{
    const Lfcc *c = o;
    tt_audio_expect_rate(a->audio, c->sample_rate, "LFCC", a->name);
    TT_TRY(tt_audio_take(a, tt_audio_stft(&c->spec.stft, c->spec.power, &c->bank, a->audio, &a->scratch->audio,
                                          a->scratch, "LFCC", a->name)));
    return cepstrum(&c->dct, c->log_lf, a, "LFCC");
}

const TtTransformDef tt_transform_LFCC = {
    .name = "LFCC",
    .help = "cepstral coefficients on a linear scale",
    .options = lfcc_options,
    .size = sizeof(Lfcc),
    .check = lfcc_check,
    .apply = lfcc_apply,
    .media = TT_MEDIA_SOUND,
};
