/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/stft.h - short-time Fourier transforms, torch.stft and torch.istft. float32 (float64 in float64 graphs;
 * bfloat16 and float16 are widened first).
 *
 * The sequences' layout: frames before bins, (N,frames,bins,2), where torch has (N,bins,frames). Bins are n_fft / 2 + 1, or
 * n_fft when two-sided. The window is a constant: it takes no gradient. */
#ifndef TT_KERNELS_OPS_STFT_H
#define TT_KERNELS_OPS_STFT_H

#include "kernels/ops/fft.h"

/* With center=True the signal is lengthened by n_fft / 2 at both ends, in one of three ways; NONE is center=False. */
typedef enum TtStftPad { TT_STFT_REFLECT, TT_STFT_CONSTANT, TT_STFT_REPLICATE, TT_STFT_NONE } TtStftPad;

/* Zero is torch's default but for n_fft, which has none. */
typedef struct TtStft {
    int64_t n_fft;
    int64_t hop_length;   /* n_fft / 4 */
    int64_t win_length;   /* n_fft; a shorter window is centred in the frame between zeros */
    const double *window; /* win_length values, copied; NULL: ones */
    TtStftPad pad;
    bool normalized; /* divide by sqrt(n_fft); istft undoes it */
    bool two_sided;  /* onesided=False */
} TtStft;

/* x (N,T) to (N,1 + (T' - n_fft) / hop_length,bins,2), T' with the padding. */
TtVal tt_stft(TtGraph *g, TtVal x, const TtStft *o);
/* x (N,frames,bins,2) to (N,LENGTH): the frames that lie nearest, by overlapping and adding windowed frames and dividing by
 * the sum of the squared windows, which must not vanish. Of two-sided frames the bins above n_fft / 2 are not read, as in
 * torch. LENGTH 0: what the frames cover, less the padding. A longer one is
 * filled with zeros. */
TtVal tt_istft(TtGraph *g, TtVal x, const TtStft *o, int64_t length);

/* VALUES (n of them) of torch.hann_window(n, periodic=True). */
void tt_hann_window(int64_t n, double *values);

/* Frame f of signal x is x[f hop ... f hop + n - 1] times the window w (n). stft: y[f][k] = scale * c[k] * sum over t of
 * w[t] x[f hop + t] e^(-2 pi i k t / n), with c as in TtRfftAttrs, or all 1 when two-sided. istft is its adjoint:
 * x[s] = sum over f of w[s - f hop] * scale * Re sum over k of c[k] y[f][k] e^(2 pi i k (s - f hop) / n), and so each is the
 * other's gradient with the same attributes. */
typedef struct TtStftAttrs {
    int64_t n, hop;
    int64_t length; /* of the signal, n or more */
    double scale, inner;
    bool two_sided;
} TtStftAttrs;

#endif
