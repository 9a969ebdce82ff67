/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/fft_lanes.h - between fft.c, which makes plans, and fft_lanes.c, the inner loops compiled once per instruction
 * set. Lanes are independent and products are not contracted, so every instruction set gives the same bits. */
#ifndef TT_TENSOR_FFT_LANES_H
#define TT_TENSOR_FFT_LANES_H

#include "tensor/fft.h"

enum {
    TT_FFT_WIDTH = 16,   /* the widest vector, in floats; scratch is sized for it */
    TT_FFT_STAGES = 40,  /* more than log2 of any length */
    TT_FFT_DIRECT = 4096 /* longest transform whose group of lanes is worked on as a whole */
};

typedef enum TtFftKind {
    TT_FFT_STAGED,   /* mixed radix, in place, one transform a lane */
    TT_FFT_FOURSTEP, /* n = columns.n * rows.n, the lanes are columns and then rows of one transform (Bailey 1990) */
    TT_FFT_CHIRP     /* Bluestein: a convolution of length conv.n */
} TtFftKind;

struct TtFft {
    int64_t n;
    TtFftKind kind;

    /* Staged: decimation in frequency. Stage s splits blocks of length m into radix[s] blocks of m / radix[s]; its
     * twiddles e^(-2 pi i j k / m), k = 1..radix-1 for each j, are consecutive pairs. Result k ends at perm[k]. */
    int stages, radix[TT_FFT_STAGES];
    float *twiddles;
    int32_t *perm; /* n + 1 entries; the last is n, the slot for bin n of a real transform of length 2n */

    /* Four steps: twiddles has n real parts, then n imaginary parts, e^(-2 pi i j k / n) at [k][j], k < columns->n. */
    TtFft *columns, *rows;

    /* Chirp: e^(-i pi k^2 / n), n pairs, and the spectrum of its conjugate over conv->n, divided by conv->n. */
    TtFft *conv;
    float *chirp, *spectrum;

    /* Real transforms of even length: the transform of n / 2, and e^(-2 pi i k / n) for k <= n / 4. */
    TtFft *half;
    float *split;
};

/* Floats, as many as keep what follows at 64 bytes. */
static inline int64_t tt_fft_padded(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

/* SCRATCH holds what the complex or real call needs (see the sizes in fft.c). COUNT is any number. Complex values are
 * n pairs, or with the suffix of the function what fft.h says. */
typedef struct TtFftLanes {
    int width; /* transforms that are worked on together */
    /* Staged plans. */
    void (*c2c)(const TtFft *f, int sign, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride,
                float *scratch);
    /* Plans whose half is staged; plans of odd length that are staged. */
    void (*r2c)(const TtFft *f, int64_t count, const float *x, int64_t x_stride, const float *window, float *y,
                int64_t y_stride, float *scratch);
    void (*c2r)(const TtFft *f, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride,
                float *scratch);
    /* One transform by four steps. */
    void (*fourstep)(const TtFft *f, int sign, const float *x, float *y, float *scratch);
    /* y[k] = x[k] * w[k], N complex values; SWAP_X and SWAP_Y exchange real and imaginary parts on the way in and out. */
    void (*multiply)(int64_t n, const float *x, bool swap_x, const float *w, float *y, bool swap_y);
} TtFftLanes;

#endif
