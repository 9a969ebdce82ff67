/* SPDX-License-Identifier: Apache-2.0 */
/* audio/level.c - transforms of single values: AmplitudeToDB, Log, NormalizeDB, MuLawEncoding, MuLawDecoding, Vol, Fade. */
#include <math.h>

#include "audio/loops.h"
#include "audio/mulaw.h"
#include "data/transform.h"

/* ---- AmplitudeToDB */

typedef struct ToDb {
    int stype;
    double top_db;
} ToDb;

static const TtOption to_db_options[] = {
    {"stype", TT_OPT_ENUM, offsetof(ToDb, stype), .def = "power", .choices = "power|magnitude",
     .help = "power: 10 log10(x); magnitude: 20 log10(x)"},
    {"top_db", TT_OPT_FLOAT, offsetof(ToDb, top_db), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED, .min = 0,
     .max = 1e6, .help = "values further below the clip's largest are raised to that; null: none"},
    {0}};

static TtStatus to_db_apply(const void *o, TtTransformArgs *a)
{
    const ToDb *d = o;
    const TtAudioLoops *l = tt_audio_loops();
    TtAudio *x = a->audio;
    const size_t n = tt_audio_floats(x);
    TT_TRY(tt_audio_check_real(x, "AmplitudeToDB", a->name));
    l->decibel(x->data, n, d->stype == 0 ? 10 : 20, 1e-10f);
    if (!isnan(d->top_db)) l->clamp(x->data, n, l->max(x->data, n) - (float)d->top_db, INFINITY);
    return TT_OK;
}

