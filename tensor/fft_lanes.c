/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/fft_lanes.c - inner loops of the Fourier transforms (compiled once per instruction set; see fft_lanes.h).
 *
 * A group of WIDTH transforms is transposed into a buffer whose k-th slot is a vector of real parts and one of imaginary
 * parts, one transform a lane. All arithmetic then is on whole vectors and twiddles are broadcast, whatever the length.
 * The stages work in place; their results are out of order (digits reversed), which costs nothing because the transposed
 * store picks them in order. An inverse transform is the forward one with real and imaginary parts exchanged on both
 * sides. */
#include "tensor/fft_lanes.h"

#include <string.h>

#ifndef TT_ISA
#define TT_ISA c
#endif
#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)

#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX2__)
#define WIDTH 8
#else
#define WIDTH 4
#endif

typedef float V __attribute__((vector_size(4 * WIDTH)));
/* For data of the caller: any multiple of four bytes. */
typedef float Unaligned __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef struct C {
    V re, im;
} C;

#define INLINE static inline __attribute__((always_inline))

#if defined(__clang__)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t Index __attribute__((vector_size(4 * WIDTH)));
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (Index){__VA_ARGS__})
#endif

#define LOAD(p) (*(const Unaligned *)(const void *)(p))
#define STORE(p, v) (*(Unaligned *)(void *)(p) = (v))

/* ---- shuffles: LOW and HIGH interleave within each four floats, ZIP and UNZIP over the whole vector */

#if WIDTH == 16
#define LOW(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH(a, b) SHUFFLE(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define LOW2(a, b) SHUFFLE(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define HIGH2(a, b) SHUFFLE(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define EVEN4(a, b) SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define ODD4(a, b) SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
#define ZIP0(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP1(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define UNZIP0(a, b) SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define UNZIP1(a, b) SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#elif WIDTH == 8
#define LOW(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH(a, b) SHUFFLE(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW2(a, b) SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH2(a, b) SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define FIRST4(a, b) SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define LAST4(a, b) SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define ZIP0(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP1(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define UNZIP0(a, b) SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define UNZIP1(a, b) SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#else
#define LOW(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define HIGH(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define LOW2(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define HIGH2(a, b) SHUFFLE(a, b, 2, 3, 6, 7)
#define ZIP0(a, b) LOW(a, b)
#define ZIP1(a, b) HIGH(a, b)
#define UNZIP0(a, b) SHUFFLE(a, b, 0, 2, 4, 6)
#define UNZIP1(a, b) SHUFFLE(a, b, 1, 3, 5, 7)
#endif

/* r[i][j] becomes r[j][i]: four by four within each quarter, then the quarters as a matrix of their own. */
INLINE void transpose(V *r)
{
    V t[WIDTH];
#pragma GCC unroll 16
    for (int g = 0; g < WIDTH; g += 4) {
        V a = LOW(r[g], r[g + 1]), b = HIGH(r[g], r[g + 1]), c = LOW(r[g + 2], r[g + 3]), d = HIGH(r[g + 2], r[g + 3]);
        t[g] = LOW2(a, c), t[g + 1] = HIGH2(a, c), t[g + 2] = LOW2(b, d), t[g + 3] = HIGH2(b, d);
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
#if WIDTH == 16
        V a = EVEN4(t[c], t[4 + c]), b = ODD4(t[c], t[4 + c]), d = EVEN4(t[8 + c], t[12 + c]),
          e = ODD4(t[8 + c], t[12 + c]);
        r[c] = EVEN4(a, d), r[4 + c] = EVEN4(b, e), r[8 + c] = ODD4(a, d), r[12 + c] = ODD4(b, e);
#elif WIDTH == 8
        r[c] = FIRST4(t[c], t[4 + c]), r[4 + c] = LAST4(t[c], t[4 + c]);
#else
        r[c] = t[c];
#endif
    }
}

/* ---- between rows of the caller and the buffer. A last block that is not whole is done again from further left. */

