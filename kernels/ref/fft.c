/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/fft.c - oracle of the Fourier transforms and of complex magnitudes: the sums that define them. */
#include <math.h>

#include "kernels/ops/stft.h"
#include "kernels/ref/ref.h"
#include "tensor/arena.h"

static double get(const TtTensor *t, int64_t i)
{
    return tt_ref_at(t, tt_ref_linear(t, i));
}

/* cos and sin of 2 pi k / n, k < n. */
static TtStatus circle(int64_t n, double **out)
{
    TT_TRY(tt_alloc((void **)out, sizeof(double) * 2 * (size_t)n));
    for (int64_t k = 0; k < n; k++) {
        (*out)[2 * k] = cos(2 * M_PI * (double)k / (double)n);
        (*out)[2 * k + 1] = sin(2 * M_PI * (double)k / (double)n);
    }
    return TT_OK;
}

/* How often a bin counts: INNER when it stands for two. */
static double weight(int64_t k, int64_t n, double inner)
{
    return k == 0 || 2 * k == n ? 1 : inner;
}

TtStatus tt_ref_fft(TtKernelArgs *a)
{
    const TtFftAttrs *f = a->attrs;
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    const int64_t n = x->shape.dims[x->shape.rank - 2], rows = tt_tensor_count(x) / (2 * n);
    double *w;
    TT_TRY(circle(n, &w));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < n; k++) {
            double re = 0, im = 0;
            for (int64_t t = 0; t < n; t++) {
                const double u = get(x, 2 * (r * n + t)), v = get(x, 2 * (r * n + t) + 1);
                const double c = w[2 * (k * t % n)], s = f->sign * w[2 * (k * t % n) + 1];
                re += u * c - v * s, im += u * s + v * c;
            }
            tt_ref_put(y, 2 * (r * n + k), f->scale * re);
            tt_ref_put(y, 2 * (r * n + k) + 1, f->scale * im);
        }
    tt_free(w);
    return TT_OK;
}

TtStatus tt_ref_rfft(TtKernelArgs *a)
{
    const TtRfftAttrs *f = a->attrs;
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    const int64_t n = f->n, bins = n / 2 + 1, rows = tt_tensor_count(x) / n;
    double *w;
    TT_TRY(circle(n, &w));
    for (int64_t i = 0; i < rows * bins; i++) {
        const int64_t r = i / bins, k = i % bins;
        const double c = f->scale * weight(k, n, f->inner);
        double re = 0, im = 0;
        for (int64_t t = 0; t < n; t++) {
            re += get(x, r * n + t) * w[2 * (k * t % n)];
            im -= get(x, r * n + t) * w[2 * (k * t % n) + 1];
        }
        tt_ref_put(y, 2 * i, c * re);
        tt_ref_put(y, 2 * i + 1, c * im);
    }
    tt_free(w);
    return TT_OK;
}

TtStatus tt_ref_irfft(TtKernelArgs *a)
{
    const TtRfftAttrs *f = a->attrs;
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    const int64_t n = f->n, bins = n / 2 + 1, rows = tt_tensor_count(x) / (2 * bins);
    double *w;
    TT_TRY(circle(n, &w));
    for (int64_t i = 0; i < rows * n; i++) {
        const int64_t r = i / n, t = i % n;
        double sum = 0;
        for (int64_t k = 0; k < bins; k++) {
            const double re = get(x, 2 * (r * bins + k)), im = get(x, 2 * (r * bins + k) + 1);
            sum += weight(k, n, f->inner) * (re * w[2 * (k * t % n)] - im * w[2 * (k * t % n) + 1]);
        }
        tt_ref_put(y, i, f->scale * sum);
    }
    tt_free(w);
    return TT_OK;
}

TtStatus tt_ref_stft(TtKernelArgs *a)
{
    const TtStftAttrs *f = a->attrs;
    const TtTensor *x = &a->in[0], *window = &a->in[1], *y = &a->out[0];
    const int64_t n = f->n, frames = y->shape.dims[1], bins = y->shape.dims[2], total = tt_tensor_count(y) / 2;
    double *w;
    TT_TRY(circle(n, &w));
    for (int64_t i = 0; i < total; i++) {
        const int64_t k = i % bins, first = i / bins / frames * f->length + i / bins % frames * f->hop;
        const double c = f->scale * (f->two_sided ? 1 : weight(k, n, f->inner));
        double re = 0, im = 0;
        for (int64_t t = 0; t < n; t++) {
            const double v = get(x, first + t) * get(window, t);
            re += v * w[2 * (k * t % n)], im -= v * w[2 * (k * t % n) + 1];
        }
        tt_ref_put(y, 2 * i, c * re);
        tt_ref_put(y, 2 * i + 1, c * im);
    }
    tt_free(w);
    return TT_OK;
}

/* The real part of frame FRAME (counted over all signals) at time t. */
static double frame_at(const TtStftAttrs *f, const double *w, const TtTensor *x, int64_t frame, int64_t t)
{
    const int64_t bins = x->shape.dims[2];
    double sum = 0;
    for (int64_t k = 0; k < bins; k++) {
        const double re = get(x, 2 * (frame * bins + k)), im = get(x, 2 * (frame * bins + k) + 1);
        sum += (f->two_sided ? 1 : weight(k, f->n, f->inner)) *
               (re * w[2 * (k * t % f->n)] - im * w[2 * (k * t % f->n) + 1]);
    }
    return f->scale * sum;
}

TtStatus tt_ref_istft(TtKernelArgs *a)
{
    const TtStftAttrs *f = a->attrs;
    const TtTensor *x = &a->in[0], *window = &a->in[1], *y = &a->out[0];
    const int64_t frames = x->shape.dims[1], total = tt_tensor_count(y);
    double *w;
    TT_TRY(circle(f->n, &w));
    for (int64_t i = 0; i < total; i++) {
        const int64_t s = i % f->length;
        double sum = 0;
        for (int64_t j = 0; j < frames; j++) {
            const int64_t t = s - j * f->hop;
            if (t >= 0 && t < f->n) sum += get(window, t) * frame_at(f, w, x, i / f->length * frames + j, t);
        }
        tt_ref_put(y, i, sum);
    }
    tt_free(w);
    return TT_OK;
}

TtStatus tt_ref_complex_abs(TtKernelArgs *a)
{
    const TtComplexAbsAttrs *f = a->attrs;
    for (int64_t i = 0, n = tt_tensor_count(&a->out[0]); i < n; i++)
        tt_ref_put(&a->out[0], i, pow(hypot(get(&a->in[0], 2 * i), get(&a->in[0], 2 * i + 1)), f->power));
    return TT_OK;
}

TtStatus tt_ref_complex_abs_bwd(TtKernelArgs *a)
{
    const TtComplexAbsAttrs *f = a->attrs;
    for (int64_t i = 0, n = tt_tensor_count(&a->in[0]); i < n; i++) {
        const double dy = get(&a->in[0], i), re = get(&a->in[1], 2 * i), im = get(&a->in[1], 2 * i + 1);
        const double r = hypot(re, im), slope = r == 0 ? 0 : dy * f->power * pow(r, f->power - 1) / r;
        tt_ref_put(&a->out[0], 2 * i, slope * re);
        tt_ref_put(&a->out[0], 2 * i + 1, slope * im);
    }
    return TT_OK;
}
