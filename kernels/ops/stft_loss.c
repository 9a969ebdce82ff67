/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/stft_loss.c - losses between spectra, made of other operations. */
#include "kernels/ops/stft_loss.h"

#include <math.h>

#include "kernels/ops/binary.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/unary.h"

TtVal tt_safe_magnitude(TtGraph *g, TtVal z)
{
    return tt_sqrt(g, tt_clamp(g, tt_complex_abs(g, z, 2), 1e-7, INFINITY));
}

/* The square root's slope at 0 is not finite; the limit stops the gradient before it gets there. */
static TtVal norm(TtGraph *g, TtVal x)
{
    return tt_sqrt(g, tt_clamp(g, tt_sum(g, tt_square(g, x), TT_ALL_AXES, false), 1e-30, INFINITY));
}

TtVal tt_spectral_convergence(TtGraph *g, TtVal predicted, TtVal target)
{
    return tt_div(g, norm(g, tt_sub(g, target, predicted)), norm(g, target));
}

TtVal tt_log_magnitude_loss(TtGraph *g, TtVal predicted, TtVal target)
{
    TtVal difference = tt_sub(g, tt_log(g, target), tt_log(g, predicted));
    return tt_mean(g, tt_abs(g, difference), TT_ALL_AXES, false);
}

static TtVal magnitude(TtGraph *g, TtVal x, const TtStftResolution *r)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    if (r->win_length < 1 || r->win_length > r->n_fft) {
        tt_graph_fail(g, TT_ECONFIG, "stft loss: win_length is %lld; 1 to n_fft, which is %lld, are possible",
                      (long long)r->win_length, (long long)r->n_fft);
        return TT_NONE;
    }
    double *window = TT_NEWN(tt_graph_arena(g), double, r->win_length);
    tt_hann_window(r->win_length, window);
    TtStft o = {.n_fft = r->n_fft, .hop_length = r->hop_length, .win_length = r->win_length, .window = window};
    return tt_safe_magnitude(g, tt_stft(g, x, &o));
}

void tt_multi_resolution_stft_loss(TtGraph *g, TtVal predicted, TtVal target, const TtStftResolution *resolutions,
                                   int count, TtVal out[2])
{
    static const TtStftResolution paper[] = {{1024, 120, 600}, {2048, 240, 1200}, {512, 50, 240}};
    if (!resolutions) resolutions = paper, count = TT_COUNT(paper);
    out[0] = out[1] = TT_NONE;
    for (int i = 0; i < count; i++) {
        TtVal x = magnitude(g, predicted, &resolutions[i]), y = magnitude(g, target, &resolutions[i]);
        TtVal loss[2] = {tt_spectral_convergence(g, x, y), tt_log_magnitude_loss(g, x, y)};
        for (int k = 0; k < 2; k++) {
            loss[k] = tt_mul_scalar(g, loss[k], 1.0 / count);
            out[k] = i == 0 ? loss[k] : tt_add(g, out[k], loss[k]);
        }
    }
}
