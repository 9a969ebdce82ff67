/* SPDX-License-Identifier: Apache-2.0 */
/* audio/window.h - window functions as torch.signal's older forms have them (torch.hann_window and its family). */
#ifndef TT_AUDIO_WINDOW_H
#define TT_AUDIO_WINDOW_H

#include "tensor/status.h"

typedef enum TtWindowKind {
    TT_WINDOW_HANN,     /* 0.5 - 0.5 cos(2 pi i / N) */
    TT_WINDOW_HAMMING,  /* a - b cos(2 pi i / N); torch's defaults are 0.54 and 0.46 */
    TT_WINDOW_BLACKMAN, /* 0.42 - 0.5 cos(2 pi i / N) + 0.08 cos(4 pi i / N) */
    TT_WINDOW_BARTLETT, /* 1 - |2 i / N - 1| */
    TT_WINDOW_KAISER,   /* I0(b sqrt(1 - (2 i / N - 1)^2)) / I0(b); torch's default is 12 */
    TT_WINDOW_ONES
} TtWindowKind;
/* The same in order, as torch names the functions. */
#define TT_WINDOW_NAMES "hann_window|hamming_window|blackman_window|bartlett_window|kaiser_window|ones"

/* N values (N >= 1) in double, rounded once. PERIODIC: N = n, for spectra; else N = n - 1, symmetric. A and B as above,
 * unused elsewhere. */
void tt_window(TtWindowKind kind, int64_t n, bool periodic, double a, double b, float *out);
/* The modified Bessel function of the first kind, order 0 (its power series; all terms are positive). */
double tt_bessel_i0(double x);

#endif
