/* SPDX-License-Identifier: Apache-2.0 */
/* audio/mix.c - two waveforms into one, and the transforms that take the second from files: AddNoise, FFTConvolve. */
#include "audio/mix.h"

#include <math.h>
#include <string.h>

#include "audio/options.h"
#include "audio/reader.h"
#include "audio/resample.h"
#include "audio/shared.h"
#include "data/paths.h"

static double energy(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

double tt_snr_gain(const float *x, const float *noise, int64_t n, double snr)
{
    const double power = energy(noise, n);
    return power > 0 ? sqrt(energy(x, n) / power) * pow(10, -snr / 20) : 0;
}

void tt_add_noise(TtAudio *a, const TtAudio *noise, double snr)
{
    for (int c = 0; c < a->channels; c++) {
        float *x = a->data + c * a->frames;
        const float *y = noise->data + (noise->channels > 1 ? c : 0) * a->frames;
        const float by = (float)tt_snr_gain(x, y, a->frames, snr);
        for (int64_t i = 0; i < a->frames && by != 0; i++) x[i] += by * y[i];
    }
}

/* ---- convolution */

typedef struct Blocks {
    const TtFft *fft;
    int64_t n, step; /* length of a transform, samples of a block */
    int64_t batch;
    float *h, *x, *z, *y; /* spectrum of the response (n + 2); batch rows of n, of n + 2, of n */
    void *scratch;
} Blocks;

static TtStatus get_blocks(int64_t total, int64_t response, TtTransformScratch *scratch, Blocks *b)
{
    enum { ROOM = 1 << 20, LANES = 16 };
    *b = (Blocks){.n = 256};
    while (b->n < total && b->n < 4 * response) b->n *= 2;
    b->step = b->n - response + 1;
    b->batch = TT_MAX(TT_MIN((total + b->step - 1) / b->step, TT_MIN((int64_t)LANES, ROOM / b->n)), 1);
    TT_TRY(tt_fft_shared(b->n, &b->fft));
    const size_t row = tt_aligned(sizeof(float) * (size_t)(b->n + 2));
    char *at;
    TT_TRY(tt_transform_table(scratch, row * (size_t)(1 + 3 * b->batch) + tt_fft_scratch(b->fft), (void **)&at));
    b->h = (float *)(void *)at, at += row;
    b->x = (float *)(void *)at, at += row * (size_t)b->batch;
    b->z = (float *)(void *)at, at += row * (size_t)b->batch;
    b->y = (float *)(void *)at, at += row * (size_t)b->batch;
    b->scratch = at;
    return TT_OK;
}

/* OUT[i] = full convolution's sample FIRST + i. */
static void convolve(const Blocks *b, const float *x, int64_t n, const float *h, int64_t m, int64_t first, int64_t made,
                     float *out)
{
    const int64_t width = b->n + 2;
    const float by = 1 / (float)b->n;
    memset(b->x, 0, sizeof(float) * (size_t)b->n);
    memcpy(b->x, h, sizeof(float) * (size_t)m);
    tt_fft_r2c(b->fft, 1, b->x, 0, NULL, b->h, 0, b->scratch);
    memset(out, 0, sizeof(float) * (size_t)made);
    for (int64_t at = 0; at < n; at += b->step * b->batch) {
        const int64_t rows = TT_MIN(b->batch, (n - at + b->step - 1) / b->step);
        memset(b->x, 0, sizeof(float) * (size_t)(rows * width));
        for (int64_t r = 0; r < rows; r++)
            memcpy(b->x + r * width, x + at + r * b->step,
                   sizeof(float) * (size_t)TT_MIN(b->step, n - at - r * b->step));
        tt_fft_r2c(b->fft, rows, b->x, width, NULL, b->z, width, b->scratch);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t k = 0; k <= b->n / 2; k++) {
                float *z = b->z + r * width + 2 * k;
                const float re = z[0], im = z[1], p = b->h[2 * k] * by, q = b->h[2 * k + 1] * by;
                z[0] = re * p - im * q, z[1] = re * q + im * p;
            }
        tt_fft_c2r(b->fft, rows, b->z, width, b->y, width, b->scratch);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t start = at + r * b->step - first; /* of this block in OUT */
            const int64_t lo = TT_MAX(0, -start), hi = TT_MIN(b->n, made - start);
            for (int64_t i = lo; i < hi; i++) out[start + i] += b->y[r * width + i];
        }
    }
}

