/* SPDX-License-Identifier: Apache-2.0 */
/* audio/window.c - window functions. */
#include "audio/window.h"

#include <math.h>

double tt_bessel_i0(double x)
{
    const double q = x * x / 4;
    double sum = 1, term = 1;
    for (int k = 1; term > sum * 1e-17; k++) {
        term *= q / ((double)k * k);
        sum += term;
    }
    return sum;
}

static double value(TtWindowKind kind, double t, double a, double b)
{
    const double turn = 2 * M_PI * t;
    switch (kind) {
    case TT_WINDOW_HANN: return 0.5 - 0.5 * cos(turn);
    case TT_WINDOW_HAMMING: return a - b * cos(turn);
    case TT_WINDOW_BLACKMAN: return 0.42 - 0.5 * cos(turn) + 0.08 * cos(2 * turn);
    case TT_WINDOW_BARTLETT: return 1 - fabs(2 * t - 1);
    case TT_WINDOW_KAISER: return tt_bessel_i0(b * sqrt(fmax(0, 1 - (2 * t - 1) * (2 * t - 1)))) / tt_bessel_i0(b);
    case TT_WINDOW_ONES: break;
    }
    return 1;
}

void tt_window(TtWindowKind kind, int64_t n, bool periodic, double a, double b, float *out)
{
    const double period = periodic ? (double)n : (double)(n - 1);
    for (int64_t i = 0; i < n; i++) out[i] = n == 1 ? 1.0f : (float)value(kind, (double)i / period, a, b);
}
