/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/noise.h - noise that scripts/make_text_values.py makes too, and log-probabilities from it. */
#ifndef TT_TESTS_SUPPORT_NOISE_H
#define TT_TESTS_SUPPORT_NOISE_H

#include <math.h>
#include <stdint.h>

/* N values of -1 to 1, multiples of 2^-14. */
static inline void make_noise(double *out, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = (seed * 1103515245u + 12345u) & 0x7FFFFFFF;
        out[i] = (seed >> 16 & 0x7FFF) / 16384.0 - 1;
    }
}

/* log_softmax of SCALE times noise, (frames, classes). */
static inline void make_log_probs(float *out, int frames, int classes, uint32_t seed, double scale)
{
    double x[4096];
    make_noise(x, (int64_t)frames * classes, seed);
    for (int t = 0; t < frames; t++) {
        double sum = 0;
        for (int c = 0; c < classes; c++) sum += exp(scale * x[t * classes + c]);
        for (int c = 0; c < classes; c++) out[t * classes + c] = (float)(scale * x[t * classes + c] - log(sum));
    }
}

#endif