/* Float t of each row goes to vector t * STEP of BUF; multiplied by WINDOW unless it is NULL. */
INLINE void load_rows(V *buf, int step, const float *const row[WIDTH], int64_t len, const float *window)
{
    if (len < WIDTH) {
        for (int64_t t = 0; t < len; t++) {
            V v = {0};
            for (int i = 0; i < WIDTH; i++) v[i] = window ? row[i][t] * window[t] : row[i][t];
            buf[t * step] = v;
        }
        return;
    }
    for (int64_t t = 0; t < len; t += WIDTH) {
        V r[WIDTH];
        t = TT_MIN(t, len - WIDTH);
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH; i++) r[i] = LOAD(row[i] + t);
        if (window) {
            const V w = LOAD(window + t);
#pragma GCC unroll 16
            for (int i = 0; i < WIDTH; i++) r[i] *= w;
        }
        transpose(r);
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH; i++) buf[(t + i) * step] = r[i];
    }
}

/* Float t of the first ROWS rows comes from slot perm[t / 2], real part for even t (COMPLEX; LEN is even), or from the
 * real part of slot perm[t]; SWAP takes the other part. */
INLINE void store_rows(const V *buf, const int32_t *perm, bool complex, int swap, float *const row[WIDTH], int rows,
                       int64_t len)
{
#define FROM(t) buf[complex ? 2 * perm[(t) >> 1] + (((t)&1) ^ swap) : 2 * perm[t] + swap]
    if (len < WIDTH) {
        for (int64_t t = 0; t < len; t++)
            for (int i = 0; i < rows; i++) row[i][t] = FROM(t)[i];
        return;
    }
    for (int64_t t = 0; t < len; t += WIDTH) {
        V r[WIDTH];
        t = TT_MIN(t, len - WIDTH);
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH; i++) r[i] = FROM(t + i);
        transpose(r);
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH; i++)
            if (i < rows) STORE(row[i] + t, r[i]);
    }
#undef FROM
}

/* Rows of a group from the FIRST of COUNT transforms on; lanes without one repeat the first. */
INLINE int group_in(const float *x, int64_t stride, int64_t first, int64_t count, const float *row[WIDTH])
{
    int rows = (int)TT_MIN(count - first, WIDTH);
    for (int i = 0; i < WIDTH; i++) row[i] = x + (first + (i < rows ? i : 0)) * stride;
    return rows;
}

INLINE void group_out(float *y, int64_t stride, int64_t first, int rows, float *row[WIDTH])
{
    for (int i = 0; i < WIDTH; i++) row[i] = y + (first + (i < rows ? i : 0)) * stride;
}

/* ---- butterflies: transforms of length R in registers, results in order */

INLINE C add(C a, C b)
{
    return (C){a.re + b.re, a.im + b.im};
}

INLINE C sub(C a, C b)
{
    return (C){a.re - b.re, a.im - b.im};
}

INLINE C times(C a, float re, float im)
{
    return (C){a.re * re - a.im * im, a.re * im + a.im * re};
}

INLINE C turn(C a) /* -i a */
{
    return (C){a.im, -a.re};
}

INLINE void butterfly2(C *x)
{
    C a = x[0];
    x[0] = add(a, x[1]), x[1] = sub(a, x[1]);
}

INLINE void butterfly4(C *x)
{
    C a = add(x[0], x[2]), b = sub(x[0], x[2]), c = add(x[1], x[3]), d = turn(sub(x[1], x[3]));
    x[0] = add(a, c), x[1] = add(b, d), x[2] = sub(a, c), x[3] = sub(b, d);
}

INLINE void butterfly8(C *x)
{
    const float h = 0.70710678118654752f;
    C e[4], o[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) e[i] = add(x[i], x[i + 4]), o[i] = sub(x[i], x[i + 4]);
    o[1] = (C){(o[1].re + o[1].im) * h, (o[1].im - o[1].re) * h};
    o[2] = turn(o[2]);
    o[3] = (C){(o[3].im - o[3].re) * h, (o[3].re + o[3].im) * -h};
    butterfly4(e), butterfly4(o);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) x[2 * i] = e[i], x[2 * i + 1] = o[i];
}

