/* SPDX-License-Identifier: Apache-2.0 */
/* audio/bss.c - SDR. The filter solves a symmetric Toeplitz system of autocorrelations. Speech makes that system so
 * ill-conditioned that correlations must be exact to double: they are summed directly, which for 512 lags costs little
 * beside the model that made the estimates. */
#include "audio/bss.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/arena.h"
#include "tensor/assignment.h"

enum { MOST = TT_BSS_SOURCES, STEP = 4 };
_Static_assert((int)MOST <= (int)TT_ASSIGNMENT_MOST, "more sources than can be assigned");

/* C[l] = sum over t of x[t] y[t - l] for l < TAPS, where TAPS - 1 zeros stand before y. */
static void correlate(const double *x, const double *y, int64_t frames, int taps, double *c)
{
    int64_t t = 0;
    double *sum = c; /* in reverse, so that both run upwards */
    const double *lag = y - (taps - 1);
    memset(sum, 0, (size_t)taps * sizeof *sum);
    for (; t + STEP <= frames; t += STEP) {
        double x0 = x[t], x1 = x[t + 1], x2 = x[t + 2], x3 = x[t + 3];
        const double *p = lag + t;
#pragma omp simd
        for (int m = 0; m < taps; m++) sum[m] += (x0 * p[m] + x1 * p[m + 1]) + (x2 * p[m + 2] + x3 * p[m + 3]);
    }
    for (; t < frames; t++)
        for (int m = 0; m < taps; m++) sum[m] += x[t] * lag[t + m];
    for (int m = 0; m < taps / 2; m++) {
        double swap = c[m];
        c[m] = c[taps - 1 - m], c[taps - 1 - m] = swap;
    }
}

/* |P e|^2 = b' x with R x = b, where R is the Toeplitz matrix of R[0..taps-1] and b the correlations with an
 * estimate, by Levinson's recursion (Golub and Van Loan, algorithm 4.7.2): each order adds what its new direction
 * explains. A filter that rounding would decide ends early. WORK has room for 3 TAPS. */
static double projected(const double *r, const double *b, int taps, double *work)
{
    double *a = work, *next = work + taps, *x = work + 2 * taps, error = r[0], energy = 0;
    if (r[0] == 0) return 0;
    a[0] = 1;
    for (int k = 0; k < taps; k++) {
        if (k > 0) {
            double reflection = 0;
            for (int j = 0; j < k; j++) reflection -= a[j] * r[k - j];
            reflection /= error;
            a[k] = 0;
            for (int j = 0; j <= k; j++) next[j] = a[j] + reflection * a[k - j];
            memcpy(a, next, (size_t)(k + 1) * sizeof *a);
            error *= 1 - reflection * reflection;
            if (error <= DBL_EPSILON * r[0]) break;
        }
        double step = b[k];
        for (int j = 0; j < k; j++) step -= x[j] * r[k - j];
        step /= error;
        x[k] = 0;
        for (int j = 0; j <= k; j++) x[j] += step * a[k - j];
        energy += step * step * error;
    }
    return energy;
}

static double limited(double v)
{
    return v < DBL_EPSILON ? DBL_EPSILON : v; /* NaN stays */
}

typedef struct Signals {
    int64_t frames;
    int taps, estimates, references;
    double *est[MOST + 1], *ref[MOST]; /* each with TAPS - 1 zeros before it */
} Signals;

/* The SDR of every estimate with every reference: SDR[i * references + j]. */
static TtStatus measure(const Signals *s, double *sdr)
{
    int pairs = s->estimates * s->references;
    double *own, energy[MOST + 1];
    size_t taps = (size_t)s->taps, each = 4 * taps; /* correlations and work of a pair */
    TT_TRY(tt_alloc((void **)&own, ((size_t)s->references * taps + (size_t)pairs * each) * sizeof *own));
    double *rooms = own + (size_t)s->references * taps;
    for (int i = 0; i < s->estimates; i++) {
        energy[i] = 0;
        for (int64_t t = 0; t < s->frames; t++) energy[i] += s->est[i][t] * s->est[i][t];
    }
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (int j = 0; j < s->references; j++)
            correlate(s->ref[j], s->ref[j], s->frames, s->taps, own + (size_t)j * taps);
#pragma omp for schedule(dynamic)
        for (int k = 0; k < pairs; k++) {
            int i = k / s->references, j = k % s->references;
            double *b = rooms + (size_t)k * each;
            correlate(s->est[i], s->ref[j], s->frames, s->taps, b);
            double part = projected(own + (size_t)j * taps, b, s->taps, b + taps);
            part = energy[i] == 0 ? 0 : part / energy[i];
            sdr[k] = 10 * log10(limited(part)) - 10 * log10(limited(1 - part));
        }
    }
    tt_free(own);
    return TT_OK;
}

/* Channel K of X (frames, n) at OUT, behind zeros. */
static double *spread(const float *x, int n, int k, int64_t frames, int taps, double *out)
{
    memset(out, 0, (size_t)(taps - 1) * sizeof *out);
    out += taps - 1;
    for (int64_t t = 0; t < frames; t++) out[t] = (double)x[t * n + k];
    return out;
}

TtStatus tt_bss_sdr(const float *est, const float *ref, const float *mix, int64_t frames, int sources, int taps,
                    bool fixed_order, TtBss *out)
{
    TT_ASSERT(frames >= 1 && sources >= 1 && sources <= MOST && taps >= 1 && taps <= TT_BSS_TAPS_MOST);
    size_t length = (size_t)frames + (size_t)taps - 1;
    Signals s = {.frames = frames, .taps = taps, .estimates = sources + (mix != NULL), .references = sources};
    double *room, sdr[(MOST + 1) * MOST];
    *out = (TtBss){0};
    TT_TRY(tt_alloc((void **)&room, length * (size_t)(2 * sources + 1) * sizeof *room));
    for (int i = 0; i < sources; i++) {
        s.est[i] = spread(est, sources, i, frames, taps, room + length * (size_t)i);
        s.ref[i] = spread(ref, sources, i, frames, taps, room + length * (size_t)(sources + i));
    }
    if (mix) s.est[sources] = spread(mix, 1, 0, frames, taps, room + length * (size_t)(2 * sources));
    TtStatus st = measure(&s, sdr);
    tt_free(room);
    TT_TRY(st);
    for (int i = 0; i < sources; i++) out->order[i] = i;
    if (!fixed_order) tt_best_assignment(sources, sdr, out->order);
    double mixture = 0;
    for (int i = 0; i < sources; i++) {
        out->sdr[i] = sdr[i * sources + out->order[i]];
        out->mean += out->sdr[i] / sources;
        if (mix) mixture += sdr[sources * sources + i] / sources;
    }
    if (mix) out->improvement = out->mean - mixture;
    return TT_OK;
}
