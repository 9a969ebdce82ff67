/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/fft.h - discrete Fourier transforms of any length, many at a time.
 *
 * A plan is immutable and used by many threads at a time. Transforms of one call are worked on in groups of vector
 * width, one transform a lane, so that every radix runs at full width. Complex values are (re, im) pairs of float32.
 * Nothing is scaled: inverse(forward(x)) is n * x, as numpy with norm="forward" reversed; callers divide where they must.
 * Twiddles are computed in double. Relative to the result's root mean square and for n up to 2^20, the root mean square
 * of the error is below 5e-7 and the largest below 2e-6 (half of that for n with no prime factor above 13). */
#ifndef TT_TENSOR_FFT_H
#define TT_TENSOR_FFT_H

#include "tensor/status.h"

typedef struct TtFft TtFft;

enum { TT_FFT_LONGEST = 1 << 26 };

/* 1 <= n <= TT_FFT_LONGEST (else TT_EINTERNAL, as when there is no memory); lengths with a prime factor above 13 go
 * through Bluestein's algorithm. */
TtStatus tt_fft_new(int64_t n, TtFft **out) TT_NODISCARD;
void tt_fft_free(TtFft *f); /* NULL is fine */
int64_t tt_fft_length(const TtFft *f);
size_t tt_fft_scratch(const TtFft *f); /* bytes that each of the calls below needs at SCRATCH, 64-byte aligned */

/* COUNT transforms. Transform i reads from x + i * x_stride and writes to y + i * y_stride; strides are in floats and
 * may be anything for x (0 or overlapping too); x and y must not overlap. SIGN: -1 forward (e^-iwt), +1 inverse. */
void tt_fft_c2c(const TtFft *f, int sign, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride,
                void *scratch);
/* Real input of n values; the first n/2 + 1 complex values out (forward). WINDOW (n values, or NULL for ones) is
 * multiplied in on the way. */
void tt_fft_r2c(const TtFft *f, int64_t count, const float *x, int64_t x_stride, const float *window, float *y,
                int64_t y_stride, void *scratch);
/* The inverse: n/2 + 1 complex values in, n real values out. The imaginary parts of bin 0 and, for even n, of bin n/2
 * are ignored, as numpy.fft.irfft does. */
void tt_fft_c2r(const TtFft *f, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride,
                void *scratch);

#endif