/* An odd prime R: with s and d the sums and differences of x[i] and x[R - i], X[k] and X[R - k] are
 * x[0] + sum cos(2 pi i k / R) s[i] -+ i sum sin(2 pi i k / R) d[i]. COS and SIN have R entries. */
INLINE void butterfly_odd(C *x, int r, const float *cosine, const float *sine)
{
    C s[7], d[7], first = x[0];
#pragma GCC unroll 8
    for (int i = 1; i <= r / 2; i++) {
        s[i] = add(x[i], x[r - i]), d[i] = sub(x[i], x[r - i]);
        x[0] = add(x[0], s[i]);
    }
#pragma GCC unroll 8
    for (int k = 1; k <= r / 2; k++) {
        C a = {first.re + s[1].re * cosine[k], first.im + s[1].im * cosine[k]};
        C b = {d[1].re * sine[k], d[1].im * sine[k]};
#pragma GCC unroll 8
        for (int i = 2; i <= r / 2; i++) {
            const float c = cosine[i * k % r], n = sine[i * k % r];
            a = (C){a.re + s[i].re * c, a.im + s[i].im * c};
            b = (C){b.re + d[i].re * n, b.im + d[i].im * n};
        }
        b = turn(b);
        x[k] = add(a, b), x[r - k] = sub(a, b);
    }
}

/* Of 2 pi i / R; literals, so that they become constants in unrolled code. */
static const float cos3[3] = {1.000000000000f, -0.500000000000f, -0.500000000000f};
static const float sin3[3] = {0.000000000000f, 0.866025403784f, -0.866025403784f};
static const float cos5[5] = {1.000000000000f, 0.309016994375f, -0.809016994375f, -0.809016994375f, 0.309016994375f};
static const float sin5[5] = {0.000000000000f, 0.951056516295f, 0.587785252292f, -0.587785252292f, -0.951056516295f};
static const float cos7[7] = {1.000000000000f,  0.623489801859f,  -0.222520933956f, -0.900968867902f,
                              -0.900968867902f, -0.222520933956f, 0.623489801859f};
static const float sin7[7] = {0.000000000000f,  0.781831482468f,  0.974927912182f, 0.433883739118f,
                              -0.433883739118f, -0.974927912182f, -0.781831482468f};
static const float cos11[11] = {1.000000000000f,  0.841253532831f,  0.415415013002f,  -0.142314838273f,
                                -0.654860733945f, -0.959492973614f, -0.959492973614f, -0.654860733945f,
                                -0.142314838273f, 0.415415013002f,  0.841253532831f};
static const float sin11[11] = {0.000000000000f,  0.540640817456f,  0.909631995355f,  0.989821441881f,
                                0.755749574354f,  0.281732556841f,  -0.281732556841f, -0.755749574354f,
                                -0.989821441881f, -0.909631995355f, -0.540640817456f};
static const float cos13[13] = {1.000000000000f,  0.885456025653f,  0.568064746731f,  0.120536680255f,
                                -0.354604887043f, -0.748510748171f, -0.970941817426f, -0.970941817426f,
                                -0.748510748171f, -0.354604887043f, 0.120536680255f,  0.568064746731f,
                                0.885456025653f};
static const float sin13[13] = {0.000000000000f,  0.464723172044f,  0.822983865894f,  0.992708874098f,
                                0.935016242685f,  0.663122658241f,  0.239315664288f,  -0.239315664288f,
                                -0.663122658241f, -0.935016242685f, -0.992708874098f, -0.822983865894f,
                                -0.464723172044f};

/* ---- stages */

