/* SPDX-License-Identifier: Apache-2.0 */
/* audio/resample.c - band-limited interpolation, and the process's resamplers. */
#include "audio/resample.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "audio/loops.h"
#include "audio/window.h"

struct TtResampler {
    TtResampler *next;
    TtResampleArgs args; /* reduced, without zeros */
    int holders;
    uint64_t last_use;
    int64_t orig, new;
    int64_t before; /* zeros that stand before the clip */
    int64_t after;  /* and behind the samples that the last block of outputs begins at */
    size_t taps;
    int32_t *start; /* (new): where phase p begins, from j * orig of the padded clip */
    float *w;       /* (new, taps) */
};

static const double kernel_max = 1 << 25; /* floats of one resampler */
enum { IDLE_MAX = 1 << 24 };              /* of all that nobody holds */

static TtResampler *list;
static uint64_t uses;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        const int64_t t = a % b;
        a = b, b = t;
    }
    return a;
}

/* ---- kernels */

/* Tap at sample I (from j * orig) of phase P. */
static double tap(const TtResampler *r, int64_t p, int64_t i, double base)
{
    const TtResampleArgs *a = &r->args;
    const double width = a->width;
    /* torchaudio's phase is float32, the rest double */
    double t = ((double)(-(float)p / (float)r->new) + (double)i / (double)r->orig) * base;
    if (fabs(t) >= width) return 0;
    const double c = cos(t * M_PI / width / 2), u = t / width, beta = (double)(float)a->beta;
    const double window = a->method == TT_SINC_HANN ? c * c : tt_bessel_i0(beta * sqrt(1 - u * u)) / tt_bessel_i0(beta);
    t *= M_PI;
    return (t == 0 ? 1 : sin(t) / t) * window * base / (double)r->orig;
}

static TtStatus build(TtResampler *r)
{
    const TtResampleArgs *a = &r->args;
    const double base = (double)TT_MIN(r->orig, r->new) * a->rolloff;
    const double reach = a->width * (double)r->orig / base; /* samples on each side */
    const double taps = floor((2 * reach + 2 + 15) / 16) * 16;
    if (taps * (double)r->new > kernel_max || reach + (double)r->orig > INT32_MAX / 4)
        return TT_FAIL(
            TT_ECONFIG,
            "resampling from %lld to %lld Hz would take a kernel of %.3g values; choose rates with a common divisor",
            (long long)a->orig_freq, (long long)a->new_freq, taps * (double)r->new);
    r->taps = (size_t)taps;
    r->before = (int64_t)ceil(reach) + 1;
    r->after = r->before + r->orig + (int64_t)taps;
    TT_TRY(tt_alloc((void **)&r->w, sizeof(float) * r->taps * (size_t)r->new));
    TT_TRY(tt_alloc((void **)&r->start, sizeof(int32_t) * (size_t)r->new));
    for (int64_t p = 0; p < r->new; p++) {
        const int64_t first = (int64_t)floor((double)p * (double)r->orig / (double)r->new - reach);
        r->start[p] = (int32_t)(first + r->before);
        for (size_t k = 0; k < r->taps; k++) r->w[(size_t)p * r->taps + k] = (float)tap(r, p, first + (int64_t)k, base);
    }
    return TT_OK;
}

static void destroy(TtResampler *r)
{
    tt_free(r->w), tt_free(r->start), tt_free(r);
}

/* ---- the shared list */

static TtStatus find_or_build(const TtResampleArgs *a, const TtResampler **out)
{
    for (TtResampler *r = list; r; r = r->next) {
        const TtResampleArgs *b = &r->args;
        if (b->orig_freq != a->orig_freq || b->new_freq != a->new_freq || b->width != a->width ||
            b->rolloff != a->rolloff || b->method != a->method || b->beta != a->beta)
            continue;
        r->holders++, r->last_use = ++uses, *out = r;
        return TT_OK;
    }
    TtResampler *r;
    TT_TRY(tt_alloc((void **)&r, sizeof *r));
    const int64_t d = gcd(a->orig_freq, a->new_freq);
    *r = (TtResampler){
        .args = *a, .holders = 1, .last_use = ++uses, .orig = a->orig_freq / d, .new = a->new_freq / d, .next = list};
    const TtStatus status = build(r);
    if (status != TT_OK) {
        destroy(r);
        return status;
    }
    *out = list = r;
    return TT_OK;
}