TtStatus tt_fft_convolve(const TtAudio *x, const TtAudio *h, TtConvolveMode mode, TtAudio *out,
                         TtTransformScratch *scratch, const char *name)
{
    enum { LONGEST = 1 << 24 };
    const int64_t n = x->frames, m = h->frames, full = n + m - 1;
    const int64_t made = mode == TT_CONVOLVE_FULL   ? full
                         : mode == TT_CONVOLVE_SAME ? n
                                                    : TT_MAX(n, m) - TT_MIN(n, m) + 1;
    TT_TRY(tt_audio_check_wave(x, "FFTConvolve", name));
    if (n < 1 || m < 1 || m > LONGEST)
        return TT_FAIL(TT_EDATA, "%s: FFTConvolve cannot take %lld samples and an impulse response of %lld", name,
                       (long long)n, (long long)m);
    if (x->channels != h->channels && x->channels != 1 && h->channels != 1)
        return TT_FAIL(TT_EDATA, "%s: FFTConvolve cannot take %d channels and an impulse response of %d", name,
                       x->channels, h->channels);
    Blocks b;
    TT_TRY(get_blocks(full, m, scratch, &b));
    TT_TRY(tt_audio_resize(out, TT_MAX(x->channels, h->channels), made, 1, false));
    out->sample_rate = x->sample_rate;
    for (int c = 0; c < out->channels; c++)
        convolve(&b, x->data + (x->channels > 1 ? c : 0) * n, n, h->data + (h->channels > 1 ? c : 0) * m, m,
                 (full - made) / 2, made, out->data + c * made);
    return TT_OK;
}

/* ---- the second waveform, from files */

#define FILES(type, member, text)                                                                           \
    {                                                                                                       \
#member, TT_OPT_STRINGS, offsetof(type, member), .min_n = 1,                                        \
                                                         .help = text "; wildcards and braces are expanded" \
    }

static TtStatus check_files(TtStrings *files, const char *key, const TtNode *node, TtArena *arena)
{
    if (tt_paths_expand(files, arena, files) != TT_OK) return TT_FAIL_AT_KEY(node, key, "%s", tt_error_message());
    return TT_OK;
}

/* One channel when the number of channels is neither 1 nor WANTED. */
static void mix_down(TtAudio *a, int wanted)
{
    if (a->channels == 1 || a->channels == wanted) return;
    const float by = 1 / (float)a->channels;
    for (int64_t i = 0; i < a->frames; i++) {
        float sum = 0;
        for (int c = 0; c < a->channels; c++) sum += a->data[c * a->frames + i];
        a->data[i] = sum * by;
    }
    a->channels = 1;
}

/* Some of one of FILES at the rate of LIKE: all of it, or, with NEED >= 0, a stretch from a random place that makes at
 * least NEED samples where the file is long enough. */
static TtStatus read_some(const TtStrings *files, int64_t need, const TtAudio *like, TtRng *rng,
                          TtTransformScratch *scratch, TtAudio *out)
{
    enum { ALL = 1 << 28 };
    const char *path = files->v[tt_rng_below(rng, (uint64_t)files->n)];
    const uint64_t place = tt_rng_u64(rng);
    TtAudioReader *r;
    TT_TRY(tt_audio_open(path, &r));
    const TtAudioInfo info = tt_audio_reader_info(r);
    const double ratio = like->sample_rate > 0 ? (double)info.sample_rate / like->sample_rate : 1;
    const int64_t wanted = need < 0 ? ALL : (int64_t)fmin((double)need * ratio + 2, ALL);
    TtStatus status = TT_OK;
    if (info.frames > wanted) status = tt_audio_seek(r, (int64_t)(place % (uint64_t)(info.frames - wanted + 1)));
    if (status == TT_OK) status = tt_audio_read(r, wanted, out);
    tt_audio_close(r);
    TT_TRY(status);
    if (out->frames < 1) return TT_FAIL(TT_EDATA, "%s: there is no sound in it", path);
    return like->sample_rate > 0 ? tt_audio_to_rate(out, like->sample_rate, scratch, path) : TT_OK;
}

/* ---- AddNoise */

typedef struct Noise {
    TtStrings noise;
    TtFloats snr;
} Noise;

static const TtOption noise_options[] = {FILES(Noise, noise, "sound files, one of which is drawn for each clip"),
                                         {"snr", TT_OPT_FLOATS, offsetof(Noise, snr), .flags = TT_OPT_RANGED,
                                          .min = -1000, .max = 1000, .min_n = 1, .max_n = 2,
                                          .help = "signal-to-noise ratio in dB, or [min, max] of which it is drawn"},
                                         {0}};