/* All butterflies of a stage: BLOCKS blocks of R * q slots. Those of one j share their twiddles. */
#define STAGE(R, BUTTERFLY)                                                                           \
    static __attribute__((noinline)) void stage##R(C *buf, int64_t q, int64_t blocks, const float *w) \
    {                                                                                                 \
        for (int64_t b = 0; b < blocks; b++) {                                                        \
            C *p = buf + b * R * q, x[R];                                                             \
            _Pragma("GCC unroll 16") for (int i = 0; i < R; i++) x[i] = p[i * q];                     \
            BUTTERFLY;                                                                                \
            _Pragma("GCC unroll 16") for (int i = 0; i < R; i++) p[i * q] = x[i];                     \
        }                                                                                             \
        for (int64_t j = 1; j < q; j++) {                                                             \
            w += 2 * (R - 1);                                                                         \
            for (int64_t b = 0; b < blocks; b++) {                                                    \
                C *p = buf + b * R * q + j, x[R];                                                     \
                _Pragma("GCC unroll 16") for (int i = 0; i < R; i++) x[i] = p[i * q];                 \
                BUTTERFLY;                                                                            \
                p[0] = x[0];                                                                          \
                _Pragma("GCC unroll 16") for (int i = 1; i < R; i++) p[i * q] =                       \
                    times(x[i], w[2 * i - 2], w[2 * i - 1]);                                          \
            }                                                                                         \
        }                                                                                             \
    }

STAGE(2, butterfly2(x))
STAGE(3, butterfly_odd(x, 3, cos3, sin3))
STAGE(4, butterfly4(x))
STAGE(5, butterfly_odd(x, 5, cos5, sin5))
STAGE(7, butterfly_odd(x, 7, cos7, sin7))
STAGE(8, butterfly8(x))
STAGE(11, butterfly_odd(x, 11, cos11, sin11))
STAGE(13, butterfly_odd(x, 13, cos13, sin13))

/* Stage s of BLOCKS blocks of M slots. */
static void run_stage(const TtFft *f, int s, C *buf, int64_t m, int64_t blocks, const float *w)
{
    const int64_t q = m / f->radix[s];
    switch (f->radix[s]) {
    case 2: stage2(buf, q, blocks, w); break;
    case 3: stage3(buf, q, blocks, w); break;
    case 4: stage4(buf, q, blocks, w); break;
    case 5: stage5(buf, q, blocks, w); break;
    case 7: stage7(buf, q, blocks, w); break;
    case 8: stage8(buf, q, blocks, w); break;
    case 11: stage11(buf, q, blocks, w); break;
    default: stage13(buf, q, blocks, w); break;
    }
}

/* Over the whole buffer as long as its blocks exceed the first cache, then block by block. */
static void run(const TtFft *f, V *v)
{
    enum { CACHED = 24 * 1024 / (int)sizeof(C) };
    C *buf = (C *)(void *)v;
    const float *w = f->twiddles;
    int s = 0;
    int64_t m = f->n;
    for (; s < f->stages && m > CACHED; s++) {
        run_stage(f, s, buf, m, f->n / m, w);
        m /= f->radix[s];
        w += 2 * (f->radix[s] - 1) * m;
    }
    for (C *block = buf; block < buf + f->n; block += m) {
        const float *u = w;
        int64_t part = m;
        for (int t = s; t < f->stages; t++) {
            run_stage(f, t, block, part, m / part, u);
            part /= f->radix[t];
            u += 2 * (f->radix[t] - 1) * part;
        }
    }
}

/* ---- complex transforms */

static void c2c(const TtFft *f, int sign, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride,
                float *scratch)
{
    V *buf = (V *)(void *)scratch;
    const float *in[WIDTH];
    float *out[WIDTH];
    const int swap = sign > 0;
    for (int64_t first = 0; first < count; first += WIDTH) {
        int rows = group_in(x, x_stride, first, count, in);
        load_rows(buf, 1, in, 2 * f->n, NULL);
        if (swap)
            for (int64_t k = 0; k < f->n; k++) {
                V re = buf[2 * k];
                buf[2 * k] = buf[2 * k + 1], buf[2 * k + 1] = re;
            }
        run(f, buf);
        group_out(y, y_stride, first, rows, out);
        store_rows(buf, f->perm, true, swap, out, rows, 2 * f->n);
    }
}

