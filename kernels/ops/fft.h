/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/fft.h - discrete Fourier transforms, by their torch.fft names. float32 (float64 in float64 graphs; bfloat16
 * and float16 are widened first).
 *
 * Complex values are pairs (re, im) along a last axis of 2. AXIS is the axis to transform, counted without the axis of
 * pairs; negative ones count from the end: on a sequence (N,T,C), tt_rfft(g, x, 0, 1, norm) gives (N,T/2+1,C,2). The last
 * axis is the fastest. N is the length: the axis is cut or filled with zeros at its end first (before the inverse ones:
 * the bins); 0 means as it is. */
#ifndef TT_KERNELS_OPS_FFT_H
#define TT_KERNELS_OPS_FFT_H

#include "tensor/fft.h"
#include "tensor/op.h"

/* What the results are divided by: backward, 1 and n (forward and inverse); ortho, sqrt(n) both; forward, n and 1. */
typedef enum TtFftNorm { TT_FFT_BACKWARD, TT_FFT_ORTHO, TT_FFT_FORWARD } TtFftNorm;

TtVal tt_fft(TtGraph *g, TtVal x, int64_t n, int axis, TtFftNorm norm);  /* (...,n,...,2) to the same */
TtVal tt_ifft(TtGraph *g, TtVal x, int64_t n, int axis, TtFftNorm norm); /* likewise */
TtVal tt_rfft(TtGraph *g, TtVal x, int64_t n, int axis, TtFftNorm norm); /* real (...,n,...) to (...,n/2+1,...,2) */
/* (...,n/2+1,...,2) to real (...,n,...). N is the real length; 0: even, 2 * (bins - 1). The imaginary parts of bin 0
 * and, for even n, of bin n/2 do not matter and take no gradient. */
TtVal tt_irfft(TtGraph *g, TtVal x, int64_t n, int axis, TtFftNorm norm);

/* |z|^power of complex values: (...,2) to (...). As torch.abs(z).pow(power) where the result and the square of |z| are
 * normal numbers; the gradient at 0 is 0 for every power, as that of torch.abs is. */
TtVal tt_complex_abs(TtGraph *g, TtVal z, double power);

/* fft: y[k] = scale * sum over t of x[t] e^(sign 2 pi i k t / n). */
typedef struct TtFftAttrs {
    int sign;
    double scale;
} TtFftAttrs;

/* rfft: y[k] = scale * c[k] * sum over t of x[t] e^(-2 pi i k t / n), where c[k] = INNER for the bins that stand for two
 * (0 < k < n/2) and 1 for bin 0 and bin n/2. irfft is its adjoint, and so each is the other's gradient with the same
 * attributes: x[t] = scale * Re sum over k of c[k] y[k] e^(2 pi i k t / n); torch's irfft has INNER 2. */
typedef struct TtRfftAttrs {
    int64_t n; /* real length */
    double scale, inner;
} TtRfftAttrs;

typedef struct TtComplexAbsAttrs {
    double power;
} TtComplexAbsAttrs;

/* Made when a program is built: the plan, and room for each thread's share of the work. */
enum { TT_FFT_ROWS = 16 }; /* transforms of a task */
typedef struct TtFftState {
    TtFft *plan;
    int threads;
    int rows;            /* of a task: TT_FFT_ROWS, 1 for long transforms */
    size_t plan_scratch; /* bytes */
    size_t scratch;      /* bytes of a thread; behind the plan's, 2 * (n + 2) floats for each row */
} TtFftState;
TtStatus tt_fft_state_new(int64_t n, void **state);
void tt_fft_state_free(void *state);
size_t tt_fft_state_scratch(const TtKernelArgs *a); /* for all threads */
/* Fails, in WHAT's name, unless 1 <= n <= TT_FFT_LONGEST and the element type is float32 or float64. */
TtStatus tt_fft_infer_check(TtInfer *i, const char *what, int64_t n);
/* float64 stays, any other type becomes float32. */
TtVal tt_fft_wide(TtGraph *g, TtVal x);

#endif
