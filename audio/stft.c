/* SPDX-License-Identifier: Apache-2.0 */
/* audio/stft.c - short-time Fourier transforms and their inverse. */
#include "audio/stft.h"

#include <math.h>
#include <string.h>

#include "audio/shared.h"

enum { BATCH = 16 }; /* frames worked on at a time: one a lane of the widest vectors */

TtStatus tt_audio_stft_init(TtAudioStft *s, const float *window, int win_length, TtStftNorm norm, TtArena *arena)
{
    double energy = 0;
    for (int i = 0; i < win_length; i++) energy += (double)window[i] * (double)window[i];
    s->scale = norm == TT_STFT_BY_WINDOW   ? (float)(1 / sqrt(energy))
               : norm == TT_STFT_BY_LENGTH ? (float)(1 / sqrt(s->n_fft))
                                           : 1;
    s->window = TT_NEWN(arena, float, s->n_fft);
    memcpy(s->window + (s->n_fft - win_length) / 2, window, sizeof(float) * (size_t)win_length);
    return tt_fft_shared(s->n_fft, &s->fft);
}

int tt_audio_stft_bins(const TtAudioStft *s)
{
    return s->onesided ? s->n_fft / 2 + 1 : s->n_fft;
}

static int64_t side(const TtAudioStft *s)
{
    return s->center ? s->n_fft / 2 : 0;
}

int64_t tt_audio_stft_frames(const TtAudioStft *s, int64_t samples)
{
    const int64_t padded = samples + 2 * s->pad + 2 * side(s);
    return padded < s->n_fft ? 0 : (padded - s->n_fft) / s->hop + 1;
}

static TtStatus check_length(const TtAudioStft *s, int64_t samples, const char *who, const char *name)
{
    const int64_t inner = samples + 2 * s->pad, edge = side(s);
    const int64_t least = !s->center                        ? s->n_fft
                          : s->pad_mode == TT_PAD_REFLECT   ? edge + 1
                          : s->pad_mode == TT_PAD_CIRCULAR  ? edge
                          : s->pad_mode == TT_PAD_REPLICATE ? 1
                                                            : 0;
    /* An odd n_fft with nothing but padding is one sample short. */
    if (inner >= least && tt_audio_stft_frames(s, samples) > 0) return TT_OK;
    return TT_FAIL(TT_EDATA, "%s: %lld samples are too few for %s with n_fft %d; it needs %lld", name,
                   (long long)samples, who, s->n_fft, (long long)(TT_MAX(least, s->n_fft - 2 * edge) - 2 * s->pad));
}

/* The waveform with its padding; INNER counts the outer zeros in. */
static void put_padded(const TtAudioStft *s, const float *x, int64_t samples, float *to)
{
    const int64_t edge = side(s), inner = samples + 2 * s->pad;
    float *p = to + edge;
    memset(p, 0, sizeof(float) * (size_t)s->pad);
    if (samples > 0) memcpy(p + s->pad, x, sizeof(float) * (size_t)samples);
    memset(p + s->pad + samples, 0, sizeof(float) * (size_t)s->pad);
    for (int64_t i = 1; i <= edge; i++) {
        float before = 0, after = 0;
        switch (s->pad_mode) {
        case TT_PAD_REFLECT: before = p[i], after = p[inner - 1 - i]; break;
        case TT_PAD_REPLICATE: before = p[0], after = p[inner - 1]; break;
        case TT_PAD_CIRCULAR: before = p[inner - i], after = p[i - 1]; break;
        case TT_PAD_CONSTANT: break;
        }
        p[-i] = before, p[inner - 1 + i] = after;
    }
}

/* One transform's work: the padded waveform, spectra and powers of a batch, the FFT's own. */
typedef struct Work {
    float *wave, *z, *p;
    void *fft;
    int64_t z_stride, p_stride;
} Work;

static TtStatus get_work(const TtAudioStft *s, int64_t wave, TtTransformScratch *scratch, Work *w)
{
    const int64_t half = s->n_fft / 2 + 1, full = tt_audio_stft_bins(s);
    *w = (Work){.z_stride = 2 * half, .p_stride = full};
    const size_t sizes[] = {
        tt_aligned(sizeof(float) * (size_t)wave), tt_aligned(sizeof(float) * (size_t)(BATCH * w->z_stride)),
        tt_aligned(sizeof(float) * (size_t)(BATCH * TT_MAX(full, (int64_t)s->n_fft))), tt_fft_scratch(s->fft)};
    char *at;
    TT_TRY(tt_transform_table(scratch, sizes[0] + sizes[1] + sizes[2] + sizes[3], (void **)&at));
    w->wave = (float *)(void *)at, at += sizes[0];
    w->z = (float *)(void *)at, at += sizes[1];
    w->p = (float *)(void *)at, at += sizes[2];
    w->fft = at;
    return TT_OK;
}

/* The rest of a spectrum from its first half. */
static void mirror(float *row, int n, bool complex)
{
    for (int k = n / 2 + 1; k < n; k++) {
        if (complex)
            row[2 * k] = row[2 * (n - k)], row[2 * k + 1] = -row[2 * (n - k) + 1];
        else
            row[k] = row[n - k];
    }
}

static void put_complex(const TtAudioStft *s, const Work *w, int rows, float *out)
{
    const int bins = tt_audio_stft_bins(s);
    for (int r = 0; r < rows; r++, out += 2 * bins) {
        memcpy(out, w->z + r * w->z_stride, sizeof(float) * (size_t)w->z_stride);
        if (s->scale != 1) tt_audio_loops()->scale(out, (size_t)w->z_stride, s->scale);
        if (!s->onesided) mirror(out, s->n_fft, true);
    }
}