/* Columns of WIDTH neighbours first, then rows of the twiddled result, whose real parts are in SCRATCH and imaginary
 * parts behind them; a last group that is not whole overlaps the one before. */
static void fourstep(const TtFft *f, int sign, const float *x, float *y, float *scratch)
{
    const int64_t n1 = f->columns->n, n2 = f->rows->n;
    const float *wr = f->twiddles, *wi = wr + f->n;
    float *tr = scratch, *ti = tr + f->n;
    V *buf = (V *)(void *)(scratch + tt_fft_padded(2 * f->n));
    const int swap = sign > 0;
    for (int64_t j = 0; j < n2; j += WIDTH) {
        j = TT_MIN(j, n2 - WIDTH);
        for (int64_t k = 0; k < n1; k++) {
            const V a = LOAD(x + 2 * (k * n2 + j)), b = LOAD(x + 2 * (k * n2 + j) + WIDTH);
            buf[2 * k + swap] = UNZIP0(a, b), buf[2 * k + !swap] = UNZIP1(a, b);
        }
        run(f->columns, buf);
        for (int64_t k = 0; k < n1; k++) {
            const V re = buf[2 * f->columns->perm[k]], im = buf[2 * f->columns->perm[k] + 1];
            const V c = LOAD(wr + k * n2 + j), s = LOAD(wi + k * n2 + j);
            STORE(tr + k * n2 + j, re * c - im * s);
            STORE(ti + k * n2 + j, re * s + im * c);
        }
    }
    for (int64_t k = 0; k < n1; k += WIDTH) {
        const float *in[WIDTH];
        k = TT_MIN(k, n1 - WIDTH);
        for (int i = 0; i < WIDTH; i++) in[i] = tr + (k + i) * n2;
        load_rows(buf, 2, in, n2, NULL);
        for (int i = 0; i < WIDTH; i++) in[i] = ti + (k + i) * n2;
        load_rows(buf + 1, 2, in, n2, NULL);
        run(f->rows, buf);
        for (int64_t j = 0; j < n2; j++) {
            const V a = buf[2 * f->rows->perm[j] + swap], b = buf[2 * f->rows->perm[j] + !swap];
            STORE(y + 2 * (j * n1 + k), ZIP0(a, b));
            STORE(y + 2 * (j * n1 + k) + WIDTH, ZIP1(a, b));
        }
    }
}

static void multiply(int64_t n, const float *x, bool swap_x, const float *w, float *y, bool swap_y)
{
    for (int64_t k = 0; k < n; k++) {
        const float re = x[2 * k + swap_x], im = x[2 * k + !swap_x], c = w[2 * k], s = w[2 * k + 1];
        const float a = re * c - im * s, b = re * s + im * c;
        y[2 * k + swap_y] = a, y[2 * k + !swap_y] = b;
    }
}

/* ---- real transforms. Of even length n = 2 m: the pairs (x[2t], x[2t+1]) are m complex values with transform Z. The
 * transforms of the even and the odd values are E[k] = (Z[k] + conj Z[m-k]) / 2 and O[k] = (Z[k] - conj Z[m-k]) / 2i, and
 * X[k] = E[k] + w^k O[k], X[m-k] = conj(E[k] - w^k O[k]) with w = e^(-2 pi i / n). */

static void r2c_odd(const TtFft *f, int64_t count, const float *x, int64_t x_stride, const float *window, float *y,
                    int64_t y_stride, V *buf)
{
    const float *in[WIDTH];
    float *out[WIDTH];
    for (int64_t first = 0; first < count; first += WIDTH) {
        int rows = group_in(x, x_stride, first, count, in);
        load_rows(buf, 2, in, f->n, window);
        for (int64_t k = 0; k < f->n; k++) buf[2 * k + 1] = (V){0};
        run(f, buf);
        group_out(y, y_stride, first, rows, out);
        store_rows(buf, f->perm, true, 0, out, rows, f->n + 1);
    }
}