TtStatus tt_resampler_get(const TtResampleArgs *args, const TtResampler **out)
{
    TtResampleArgs a = *args;
    if (a.width == 0) a.width = 6;
    if (a.rolloff == 0) a.rolloff = 0.99;
    if (a.beta == 0) a.beta = 14.769656459379492;
    if (a.orig_freq < 1 || a.new_freq < 1)
        return TT_FAIL(TT_EDATA, "cannot resample from %lld to %lld Hz", (long long)a.orig_freq, (long long)a.new_freq);
    pthread_mutex_lock(&list_lock);
    const TtStatus status = find_or_build(&a, out);
    pthread_mutex_unlock(&list_lock);
    return status;
}

/* While those that nobody holds are too large together, the longest unused goes. */
static void drop_idle(void)
{
    for (;;) {
        TtResampler **oldest = NULL;
        size_t idle = 0;
        for (TtResampler **at = &list; *at; at = &(*at)->next) {
            if ((*at)->holders) continue;
            idle += (*at)->taps * (size_t)(*at)->new;
            if (!oldest || (*at)->last_use < (*oldest)->last_use) oldest = at;
        }
        if (idle <= IDLE_MAX) return;
        TtResampler *r = *oldest;
        *oldest = r->next;
        destroy(r);
    }
}

void tt_resampler_put(const TtResampler *held)
{
    if (!held) return;
    pthread_mutex_lock(&list_lock);
    for (TtResampler *r = list; r; r = r->next)
        if (r == held) r->holders--;
    drop_idle();
    pthread_mutex_unlock(&list_lock);
}

/* ---- use */

int64_t tt_resampler_length(const TtResampler *r, int64_t n)
{
    const int64_t blocks = n / r->orig + 1; /* torchaudio's convolution makes no more */
    const double length = ceil((double)(float)((double)r->new *(double)n / (double)r->orig));
    return (int64_t)fmin(length, (double)blocks * (double)r->new);
}

TtStatus tt_resample(const TtResampler *r, const TtAudio *in, TtAudio *out, TtTransformScratch *scratch,
                     const char *who, const char *name)
{
    const int64_t n = in->frames, made = tt_resampler_length(r, n);
    float *x;
    TT_TRY(tt_audio_check_wave(in, who, name));
    TT_TRY(tt_audio_resize(out, in->channels, made, 1, false));
    TT_TRY(tt_transform_table(scratch, sizeof(float) * (size_t)(r->before + n + r->after), (void **)&x));
    out->sample_rate = (int)(((int64_t)in->sample_rate * r->new + r->orig / 2) / r->orig);
    memset(x, 0, sizeof(float) * (size_t)r->before);
    memset(x + r->before + n, 0, sizeof(float) * (size_t)r->after);
    for (int c = 0; c < in->channels; c++) {
        float *y = out->data + c * made;
        if (n > 0) memcpy(x + r->before, in->data + c * n, sizeof(float) * (size_t)n);
        for (int64_t j = 0; j * r->new < made; j++)
            tt_audio_loops()->dots(x + j * r->orig, r->start, r->w, r->taps, (size_t)TT_MIN(r->new, made - j * r->new),
                                   y + j * r->new);
    }
    return TT_OK;
}

TtStatus tt_audio_to_rate(TtAudio *a, int rate, TtTransformScratch *scratch, const char *name)
{
    const TtResampler *r;
    if (a->sample_rate == rate) return TT_OK;
    TT_TRY(tt_resampler_get(&(TtResampleArgs){.orig_freq = a->sample_rate, .new_freq = rate}, &r));
    TtStatus status = tt_resample(r, a, &scratch->audio, scratch, "Resample", name);
    if (status == TT_OK) {
        tt_audio_swap(a, &scratch->audio);
        a->sample_rate = rate;
    }
    tt_resampler_put(r);
    return status;
}
