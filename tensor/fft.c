/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/fft.c - plans for Fourier transforms, and the lengths that fft_lanes.c cannot do by itself.
 *
 * A length whose primes are at most 13 goes through mixed-radix stages, many transforms side by side; beyond
 * TT_FFT_DIRECT one transform is cut into two such steps instead, so that the buffer stays in the cache. Any other length
 * is a convolution with a chirp (Bluestein 1970), whose length is one of the former. How a transform is computed depends
 * on its length alone, never on how many there are: a clip's features are the same bits in any batch. */
#include "tensor/fft.h"

#include <math.h>
#include <string.h>

#include "tensor/arena.h"
#include "tensor/fft_lanes.h"
#include "tensor/isa.h"

extern const TtFftLanes tt_fft_lanes_c;
#ifdef TT_X86
extern const TtFftLanes tt_fft_lanes_avx2, tt_fft_lanes_avx512;
#endif

static const TtFftLanes *const tables[TT_ISAS] = {TT_ISA_TABLES(&tt_fft_lanes)};

static const TtFftLanes *lanes(void)
{
    return tables[tt_isa()];
}

/* ---- plans */

static TtStatus new_floats(int64_t n, float **out)
{
    return tt_alloc((void **)out, sizeof(float) * (size_t)TT_MAX(n, 1));
}

static TtStatus new_part(int64_t n, TtFft **out)
{
    TT_TRY(tt_alloc((void **)out, sizeof **out));
    memset(*out, 0, sizeof **out);
    (*out)->n = n;
    return TT_OK;
}

/* e^(-2 pi i k / n), exact at the quarters, for any k >= 0. */
static void twiddle(int64_t k, int64_t n, double *re, double *im)
{
    k %= n;
    const int64_t quarter = 4 * k / n;
    const double angle = 2.0 * M_PI * ((double)(4 * k - quarter * n) / (4.0 * (double)n)); /* 0 to pi / 2 */
    const double c = cos(angle), s = sin(angle);
    const double turned[4][2] = {{c, -s}, {-s, -c}, {-c, s}, {s, c}};
    *re = turned[quarter][0], *im = turned[quarter][1];
}

static void put_twiddle(float *out, int64_t k, int64_t n)
{
    double re, im;
    twiddle(k, n, &re, &im);
    out[0] = (float)re, out[1] = (float)im;
}

/* How many factors the stages take for n, large powers of two first; -1 when a prime above 13 divides it. */
static int factorise(int64_t n, int radix[TT_FFT_STAGES])
{
    static const int radices[] = {8, 4, 2, 3, 5, 7, 11, 13};
    int count = 0;
    for (int i = 0; i < TT_COUNT(radices); i++)
        for (; n % radices[i] == 0; n /= radices[i]) radix[count++] = radices[i];
    /* 8 * 2 is done better as 4 * 4. */
    for (int i = 0; i + 1 < count; i++)
        if (radix[i] == 8 && radix[i + 1] == 2) radix[i] = radix[i + 1] = 4;
    return n == 1 ? count : -1;
}

static bool smooth(int64_t n)
{
    int radix[TT_FFT_STAGES];
    return factorise(n, radix) >= 0;
}

static TtStatus plan_staged(TtFft *f)
{
    f->kind = TT_FFT_STAGED;
    f->stages = factorise(f->n, f->radix);
    int64_t pairs = 0, m = f->n;
    for (int s = 0; s < f->stages; m /= f->radix[s], s++) pairs += (int64_t)(f->radix[s] - 1) * (m / f->radix[s]);
    TT_TRY(new_floats(2 * pairs, &f->twiddles));
    TT_TRY(tt_alloc((void **)&f->perm, sizeof(int32_t) * (size_t)(f->n + 1)));
    float *w = f->twiddles;
    m = f->n;
    for (int s = 0; s < f->stages; m /= f->radix[s], s++)
        for (int64_t j = 0; j < m / f->radix[s]; j++)
            for (int k = 1; k < f->radix[s]; k++, w += 2) put_twiddle(w, j * k, m);
    for (int64_t k = 0; k < f->n; k++) {
        int64_t rest = k, at = 0, step = f->n;
        for (int s = 0; s < f->stages; s++) {
            step /= f->radix[s];
            at += rest % f->radix[s] * step;
            rest /= f->radix[s];
        }
        f->perm[k] = (int32_t)at;
    }
    f->perm[f->n] = (int32_t)f->n;
    return TT_OK;
}

static TtStatus plan_new(int64_t n, TtFft **out);