static void r2c(const TtFft *f, int64_t count, const float *x, int64_t x_stride, const float *window, float *y,
                int64_t y_stride, float *scratch)
{
    V *buf = (V *)(void *)scratch;
    if (!f->half) {
        r2c_odd(f, count, x, x_stride, window, y, y_stride, buf);
        return;
    }
    C *z = (C *)(void *)buf;
    const int64_t m = f->half->n;
    const int32_t *perm = f->half->perm;
    const float *in[WIDTH];
    float *out[WIDTH];
    for (int64_t first = 0; first < count; first += WIDTH) {
        int rows = group_in(x, x_stride, first, count, in);
        load_rows(buf, 1, in, f->n, window);
        run(f->half, buf);
        C a = z[0];
        z[0] = (C){a.re + a.im, (V){0}}, z[m] = (C){a.re - a.im, (V){0}};
        for (int64_t k = 1; k <= m / 2; k++) {
            C *lo = z + perm[k], *hi = z + perm[m - k];
            const C p = *lo, q = *hi;
            const float c = 0.5f * f->split[2 * k], s = 0.5f * f->split[2 * k + 1];
            const C e = {(p.re + q.re) * 0.5f, (p.im - q.im) * 0.5f};
            const C o = times((C){p.im + q.im, q.re - p.re}, c, s);
            *lo = add(e, o), *hi = (C){e.re - o.re, o.im - e.im};
        }
        group_out(y, y_stride, first, rows, out);
        store_rows(buf, perm, true, 0, out, rows, 2 * m + 2);
    }
}

static void c2r_odd(const TtFft *f, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride, V *buf)
{
    const float *in[WIDTH];
    float *out[WIDTH];
    for (int64_t first = 0; first < count; first += WIDTH) {
        int rows = group_in(x, x_stride, first, count, in);
        load_rows(buf, 1, in, f->n + 1, NULL);
        C *z = (C *)(void *)buf;
        z[0] = (C){(V){0}, z[0].re};
        for (int64_t k = 1; k <= f->n / 2; k++) {
            const C a = z[k];
            z[k] = (C){a.im, a.re}, z[f->n - k] = (C){-a.im, a.re};
        }
        run(f, buf);
        group_out(y, y_stride, first, rows, out);
        store_rows(buf, f->perm, false, 1, out, rows, f->n);
    }
}

static void c2r(const TtFft *f, int64_t count, const float *x, int64_t x_stride, float *y, int64_t y_stride,
                float *scratch)
{
    V *buf = (V *)(void *)scratch;
    if (!f->half) {
        c2r_odd(f, count, x, x_stride, y, y_stride, buf);
        return;
    }
    C *z = (C *)(void *)buf;
    const int64_t m = f->half->n;
    const float *in[WIDTH];
    float *out[WIDTH];
    for (int64_t first = 0; first < count; first += WIDTH) {
        int rows = group_in(x, x_stride, first, count, in);
        load_rows(buf, 1, in, 2 * m + 2, NULL);
        const V a = z[0].re, b = z[m].re;
        z[0] = (C){a - b, a + b}; /* parts exchanged from here on: the transform is an inverse one */
        for (int64_t k = 1; k <= m / 2; k++) {
            const C p = z[k], q = z[m - k];
            const C e = {p.re + q.re, p.im - q.im};
            const C o = times((C){p.re - q.re, p.im + q.im}, f->split[2 * k], -f->split[2 * k + 1]);
            z[k] = (C){e.im + o.re, e.re - o.im}, z[m - k] = (C){o.re - e.im, e.re + o.im};
        }
        run(f->half, buf);
        group_out(y, y_stride, first, rows, out);
        store_rows(buf, f->half->perm, true, 1, out, rows, f->n);
    }
}

extern const TtFftLanes JOIN(tt_fft_lanes, TT_ISA);
const TtFftLanes JOIN(tt_fft_lanes, TT_ISA) = {
    .width = WIDTH,
    .c2c = c2c,
    .r2c = r2c,
    .c2r = c2r,
    .fourstep = fourstep,
    .multiply = multiply,
};