static void put_power(const TtAudioStft *s, double power, const Work *w, int rows, float *out)
{
    const TtAudioLoops *l = tt_audio_loops();
    const size_t half = (size_t)s->n_fft / 2 + 1;
    for (int r = 0; r < rows; r++, out += w->p_stride) {
        const float *z = w->z + r * w->z_stride;
        if (power == 2)
            l->power(z, half, s->scale * s->scale, out);
        else
            l->magnitude(z, half, s->scale, out);
        if (power != 1 && power != 2)
            for (size_t k = 0; k < half; k++) out[k] = powf(out[k], (float)power);
        if (!s->onesided) mirror(out, s->n_fft, false);
    }
}

TtStatus tt_audio_stft(const TtAudioStft *s, double power, const TtBands *bands, const TtAudio *in, TtAudio *out,
                       TtTransformScratch *scratch, const char *who, const char *name)
{
    const bool complex = isnan(power);
    const int bins = tt_audio_stft_bins(s), width = bands ? bands->n_out : bins;
    Work w;
    TT_TRY(tt_audio_check_wave(in, who, name));
    TT_TRY(check_length(s, in->frames, who, name));
    const int64_t frames = tt_audio_stft_frames(s, in->frames);
    TT_TRY(tt_audio_resize(out, in->channels, frames, width, complex));
    TT_TRY(get_work(s, in->frames + 2 * s->pad + 2 * side(s), scratch, &w));
    out->sample_rate = in->sample_rate;
    float *to = out->data;
    for (int c = 0; c < in->channels; c++) {
        put_padded(s, in->data + c * in->frames, in->frames, w.wave);
        for (int64_t t = 0; t < frames; t += BATCH) {
            const int rows = (int)TT_MIN(frames - t, (int64_t)BATCH);
            tt_fft_r2c(s->fft, rows, w.wave + t * s->hop, s->hop, s->window, w.z, w.z_stride, w.fft);
            if (complex)
                put_complex(s, &w, rows, to);
            else
                put_power(s, power, &w, rows, bands ? w.p : to);
            if (bands) tt_audio_loops()->bands(bands, w.p, (size_t)w.p_stride, (size_t)rows, to, (size_t)width);
            to += (size_t)rows * (size_t)width * (complex ? 2 : 1);
        }
    }
    return TT_OK;
}

/* ---- inverse */

/* Windowed frames added up in WAVE and squared windows in COVER; both (n_fft + hop * (frames - 1)). */
static void overlap_add(const TtAudioStft *s, const float *x, int64_t frames, const Work *w, float *cover)
{
    const TtAudioLoops *l = tt_audio_loops();
    const size_t n = (size_t)s->n_fft, total = n + (size_t)(s->hop * (frames - 1));
    const int64_t stride =
        2 * (int64_t)tt_audio_stft_bins(s); /* the half that a whole spectrum repeats is not looked at */
    const float by = 1 / (s->scale * (float)s->n_fft);
    memset(w->wave, 0, sizeof(float) * total);
    memset(cover, 0, sizeof(float) * total);
    for (int64_t t = 0; t < frames; t += BATCH) {
        const int rows = (int)TT_MIN(frames - t, (int64_t)BATCH);
        tt_fft_c2r(s->fft, rows, x + t * stride, stride, w->p, s->n_fft, w->fft);
        l->scale(w->p, (size_t)rows * n, by);
        for (int r = 0; r < rows; r++) {
            l->multiply_add(w->p + (size_t)r * n, s->window, n, w->wave + (t + r) * s->hop);
            l->multiply_add(s->window, s->window, n, cover + (t + r) * s->hop);
        }
    }
}

TtStatus tt_audio_istft(const TtAudioStft *s, int64_t length, const TtAudio *in, TtAudio *out,
                        TtTransformScratch *scratch, const char *who, const char *name)
{
    const bool given = length != TT_NULL_INT;
    if (!in->is_complex || in->bins != tt_audio_stft_bins(s))
        return TT_FAIL(TT_ECONFIG,
                       "%s needs a complex spectrogram of %d bins (Spectrogram with power: null), not %s of %d (%s)",
                       who, tt_audio_stft_bins(s), in->is_complex ? "one" : "real values", in->bins, name);
    if (in->frames < 1) return TT_FAIL(TT_EDATA, "%s: %s has no frames to work on", name, who);
    const int64_t total = s->n_fft + s->hop * (in->frames - 1), start = side(s);
    int64_t end = given ? start + length + 2 * s->pad : total - start;
    const int64_t wanted = end - start, cut = given ? s->pad : 0;
    end = TT_MIN(end, total); /* what lies beyond is zero */
    if (end <= start) return TT_FAIL(TT_EDATA, "%s: %s would leave no samples", name, who);
    Work w;
    const int64_t span = (int64_t)(tt_aligned(sizeof(float) * (size_t)total) / sizeof(float));
    TT_TRY(get_work(s, 2 * span, scratch, &w));
    TT_TRY(tt_audio_resize(out, in->channels, wanted - 2 * cut, 1, false));
    out->sample_rate = in->sample_rate;
    float *cover = w.wave + span;
    for (int c = 0; c < in->channels; c++) {
        overlap_add(s, in->data + (size_t)c * (size_t)in->frames * (size_t)in->bins * 2, in->frames, &w, cover);
        float *to = out->data + c * out->frames;
        for (int64_t i = start; i < end; i++)
            if (!(cover[i] > 1e-11f))
                return TT_FAIL(TT_EDATA,
                               "%s: %s: the windows leave sample %lld uncovered; hop_length is too large for them",
                               name, who, (long long)(i - start));
        for (int64_t i = 0; i < out->frames; i++) {
            const int64_t at = start + cut + i;
            to[i] = at < end ? w.wave[at] / cover[at] : 0;
        }
    }
    return TT_OK;
}