static TtStatus plan_fourstep(TtFft *f)
{
    f->kind = TT_FFT_FOURSTEP;
    int64_t rows = 1;
    for (int64_t d = 1; d <= f->n / d; d++)
        if (f->n % d == 0) rows = d;
    const int64_t columns = f->n / rows;
    TT_ASSERT(rows >= TT_FFT_WIDTH && columns >= TT_FFT_WIDTH); /* the ratio of neighbouring divisors is at most 13 */
    TT_TRY(new_part(columns, &f->columns));
    TT_TRY(plan_staged(f->columns));
    TT_TRY(new_part(rows, &f->rows));
    TT_TRY(plan_staged(f->rows));
    TT_TRY(new_floats(2 * f->n, &f->twiddles));
    for (int64_t k = 0; k < columns; k++)
        for (int64_t j = 0; j < rows; j++) {
            float w[2];
            put_twiddle(w, j * k, f->n);
            f->twiddles[k * rows + j] = w[0], f->twiddles[f->n + k * rows + j] = w[1];
        }
    return TT_OK;
}

/* In double, out of place, for the chirp's spectrum: y = transform of the n complex values at x, x + step, ... W holds
 * e^(-2 pi i k / (n * step)). */
static void transform_exactly(int64_t n, const double *x, int64_t step, const double *w, double *y, double *spare)
{
    int radix[TT_FFT_STAGES];
    if (n == 1) {
        y[0] = x[0], y[1] = x[1];
        return;
    }
    TT_ASSERT(factorise(n, radix) > 0);
    const int64_t r = radix[0], q = n / r;
    for (int64_t i = 0; i < r; i++)
        transform_exactly(q, x + 2 * i * step, r * step, w, spare + 2 * i * q, y + 2 * i * q);
    for (int64_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (int64_t i = 0; i < r; i++) {
            const double *part = spare + 2 * (i * q + k % q), *t = w + 2 * (i * k % n * step);
            re += part[0] * t[0] - part[1] * t[1], im += part[0] * t[1] + part[1] * t[0];
        }
        y[2 * k] = re, y[2 * k + 1] = im;
    }
}

/* jk = (j^2 + k^2 - (j - k)^2) / 2: a transform is a product with the chirp e^(-i pi k^2 / n), a convolution with its
 * conjugate and another product. */
static TtStatus plan_chirp(TtFft *f)
{
    const int64_t n = f->n;
    f->kind = TT_FFT_CHIRP;
    int64_t m = 2 * n - 1;
    while (!smooth(m)) m++;
    TT_TRY(plan_new(m, &f->conv));
    TT_TRY(new_floats(2 * n, &f->chirp));
    TT_TRY(new_floats(2 * m, &f->spectrum));
    double *b;
    TT_TRY(tt_alloc((void **)&b, sizeof(double) * 8 * (size_t)m));
    double *y = b + 2 * m, *spare = y + 2 * m, *w = spare + 2 * m;
    for (int64_t k = 0; k < m; k++) twiddle(k, m, &w[2 * k], &w[2 * k + 1]);
    memset(b, 0, sizeof(double) * 2 * (size_t)m);
    for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
        double c, s;
        twiddle(square, 2 * n, &c, &s);
        f->chirp[2 * k] = (float)c, f->chirp[2 * k + 1] = (float)s;
        b[2 * k] = c, b[2 * k + 1] = -s;
        if (k > 0) b[2 * (m - k)] = c, b[2 * (m - k) + 1] = -s;
    }
    transform_exactly(m, b, 1, w, y, spare);
    for (int64_t k = 0; k < 2 * m; k++) f->spectrum[k] = (float)(y[k] / (double)m);
    tt_free(b);
    return TT_OK;
}

/* For complex transforms only. */
static TtStatus plan_new(int64_t n, TtFft **out)
{
    TT_TRY(new_part(n, out));
    TtFft *f = *out;
    if (!smooth(n)) return plan_chirp(f);
    return n <= TT_FFT_DIRECT ? plan_staged(f) : plan_fourstep(f);
}

static TtStatus plan_real(TtFft *f)
{
    if (f->n % 2 != 0) return TT_OK;
    TT_TRY(plan_new(f->n / 2, &f->half));
    TT_TRY(new_floats(2 * (f->n / 4 + 1), &f->split));
    for (int64_t k = 0; k <= f->n / 4; k++) put_twiddle(f->split + 2 * k, k, f->n);
    return TT_OK;
}

