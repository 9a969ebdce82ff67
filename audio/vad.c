/* SPDX-License-Identifier: Apache-2.0 */
/* audio/vad.c - Vad: cut off what stands before the first speech, as SoX's vad effect and torchaudio.functional.vad do.
 *
 * Every 1 / measure_freq seconds the power of a window's cepstrum in the range of voices is measured, with the noise's
 * running spectrum taken off; when its running mean reaches trigger_level, the clip is cut shortly before. */
#include <math.h>
#include <string.h>

#include "audio/options.h"
#include "audio/shared.h"

typedef struct Vad {
    int64_t sample_rate;
    double trigger_level, trigger_time, search_time, allowed_gap, pre_trigger_time, boot_time, noise_up_time,
        noise_down_time, noise_reduction_amount, measure_freq, measure_duration, measure_smooth_time, hp_filter_freq,
        lp_filter_freq, hp_lifter_freq, lp_lifter_freq;
    /* Derived. */
    int64_t window_len, period, pre_trigger;
    int dft, measures, gap, spectrum_start, spectrum_end, cepstrum_start, cepstrum_end, boot_max;
    float *window, *cepstrum_window;
    double up, down, smooth, trigger;
    const TtFft *fft, *cepstrum_fft;
} Vad;

#define NUMBER(member, value, lo, hi, text)                                                                       \
    {                                                                                                             \
#member, TT_OPT_FLOAT, offsetof(Vad, member), .def = value, .flags = TT_OPT_RANGED, .min = lo, .max = hi, \
                                                      .help = text                                                \
    }
#define SOME(member, value, hi, text)                                                                          \
    {                                                                                                          \
#member, TT_OPT_FLOAT, offsetof(Vad, member), .def = value, .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, \
                                                      .min = 0, .max = hi, .help = text                        \
    }

static const TtOption options[] = {
    TT_OPTION_SAMPLE_RATE(Vad),
    NUMBER(trigger_level, "7.0", -1e6, 1e6, "measurement that counts as speech"),
    SOME(trigger_time, "0.25", 1e4, "seconds over which measurements are averaged"),
    SOME(search_time, "1.0", 1e4, "seconds before the trigger in which quieter speech is looked for"),
    NUMBER(allowed_gap, "0.25", 0, 1e4, "longest gap between stretches of speech found so, in seconds"),
    NUMBER(pre_trigger_time, "0.0", 0, 1e4, "seconds kept before what is found"),
    NUMBER(boot_time, "0.35", 0, 1e4, "seconds from which the noise is estimated at first"),
    SOME(noise_up_time, "0.1", 1e4, "seconds in which the noise's estimate rises"),
    SOME(noise_down_time, "0.01", 1e4, "seconds in which it falls"),
    NUMBER(noise_reduction_amount, "1.35", 0, 1e4, "how much of the noise is taken off"),
    SOME(measure_freq, "20.0", 1e4, "measurements a second"),
    {"measure_duration", TT_OPT_FLOAT, offsetof(Vad, measure_duration), .def = "null",
     .flags = TT_OPT_NULL | TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = 100,
     .help = "seconds of one; null: twice its period"},
    SOME(measure_smooth_time, "0.4", 1e4, "seconds over which spectra are averaged"),
    NUMBER(hp_filter_freq, "50.0", 0, 1e9, "lowest frequency looked at, Hz"),
    NUMBER(lp_filter_freq, "6000.0", 0, 1e9, "highest, Hz"),
    SOME(hp_lifter_freq, "150.0", 1e9, "lowest frequency of a voice, Hz"),
    SOME(lp_lifter_freq, "2000.0", 1e9, "highest, Hz"),
    {0}};

static float *hann(int64_t n, double by, TtArena *arena)
{
    float *w = TT_NEWN(arena, float, n);
    tt_window(TT_WINDOW_HANN, n, true, 0, 0, w);
    for (int64_t i = 0; i < n; i++) w[i] *= (float)by;
    return w;
}

