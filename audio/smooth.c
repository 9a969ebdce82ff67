/* SPDX-License-Identifier: Apache-2.0 */
/* audio/smooth.c - transforms along frames: SlidingWindowCmn, ComputeDeltas. */
#include <math.h>
#include <string.h>

#include "audio/options.h"

/* ---- SlidingWindowCmn */

typedef struct Cmn {
    int64_t cmn_window, min_cmn_window;
    bool center, norm_vars;
} Cmn;

static const TtOption cmn_options[] = {
    {"cmn_window", TT_OPT_INT, offsetof(Cmn, cmn_window), .def = "600", .flags = TT_OPT_RANGED, .min = 1,
     .max = 1 << 30, .help = "frames that the mean is taken over"},
    {"min_cmn_window", TT_OPT_INT, offsetof(Cmn, min_cmn_window), .def = "100", .flags = TT_OPT_RANGED, .min = 1,
     .max = 1 << 30, .help = "frames that it takes at least, at the start of the clip (without center)"},
    {"center", TT_OPT_BOOL, offsetof(Cmn, center), .def = "false",
     .help = "the window stands around the frame, not before it"},
    {"norm_vars", TT_OPT_BOOL, offsetof(Cmn, norm_vars), .def = "false",
     .help = "divide by the standard deviation too"},
    {0}};

static void cmn_window(const Cmn *o, int64_t t, int64_t frames, int64_t *start, int64_t *end)
{
    int64_t a = o->center ? t - o->cmn_window / 2 : t - o->cmn_window, b = o->center ? a + o->cmn_window : t + 1;
    if (a < 0) b -= a, a = 0;
    if (!o->center && b > t) b = TT_MAX(t + 1, o->min_cmn_window);
    if (b > frames) a = TT_MAX(a - (b - frames), 0), b = frames;
    *start = a, *end = b;
}

/* Add (or take away) a frame to the sums of values and of squares. */
static void cmn_count(const float *x, int bins, double sign, double *sum, double *squares)
{
    for (int k = 0; k < bins; k++) sum[k] += sign * (double)x[k], squares[k] += sign * (double)x[k] * (double)x[k];
}

static TtStatus cmn_apply(const void *options, TtTransformArgs *a)
{
    const Cmn *o = options;
    TtAudio *in = a->audio, *out = &a->scratch->audio;
    const int bins = in->bins;
    double *sum;
    TT_TRY(tt_audio_check_real(in, "SlidingWindowCmn", a->name));
    TT_TRY(tt_audio_resize(out, in->channels, in->frames, bins, false));
    TT_TRY(tt_transform_table(a->scratch, 2 * sizeof(double) * (size_t)bins, (void **)&sum));
    out->sample_rate = in->sample_rate;
    double *squares = sum + bins;
    for (int c = 0; c < in->channels; c++) {
        const float *x = in->data + (size_t)c * (size_t)in->frames * (size_t)bins;
        float *y = out->data + (size_t)c * (size_t)in->frames * (size_t)bins;
        int64_t from = 0, to = 0; /* what the sums hold */
        memset(sum, 0, 2 * sizeof(double) * (size_t)bins);
        for (int64_t t = 0; t < in->frames; t++, y += bins) {
            int64_t start, end;
            cmn_window(o, t, in->frames, &start, &end);
            for (; to < end; to++) cmn_count(x + to * bins, bins, 1, sum, squares);
            for (; from < start; from++) cmn_count(x + from * bins, bins, -1, sum, squares);
            const double n = (double)(end - start);
            for (int k = 0; k < bins; k++) {
                const double mean = sum[k] / n, var = squares[k] / n - mean * mean;
                double v = (double)x[t * bins + k] - mean;
                if (o->norm_vars) v = end - start == 1 ? 0 : v / sqrt(var);
                y[k] = (float)v;
            }
        }
    }
    tt_audio_swap(in, out);
    return TT_OK;
}

const TtTransformDef tt_transform_SlidingWindowCmn = {
    .name = "SlidingWindowCmn",
    .help = "subtract each bin's mean over the frames around or before",
    .options = cmn_options,
    .size = sizeof(Cmn),
    .apply = cmn_apply,
    .media = TT_MEDIA_SOUND,
};

/* ---- ComputeDeltas */

typedef struct Deltas {
    int64_t win_length;
    int mode;
} Deltas;

static const TtOption deltas_options[] = {
    {"win_length", TT_OPT_INT, offsetof(Deltas, win_length), .def = "5", .flags = TT_OPT_RANGED, .min = 3,
     .max = 1 << 20, .help = "frames that the slope is taken over"},
    {"mode", TT_OPT_ENUM, offsetof(Deltas, mode), .def = "replicate", .choices = "reflect|constant|replicate|circular",
     .help = "what stands before and after the clip"},
    {0}};

/* The frame that stands at T, -1 for zeros. */
static int64_t at_edge(int mode, int64_t t, int64_t frames)
{
    if (t >= 0 && t < frames) return t;
    switch (mode) {
    case TT_PAD_REFLECT: return t < 0 ? -t : 2 * (frames - 1) - t;
    case TT_PAD_REPLICATE: return t < 0 ? 0 : frames - 1;
    case TT_PAD_CIRCULAR: return t < 0 ? t + frames : t - frames;
    default: return -1;
    }
}

static TtStatus deltas_apply(const void *options, TtTransformArgs *a)
{
    const Deltas *o = options;
    TtAudio *in = a->audio, *out = &a->scratch->audio;
    const int64_t n = (o->win_length - 1) / 2, frames = in->frames;
    const int64_t least = o->mode == TT_PAD_REFLECT ? n + 1 : o->mode == TT_PAD_CIRCULAR ? n : 1;
    const double by = 3.0 / ((double)n * (double)(n + 1) * (double)(2 * n + 1));
    TT_TRY(tt_audio_check_real(in, "ComputeDeltas", a->name));
    if (frames < least)
        return TT_FAIL(TT_EDATA, "%s: %lld frames are too few for ComputeDeltas with win_length %lld", a->name,
                       (long long)frames, (long long)o->win_length);
    TT_TRY(tt_audio_resize(out, in->channels, frames, in->bins, false));
    out->sample_rate = in->sample_rate;
    memset(out->data, 0, sizeof(float) * tt_audio_floats(out));
    for (int64_t r = 0; r < in->channels * frames; r++) {
        const float *x = in->data + (size_t)(r / frames * frames) * (size_t)in->bins;
        float *y = out->data + (size_t)r * (size_t)in->bins;
        for (int64_t k = -n; k <= n; k++) {
            const int64_t t = at_edge(o->mode, r % frames + k, frames);
            if (t < 0) continue;
            const float w = (float)((double)k * by), *p = x + (size_t)t * (size_t)in->bins;
            for (int i = 0; i < in->bins; i++) y[i] += w * p[i];
        }
    }
    tt_audio_swap(in, out);
    return TT_OK;
}

const TtTransformDef tt_transform_ComputeDeltas = {
    .name = "ComputeDeltas",
    .help = "slope of each bin over frames, by regression",
    .options = deltas_options,
    .size = sizeof(Deltas),
    .apply = deltas_apply,
    .media = TT_MEDIA_SOUND,
};