TtStatus tt_fft_new(int64_t n, TtFft **out)
{
    *out = NULL;
    if (n < 1 || n > TT_FFT_LONGEST) return TT_FAIL(TT_EINTERNAL, "a Fourier transform of length %lld", (long long)n);
    TtStatus status = plan_new(n, out);
    if (status == TT_OK) status = plan_real(*out);
    if (status != TT_OK) {
        tt_fft_free(*out);
        *out = NULL;
    }
    return status;
}

void tt_fft_free(TtFft *f)
{
    if (!f) return;
    TtFft *const parts[] = {f->columns, f->rows, f->conv, f->half};
    for (int i = 0; i < TT_COUNT(parts); i++) tt_fft_free(parts[i]); /* parts of parts at most */
    tt_free(f->twiddles), tt_free(f->perm), tt_free(f->chirp), tt_free(f->spectrum), tt_free(f->split);
    tt_free(f);
}

int64_t tt_fft_length(const TtFft *f)
{
    return f->n;
}

/* ---- scratch, in floats */

static int64_t slots(int64_t n) /* n + 1 complex vectors */
{
    return 2 * (n + 1) * TT_FFT_WIDTH;
}

/* Transforms that are made into rows of scratch at a time: a vector's worth where that is what the lanes want. */
static int64_t group(const TtFft *f)
{
    const TtFft *inner = f->kind == TT_FFT_CHIRP ? f->conv : f;
    return inner->kind == TT_FFT_STAGED ? TT_FFT_WIDTH : 1;
}

static int64_t complex_scratch(const TtFft *f)
{
    switch (f->kind) {
    case TT_FFT_STAGED: return slots(f->n);
    case TT_FFT_FOURSTEP: return tt_fft_padded(2 * f->n) + slots(TT_MAX(f->columns->n, f->rows->n));
    default: return 2 * tt_fft_padded(2 * group(f) * f->conv->n) + complex_scratch(f->conv);
    }
}

/* Of a real transform that is not the lanes' own: rows for the complex transform's input and output. */
static int64_t real_scratch(const TtFft *f)
{
    const TtFft *inner = f->half ? f->half : f;
    if (inner->kind == TT_FFT_STAGED) return slots(inner->n);
    return 2 * tt_fft_padded(2 * group(inner) * inner->n) + complex_scratch(inner);
}

size_t tt_fft_scratch(const TtFft *f)
{
    return sizeof(float) * (size_t)TT_MAX(complex_scratch(f), real_scratch(f));
}

/* ---- complex transforms */

static void chirp(const TtFft *f, int sign, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride,
                  float *scratch)
{
    const int64_t n = f->n, m = f->conv->n, most = group(f), row = 2 * m;
    float *a = scratch, *b = a + tt_fft_padded(most * row), *inner = b + tt_fft_padded(most * row);
    const bool swap = sign > 0;
    for (int64_t first = 0; first < count; first += most) {
        const int64_t rows = TT_MIN(most, count - first);
        for (int64_t i = 0; i < rows; i++) {
            lanes()->multiply(n, x + (first + i) * x_stride, swap, f->chirp, a + i * row, false);
            memset(a + i * row + 2 * n, 0, sizeof(float) * (size_t)(2 * (m - n)));
        }
        tt_fft_c2c(f->conv, -1, rows, a, row, b, row, inner);
        for (int64_t i = 0; i < rows; i++) lanes()->multiply(m, b + i * row, false, f->spectrum, b + i * row, false);
        tt_fft_c2c(f->conv, 1, rows, b, row, a, row, inner);
        for (int64_t i = 0; i < rows; i++)
            lanes()->multiply(n, a + i * row, false, f->chirp, y + (first + i) * y_stride, swap);
    }
}

void tt_fft_c2c(const TtFft *f, int sign, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride,
                void *scratch)
{
    switch (f->kind) {
    case TT_FFT_STAGED: lanes()->c2c(f, sign, count, x, x_stride, y, y_stride, scratch); break;
    case TT_FFT_FOURSTEP:
        for (int64_t i = 0; i < count; i++) lanes()->fourstep(f, sign, x + i * x_stride, y + i * y_stride, scratch);
        break;
    case TT_FFT_CHIRP: chirp(f, sign, count, x, x_stride, y, y_stride, scratch); break;
    }
}

/* ---- real transforms whose complex part is not staged: row by row, in the arithmetic of fft_lanes.c's r2c and c2r */