static TtStatus check(void *o, const TtNode *node, TtArena *arena)
{
    enum { LONGEST = 1 << 22 };
    Vad *v = o;
    const double rate = (double)v->sample_rate, freq = v->measure_freq;
    const double duration = isnan(v->measure_duration) ? 2 / freq : v->measure_duration;
    if (rate * duration + 0.5 > LONGEST || v->search_time * freq > LONGEST || v->allowed_gap * freq > LONGEST ||
        v->boot_time * freq > LONGEST)
        return TT_FAIL_AT_KEY(node, "sample_rate", "these times are too long for a sample_rate of %lld",
                              (long long)v->sample_rate);
    v->window_len = (int64_t)(rate * duration + 0.5);
    v->period = (int64_t)(rate / freq + 0.5);
    v->measures = (int)ceil(v->search_time * freq);
    v->gap = (int)(v->allowed_gap * freq + 0.5);
    v->pre_trigger = (int64_t)(v->pre_trigger_time * rate + 0.5);
    if (v->window_len < 1 || v->period < 1)
        return TT_FAIL_AT_KEY(node, "measure_freq", "the measurements are shorter than a sample");
    for (v->dft = 16; v->dft < v->window_len; v->dft *= 2) {
    }
    v->spectrum_start = (int)fmax(fmin(v->hp_filter_freq / rate, 1) * v->dft + 0.5, 1);
    v->spectrum_end = TT_MIN((int)(fmin(v->lp_filter_freq / rate, 1) * v->dft + 0.5), v->dft / 2);
    if (v->spectrum_end <= v->spectrum_start)
        return TT_FAIL_AT_KEY(node, "lp_filter_freq", "no frequency is left between hp_filter_freq and lp_filter_freq");
    v->cepstrum_start = (int)fmin(ceil(rate * 0.5 / v->lp_lifter_freq), v->dft);
    v->cepstrum_end = (int)fmin(floor(rate * 0.5 / v->hp_lifter_freq), v->dft / 4);
    if (v->cepstrum_end <= v->cepstrum_start)
        return TT_FAIL_AT_KEY(node, "lp_lifter_freq", "no frequency is left between hp_lifter_freq and lp_lifter_freq");
    v->window = hann(v->window_len, 2 / sqrt((double)v->window_len), arena);
    const int bins = v->spectrum_end - v->spectrum_start;
    v->cepstrum_window = hann(bins, 2 / sqrt(bins), arena);
    v->up = exp(-1 / (v->noise_up_time * freq)), v->down = exp(-1 / (v->noise_down_time * freq));
    v->smooth = exp(-1 / (v->measure_smooth_time * freq)), v->trigger = exp(-1 / (v->trigger_time * freq));
    v->boot_max = (int)(v->boot_time * freq - 0.5);
    TT_TRY(tt_fft_shared(v->dft, &v->fft));
    return tt_fft_shared(v->dft / 2, &v->cepstrum_fft);
}

/* One clip's state: running spectra and measurements of each channel, and room for a transform. */
typedef struct State {
    float *spectrum, *noise, *measures, *mean, *x, *z;
    void *fft;
} State;

static TtStatus get_state(const Vad *v, int channels, TtTransformScratch *scratch, State *s)
{
    const size_t n = (size_t)v->dft, kept = (size_t)channels * (2 * n + (size_t)v->measures + 1);
    const size_t floats = tt_aligned(sizeof(float) * kept), x = tt_aligned(sizeof(float) * n);
    const size_t z = tt_aligned(sizeof(float) * (n + 2));
    char *at;
    TT_TRY(tt_transform_table(scratch, floats + x + z + TT_MAX(tt_fft_scratch(v->fft), tt_fft_scratch(v->cepstrum_fft)),
                              (void **)&at));
    memset(at, 0, floats);
    s->spectrum = (float *)(void *)at;
    s->noise = s->spectrum + (size_t)channels * n;
    s->measures = s->noise + (size_t)channels * n;
    s->mean = s->measures + (size_t)channels * (size_t)v->measures;
    s->x = (float *)(void *)(at + floats), s->z = (float *)(void *)(at + floats + x), s->fft = at + floats + x + z;
    return TT_OK;
}

