/* SPDX-License-Identifier: Apache-2.0 */
/* audio/mel.c - filter banks and the cosine transform. */
#include "audio/mel.h"

#include <math.h>
#include <string.h>

static const double slaney_step = 200.0 / 3, slaney_knee = 1000.0, slaney_log = 0.06875177742094912; /* ln 6.4 / 27 */

double tt_hz_to_mel(double f, TtMelScale scale)
{
    if (scale == TT_MEL_HTK) return 2595 * log10(1 + f / 700);
    return f < slaney_knee ? f / slaney_step : slaney_knee / slaney_step + log(f / slaney_knee) / slaney_log;
}

static float mel_to_hz(float m, TtMelScale scale)
{
    if (scale == TT_MEL_HTK) return 700.0f * (powf(10.0f, m / 2595.0f) - 1.0f);
    const float knee = (float)(slaney_knee / slaney_step);
    if (m < knee) return (float)slaney_step * m;
    return (float)slaney_knee * expf((float)slaney_log * (m - knee));
}

/* torch.linspace in float32: from both ends to the middle. */
static float linspace(float lo, float hi, int n, int i)
{
    const float step = n > 1 ? (hi - lo) / (float)(n - 1) : 0;
    return i < n / 2 ? lo + step * (float)i : hi - step * (float)(n - 1 - i);
}

void tt_bands_pack(TtBands *b, const float *dense, int n_in, int n_out, TtArena *arena)
{
    const int groups = (n_out + TT_BAND_LANES - 1) / TT_BAND_LANES;
    size_t total = 0;
    *b = (TtBands){.n_in = n_in, .n_out = n_out, .groups = groups};
    b->start = TT_NEWN(arena, int32_t, groups);
    b->count = TT_NEWN(arena, int32_t, groups);
    b->at = TT_NEWN(arena, size_t, groups);
    for (int g = 0; g < groups; g++) {
        const int first = g * TT_BAND_LANES, end = TT_MIN(first + TT_BAND_LANES, n_out);
        int lo = n_in, hi = -1;
        for (int i = 0; i < n_in; i++)
            for (int o = first; o < end; o++)
                if (dense[(size_t)i * (size_t)n_out + (size_t)o] != 0) lo = TT_MIN(lo, i), hi = i;
        b->start[g] = hi < 0 ? 0 : lo, b->count[g] = hi < 0 ? 0 : hi - lo + 1, b->at[g] = total;
        total += (size_t)b->count[g] * TT_BAND_LANES;
    }
    b->w = TT_NEWN(arena, float, total);
    for (int g = 0; g < groups; g++)
        for (int k = 0; k < b->count[g]; k++)
            for (int o = g * TT_BAND_LANES; o < TT_MIN((g + 1) * TT_BAND_LANES, n_out); o++)
                b->w[b->at[g] + (size_t)k * TT_BAND_LANES + (size_t)(o % TT_BAND_LANES)] =
                    dense[(size_t)(b->start[g] + k) * (size_t)n_out + (size_t)o];
}

/* POINTS: n + 2 corners in Hz. */
static void triangles(TtBands *b, int n_freqs, const float *points, int n, int64_t sample_rate, bool norm, int *empty,
                      TtArena *arena)
{
    TtArena dense_arena = {0};
    float *dense = TT_NEWN(&dense_arena, float, (size_t)n_freqs *(size_t)n);
    int none = 0;
    for (int m = 0; m < n; m++) {
        const float up = points[m + 1] - points[m], down = points[m + 2] - points[m + 1];
        const float by = norm ? 2.0f / (points[m + 2] - points[m]) : 1;
        bool any = false;
        for (int k = 0; k < n_freqs; k++) {
            const float f = linspace(0, (float)(sample_rate / 2), n_freqs, k);
            const float v = fminf((f - points[m]) / up, (points[m + 2] - f) / down);
            if (v > 0) dense[(size_t)k * (size_t)n + (size_t)m] = v * by, any = true;
        }
        none += !any;
    }
    if (empty) *empty = none;
    tt_bands_pack(b, dense, n_freqs, n, arena);
    tt_arena_free(&dense_arena);
}

void tt_mel_bank(TtBands *b, int n_freqs, double f_min, double f_max, int n_mels, int64_t sample_rate, bool norm,
                 TtMelScale scale, int *empty, TtArena *arena)
{
    const float lo = (float)tt_hz_to_mel(f_min, scale), hi = (float)tt_hz_to_mel(f_max, scale);
    float *points = TT_NEWN(arena, float, n_mels + 2);
    for (int i = 0; i < n_mels + 2; i++) points[i] = mel_to_hz(linspace(lo, hi, n_mels + 2, i), scale);
    triangles(b, n_freqs, points, n_mels, sample_rate, norm, empty, arena);
}

void tt_linear_bank(TtBands *b, int n_freqs, double f_min, double f_max, int n_filter, int64_t sample_rate,
                    TtArena *arena)
{
    float *points = TT_NEWN(arena, float, n_filter + 2);
    for (int i = 0; i < n_filter + 2; i++) points[i] = linspace((float)f_min, (float)f_max, n_filter + 2, i);
    triangles(b, n_freqs, points, n_filter, sample_rate, false, NULL, arena);
}

void tt_dct_matrix(TtBands *b, int n_in, int n_out, bool ortho, TtArena *arena)
{
    TtArena dense_arena = {0};
    float *dense = TT_NEWN(&dense_arena, float, (size_t)n_in *(size_t)n_out);
    for (int i = 0; i < n_in; i++)
        for (int k = 0; k < n_out; k++) {
            const double c = cos(M_PI / n_in * (i + 0.5) * k);
            const double by = !ortho ? 2 : k == 0 ? sqrt(1.0 / n_in) : sqrt(2.0 / n_in);
            dense[(size_t)i * (size_t)n_out + (size_t)k] = (float)(c * by);
        }
    tt_bands_pack(b, dense, n_in, n_out, arena);
    tt_arena_free(&dense_arena);
}