/* Bins 0 to m of a real transform from the m values of the half-length one. */
static void split_row(const TtFft *f, const float *z, float *y)
{
    const int64_t m = f->half->n;
    y[0] = z[0] + z[1], y[1] = 0.0f;
    y[2 * m] = z[0] - z[1], y[2 * m + 1] = 0.0f;
    for (int64_t k = 1; k <= m / 2; k++) {
        const float *p = z + 2 * k, *q = z + 2 * (m - k), c = 0.5f * f->split[2 * k], s = 0.5f * f->split[2 * k + 1];
        const float er = (p[0] + q[0]) * 0.5f, ei = (p[1] - q[1]) * 0.5f, dr = p[1] + q[1], di = q[0] - p[0];
        const float or = dr * c - di * s, oi = dr * s + di * c;
        y[2 * k] = er + or, y[2 * k + 1] = ei + oi;
        y[2 * (m - k)] = er - or, y[2 * (m - k) + 1] = oi - ei;
    }
}

static void merge_row(const TtFft *f, const float *x, float *z)
{
    const int64_t m = f->half->n;
    z[0] = x[0] + x[2 * m], z[1] = x[0] - x[2 * m];
    for (int64_t k = 1; k <= m / 2; k++) {
        const float *p = x + 2 * k, *q = x + 2 * (m - k), c = f->split[2 * k], s = -f->split[2 * k + 1];
        const float er = p[0] + q[0], ei = p[1] - q[1], dr = p[0] - q[0], di = p[1] + q[1];
        const float or = dr * c - di * s, oi = dr * s + di * c;
        z[2 * k] = er - oi, z[2 * k + 1] = ei + or ;
        z[2 * (m - k)] = er + oi, z[2 * (m - k) + 1] = or -ei;
    }
}

void tt_fft_r2c(const TtFft *f, int64_t count, const float *x, int64_t x_stride, const float *window, float *y,
                int64_t y_stride, void *scratch)
{
    const TtFft *inner = f->half ? f->half : f;
    if (inner->kind == TT_FFT_STAGED) {
        lanes()->r2c(f, count, x, x_stride, window, y, y_stride, scratch);
        return;
    }
    const int64_t most = group(inner), row = 2 * inner->n, step = f->half ? 1 : 2;
    float *a = scratch, *b = a + tt_fft_padded(most * row), *rest = b + tt_fft_padded(most * row);
    for (int64_t first = 0; first < count; first += most) {
        const int64_t rows = TT_MIN(most, count - first);
        memset(a, 0, sizeof(float) * (size_t)(rows * row));
        for (int64_t i = 0; i < rows; i++) {
            const float *from = x + (first + i) * x_stride;
            for (int64_t t = 0; t < f->n; t++) a[i * row + t * step] = window ? from[t] * window[t] : from[t];
        }
        tt_fft_c2c(inner, -1, rows, a, row, b, row, rest);
        for (int64_t i = 0; i < rows; i++) {
            float *to = y + (first + i) * y_stride;
            if (f->half)
                split_row(f, b + i * row, to);
            else
                memcpy(to, b + i * row, sizeof(float) * (size_t)(f->n + 1));
        }
    }
}

void tt_fft_c2r(const TtFft *f, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride,
                void *scratch)
{
    const TtFft *inner = f->half ? f->half : f;
    if (inner->kind == TT_FFT_STAGED) {
        lanes()->c2r(f, count, x, x_stride, y, y_stride, scratch);
        return;
    }
    const int64_t most = group(inner), row = 2 * inner->n, step = f->half ? 1 : 2;
    float *a = scratch, *b = a + tt_fft_padded(most * row), *rest = b + tt_fft_padded(most * row);
    for (int64_t first = 0; first < count; first += most) {
        const int64_t rows = TT_MIN(most, count - first);
        for (int64_t i = 0; i < rows; i++) {
            const float *from = x + (first + i) * x_stride;
            float *z = a + i * row;
            if (f->half) {
                merge_row(f, from, z);
                continue;
            }
            z[0] = from[0], z[1] = 0.0f;
            for (int64_t k = 1; k <= f->n / 2; k++) {
                z[2 * k] = from[2 * k], z[2 * k + 1] = from[2 * k + 1];
                z[2 * (f->n - k)] = from[2 * k], z[2 * (f->n - k) + 1] = -from[2 * k + 1];
            }
        }
        tt_fft_c2c(inner, 1, rows, a, row, b, row, rest);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t t = 0; t < f->n; t++) y[(first + i) * y_stride + t] = b[i * row + t * step];
    }
}