static TtStatus noise_check(void *o, const TtNode *node, TtArena *arena)
{
    Noise *k = o;
    if (k->snr.n == 2 && k->snr.v[0] > k->snr.v[1])
        return TT_FAIL_AT_KEY(node, "snr", "snr must be [min, max], but %g is greater than %g", k->snr.v[0],
                              k->snr.v[1]);
    return check_files(&k->noise, "noise", node, arena);
}

/* Repeat the noise until it is FRAMES long. */
static TtStatus stretch(TtAudio *from, int64_t frames, TtAudio *to)
{
    TT_TRY(tt_audio_resize(to, from->channels, frames, 1, false));
    for (int c = 0; c < from->channels; c++)
        for (int64_t i = 0; i < frames; i += from->frames)
            memcpy(to->data + c * frames + i, from->data + c * from->frames,
                   sizeof(float) * (size_t)TT_MIN(from->frames, frames - i));
    return TT_OK;
}

static TtStatus noise_apply(const void *o, TtTransformArgs *a)
{
    const Noise *k = o;
    TtAudio file = {0};
    TT_TRY(tt_audio_check_wave(a->audio, "AddNoise", a->name));
    if (a->audio->frames < 1) return TT_OK;
    const double snr = tt_rng_uniform(&a->rng, k->snr.v[0], k->snr.v[k->snr.n - 1]);
    TtStatus status = read_some(&k->noise, a->audio->frames, a->audio, &a->rng, a->scratch, &file);
    if (status == TT_OK) {
        mix_down(&file, a->audio->channels);
        status = stretch(&file, a->audio->frames, &a->scratch->audio);
    }
    if (status == TT_OK) tt_add_noise(a->audio, &a->scratch->audio, snr);
    tt_audio_free(&file);
    return status;
}

const TtTransformDef tt_transform_AddNoise = {
    .name = "AddNoise",
    .help = "add noise from a file: a random stretch, repeated when it is too short, at the clip's rate",
    .options = noise_options,
    .size = sizeof(Noise),
    .check = noise_check,
    .apply = noise_apply,
    .media = TT_MEDIA_SOUND,
    .random = true,
};

/* ---- FFTConvolve */

typedef struct Convolve {
    TtStrings impulse_response;
    int mode;
    bool normalize;
} Convolve;

static const TtOption convolve_options[] = {
    FILES(Convolve, impulse_response, "sound files, one of which is drawn for each clip"),
    {"mode", TT_OPT_ENUM, offsetof(Convolve, mode), .def = "full", .choices = TT_CONVOLVE_NAMES,
     .help = "full: with the reverberation's end; same: as long as the clip; valid: without the edges"},
    {"normalize", TT_OPT_BOOL, offsetof(Convolve, normalize), .def = "false",
     .help = "divide each channel of the impulse response by its Euclidean norm first"},
    {0}};

static TtStatus convolve_check(void *o, const TtNode *node, TtArena *arena)
{
    return check_files(&((Convolve *)o)->impulse_response, "impulse_response", node, arena);
}

static TtStatus convolve_apply(const void *o, TtTransformArgs *a)
{
    const Convolve *k = o;
    TtAudio h = {0};
    TT_TRY(tt_audio_check_wave(a->audio, "FFTConvolve", a->name));
    TtStatus status = read_some(&k->impulse_response, -1, a->audio, &a->rng, a->scratch, &h);
    for (int c = 0; c < h.channels && k->normalize && status == TT_OK; c++) {
        const double sum = energy(h.data + c * h.frames, h.frames);
        if (sum > 0) tt_audio_loops()->scale(h.data + c * h.frames, (size_t)h.frames, (float)(1 / sqrt(sum)));
    }
    if (status == TT_OK)
        status = tt_audio_take(
            a, tt_fft_convolve(a->audio, &h, (TtConvolveMode)k->mode, &a->scratch->audio, a->scratch, a->name));
    tt_audio_free(&h);
    return status;
}

const TtTransformDef tt_transform_FFTConvolve = {
    .name = "FFTConvolve",
    .help = "convolve with an impulse response from a file, as reverberation does",
    .options = convolve_options,
    .size = sizeof(Convolve),
    .check = convolve_check,
    .apply = convolve_apply,
    .media = TT_MEDIA_SOUND,
    .random = true,
};