/* How much the window that begins at WAVE sounds like a voice. BOOT counts from 0 while the noise is first estimated. */
static float measure(const Vad *v, const State *s, int channel, const float *wave, int boot)
{
    const size_t at = (size_t)channel * (size_t)v->dft;
    float *spectrum = s->spectrum + at, *noise = s->noise + at;
    const float mult = (float)(boot >= 0 ? boot / (1.0 + boot) : v->smooth);
    double sum = 0;
    memset(s->x, 0, sizeof(float) * (size_t)v->dft);
    for (int64_t i = 0; i < v->window_len; i++) s->x[i] = wave[i] * v->window[i];
    tt_fft_r2c(v->fft, 1, s->x, 0, NULL, s->z, 0, s->fft);
    memset(s->x, 0, sizeof(float) * (size_t)v->dft / 2);
    for (int k = v->spectrum_start; k < v->spectrum_end; k++) {
        spectrum[k] = spectrum[k] * mult + hypotf(s->z[2 * k], s->z[2 * k + 1]) * (1 - mult);
        const float power = spectrum[k] * spectrum[k];
        const float m = boot >= 0 ? 0 : (float)(power > noise[k] ? v->up : v->down);
        noise[k] = noise[k] * m + power * (1 - m);
        s->x[k] = sqrtf(fmaxf(0, power - (float)v->noise_reduction_amount * noise[k])) *
                  v->cepstrum_window[k - v->spectrum_start];
    }
    tt_fft_r2c(v->cepstrum_fft, 1, s->x, 0, NULL, s->z, 0, s->fft);
    for (int k = v->cepstrum_start; k < v->cepstrum_end; k++)
        sum += (double)s->z[2 * k] * (double)s->z[2 * k] + (double)s->z[2 * k + 1] * (double)s->z[2 * k + 1];
    return sum > 0 ? (float)fmax(0, 21 + log(sum / (v->cepstrum_end - v->cepstrum_start))) : 0;
}

/* How many measurements before INDEX belong to the speech: back through the ring, over gaps that are short enough. */
static int speech_before(const Vad *v, const float *ring, int index)
{
    const int n = v->measures;
    int trigger = n, zero = n;
    for (int j = 0, k = index; j < n; j++, k = (k + n - 1) % n) {
        if (ring[k] >= (float)v->trigger_level && j <= trigger + v->gap)
            zero = trigger = j;
        else if (ring[k] == 0 && trigger >= zero)
            zero = j;
    }
    return TT_MIN(n - 1, zero);
}

static TtStatus apply(const void *o, TtTransformArgs *a)
{
    const Vad *v = o;
    TtAudio *in = a->audio, *out = &a->scratch->audio;
    State s;
    bool triggered = false;
    int index = 0, boot = 0, keep = 0;
    int64_t pos = 0, at = 0, last = 0;
    TT_TRY(tt_audio_check_wave(in, "Vad", a->name));
    tt_audio_expect_rate(in, v->sample_rate, "Vad", a->name);
    TT_TRY(get_state(v, in->channels, a->scratch, &s));
    for (at = v->window_len; at < in->frames && !triggered; at += v->period) {
        pos = at;
        for (int c = 0; c < in->channels; c++) {
            float *ring = s.measures + (size_t)c * (size_t)v->measures;
            const float m = measure(v, &s, c, in->data + c * in->frames + at - v->window_len, boot);
            ring[index] = m;
            s.mean[c] = s.mean[c] * (float)v->trigger + m * (float)(1 - v->trigger);
            triggered = triggered || s.mean[c] >= (float)v->trigger_level;
            if (triggered) keep = TT_MAX(keep, speech_before(v, ring, index));
        }
        index = (index + 1) % v->measures;
        if (boot >= 0) boot = boot == v->boot_max ? -1 : boot + 1;
    }
    int64_t first = 0;
    if (triggered) {
        const int64_t held = v->pre_trigger + v->measures * v->period + v->window_len;
        first = TT_MAX(pos - held + (v->measures - keep) * v->period, 0);
        last = in->frames;
    } else {
        /* No speech: torchaudio leaves what would stand before it, or a clip too short for even that. */
        last = in->frames >= v->pre_trigger ? v->pre_trigger : in->frames;
    }
    TT_TRY(tt_audio_resize(out, in->channels, last - first, 1, false));
    out->sample_rate = in->sample_rate;
    for (int c = 0; c < in->channels && last > first; c++)
        memcpy(out->data + c * out->frames, in->data + c * in->frames + first, sizeof(float) * (size_t)out->frames);
    tt_audio_swap(in, out);
    return TT_OK;
}

const TtTransformDef tt_transform_Vad = {
    .name = "Vad",
    .help = "cut off what stands before the first speech",
    .options = options,
    .size = sizeof(Vad),
    .check = check,
    .apply = apply,
    .media = TT_MEDIA_SOUND,
};