const TtTransformDef tt_transform_AmplitudeToDB = {
    .name = "AmplitudeToDB",
    .help = "decibels; values below 1e-10 count as that",
    .options = to_db_options,
    .size = sizeof(ToDb),
    .apply = to_db_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- Log */

typedef struct Log {
    double eps;
} Log;

static const TtOption log_options[] = {{"eps", TT_OPT_FLOAT, offsetof(Log, eps), .def = "1e-6", .flags = TT_OPT_RANGED,
                                        .min = 0, .max = 1e6, .help = "added first"},
                                       {0}};

static TtStatus log_apply(const void *o, TtTransformArgs *a)
{
    TT_TRY(tt_audio_check_real(a->audio, "Log", a->name));
    tt_audio_loops()->log(a->audio->data, tt_audio_floats(a->audio), (float)((const Log *)o)->eps);
    return TT_OK;
}

const TtTransformDef tt_transform_Log = {
    .name = "Log",
    .help = "natural logarithm of x + eps, as MFCC takes it with log_mels",
    .options = log_options,
    .size = sizeof(Log),
    .apply = log_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- NormalizeDB */

typedef struct NormalizeDb {
    double min_level_db;
} NormalizeDb;

static const TtOption normalize_db_options[] = {{"min_level_db", TT_OPT_FLOAT, offsetof(NormalizeDb, min_level_db),
                                                 .def = "-100", .flags = TT_OPT_RANGED | TT_OPT_BELOW_MAX, .min = -1e6,
                                                 .max = 0, .help = "what becomes 0"},
                                                {0}};

static TtStatus normalize_db_apply(const void *o, TtTransformArgs *a)
{
    const float least = (float)((const NormalizeDb *)o)->min_level_db;
    const TtAudioLoops *l = tt_audio_loops();
    float *x = a->audio->data;
    const size_t n = tt_audio_floats(a->audio);
    TT_TRY(tt_audio_check_real(a->audio, "NormalizeDB", a->name));
    l->decibel(x, n, 20, 1e-5f);
    l->normalize(x, n, least, -least); /* (least - db) / least = (db - least) / -least */
    l->clamp(x, n, 0, 1);
    return TT_OK;
}

const TtTransformDef tt_transform_NormalizeDB = {
    .name = "NormalizeDB",
    .help = "decibels of a magnitude, min_level_db to 0 mapped to [0,1] and limited to it, as the WaveRNN example does",
    .options = normalize_db_options,
    .size = sizeof(NormalizeDb),
    .apply = normalize_db_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- MuLawEncoding, MuLawDecoding */

int64_t tt_mulaw_encode(float x, int classes)
{
    const float mu = (float)(classes - 1), sign = x > 0 ? 1.0f : x < 0 ? -1.0f : 0.0f;
    const float y = sign * log1pf(mu * fabsf(x)) / log1pf(mu);
    const float c = (y + 1) / 2 * mu + 0.5f;
    return fabsf(c) < 0x1p62f ? (int64_t)c : 0; /* NaN and what no integer holds */
}

float tt_mulaw_decode(float c, int classes)
{
    const float mu = (float)(classes - 1), x = c / mu * 2 - 1, sign = x > 0 ? 1.0f : x < 0 ? -1.0f : 0.0f;
    return sign * (expf(fabsf(x) * log1pf(mu)) - 1) / mu;
}

typedef struct MuLaw {
    int64_t quantization_channels;
} MuLaw;

static const TtOption mulaw_options[] = {{"quantization_channels", TT_OPT_INT, offsetof(MuLaw, quantization_channels),
                                          .def = "256", .flags = TT_OPT_RANGED, .min = 2, .max = 1 << 24,
                                          .help = "classes"},
                                         {0}};

static TtStatus encode_apply(const void *o, TtTransformArgs *a)
{
    const int classes = (int)((const MuLaw *)o)->quantization_channels;
    float *x = a->audio->data;
    const size_t n = tt_audio_floats(a->audio);
    TT_TRY(tt_audio_check_real(a->audio, "MuLawEncoding", a->name));
    for (size_t i = 0; i < n; i++) x[i] = (float)tt_mulaw_encode(x[i], classes);
    return TT_OK;
}

static TtStatus decode_apply(const void *o, TtTransformArgs *a)
{
    const int classes = (int)((const MuLaw *)o)->quantization_channels;
    float *x = a->audio->data;
    const size_t n = tt_audio_floats(a->audio);
    TT_TRY(tt_audio_check_real(a->audio, "MuLawDecoding", a->name));
    for (size_t i = 0; i < n; i++) x[i] = tt_mulaw_decode(x[i], classes);
    return TT_OK;
}

const TtTransformDef tt_transform_MuLawEncoding = {
    .name = "MuLawEncoding",
    .help = "the mu-law class of each sample, from 0 (as a float: features have one type)",
    .options = mulaw_options,
    .size = sizeof(MuLaw),
    .apply = encode_apply,
    .media = TT_MEDIA_SOUND,
};

const TtTransformDef tt_transform_MuLawDecoding = {
    .name = "MuLawDecoding",
    .help = "samples in [-1,1] from mu-law classes",
    .options = mulaw_options,
    .size = sizeof(MuLaw),
    .apply = decode_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- Vol */

typedef struct Vol {
    double gain;
    int gain_type;
    float by; /* derived */
} Vol;

static const TtOption vol_options[] = {{"gain", TT_OPT_FLOAT, offsetof(Vol, gain), .flags = TT_OPT_RANGED, .min = -1e4,
                                        .max = 1e9, .help = "in the unit of gain_type"},
                                       {"gain_type", TT_OPT_ENUM, offsetof(Vol, gain_type), .def = "amplitude",
                                        .choices = "amplitude|power|db",
                                        .help = "a factor, the square of one, or decibels"},
                                       {0}};

static TtStatus vol_check(void *o, const TtNode *node, TtArena *arena)
{
    Vol *v = o;
    if (v->gain_type != 2 && v->gain < 0)
        return TT_FAIL_AT_KEY(node, "gain", "gain must not be negative, unless gain_type is db");
    v->by = (float)(v->gain_type == 0 ? v->gain : v->gain_type == 1 ? sqrt(v->gain) : pow(10, v->gain / 20));
    return isfinite(v->by) ? TT_OK : TT_FAIL_AT_KEY(node, "gain", "gain is too large");
}

static TtStatus vol_apply(const void *o, TtTransformArgs *a)
{
    const TtAudioLoops *l = tt_audio_loops();
    const size_t n = tt_audio_floats(a->audio);
    TT_TRY(tt_audio_check_wave(a->audio, "Vol", a->name));
    l->scale(a->audio->data, n, ((const Vol *)o)->by);
    l->clamp(a->audio->data, n, -1, 1);
    return TT_OK;
}

const TtTransformDef tt_transform_Vol = {
    .name = "Vol",
    .help = "amplify, then limit to [-1,1]",
    .options = vol_options,
    .size = sizeof(Vol),
    .check = vol_check,
    .apply = vol_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- Fade */

typedef enum FadeShape { FADE_LINEAR, FADE_EXPONENTIAL, FADE_LOGARITHMIC, FADE_QUARTER_SINE, FADE_HALF_SINE } FadeShape;

typedef struct Fade {
    int64_t fade_in_len, fade_out_len;
    int fade_shape;
} Fade;

static const TtOption fade_options[] = {{"fade_in_len", TT_OPT_INT, offsetof(Fade, fade_in_len), .def = "0",
                                         .flags = TT_OPT_RANGED, .min = 0, .max = 1 << 30, .help = "samples"},
                                        {"fade_out_len", TT_OPT_INT, offsetof(Fade, fade_out_len), .def = "0",
                                         .flags = TT_OPT_RANGED, .min = 0, .max = 1 << 30, .help = "samples"},
                                        {"fade_shape", TT_OPT_ENUM, offsetof(Fade, fade_shape), .def = "linear",
                                         .choices = "linear|exponential|logarithmic|quarter_sine|half_sine",
                                         .help = "curve"},
                                        {0}};

/* The gain at T of [0,1], the way from silence to full. A fade-out is the same backwards. */
static float fade_gain(int shape, double t)
{
    double v = t;
    if (shape == FADE_EXPONENTIAL) v = exp2(t - 1) * t;
    if (shape == FADE_LOGARITHMIC) v = log10(0.1 + t) + 1;
    if (shape == FADE_QUARTER_SINE) v = sin(t * M_PI / 2);
    if (shape == FADE_HALF_SINE) v = sin(t * M_PI - M_PI / 2) / 2 + 0.5;
    return (float)fmin(fmax(v, 0), 1);
}

static TtStatus fade_apply(const void *o, TtTransformArgs *a)
{
    const Fade *f = o;
    TtAudio *x = a->audio;
    const int64_t in = f->fade_in_len, out = f->fade_out_len;
    TT_TRY(tt_audio_check_wave(x, "Fade", a->name));
    if (in > x->frames || out > x->frames)
        return TT_FAIL(TT_EDATA, "%s: %lld samples are too few for a Fade of %lld", a->name, (long long)x->frames,
                       (long long)TT_MAX(in, out));
    for (int c = 0; c < x->channels; c++) {
        float *p = x->data + c * x->frames, *q = p + x->frames - out;
        for (int64_t i = 0; i < in; i++) p[i] *= fade_gain(f->fade_shape, in > 1 ? (double)i / (double)(in - 1) : 0);
        for (int64_t i = 0; i < out; i++)
            q[i] *= fade_gain(f->fade_shape, 1 - (out > 1 ? (double)i / (double)(out - 1) : 0));
    }
    return TT_OK;
}

const TtTransformDef tt_transform_Fade = {
    .name = "Fade",
    .help = "rise from silence at the start, fall to it at the end",
    .options = fade_options,
    .size = sizeof(Fade),
    .apply = fade_apply,
    .media = TT_MEDIA_SOUND,
};
