/* SPDX-License-Identifier: Apache-2.0 */
/* vision/rows.c - inner loops of the transforms (compiled once per instruction set; see rows.h).
 *
 * Plain C that GCC vectorises, except for the two uint8 passes of resizing: there the pairwise multiply-add of
 * AVX2 takes two taps at a time, which no compiler finds. */
#include "vision/rows.h"

#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#ifndef TT_ISA
#define TT_ISA c
#endif
#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)

enum { BLOCK = 64 };

static inline uint8_t clamp8(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static inline uint32_t bits(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static inline float from_bits(uint32_t u)
{
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* c ? a : b on bit patterns: written with ?:, GCC makes branches of it and gives up the loop around it. */
static inline float choose(bool c, float a, float b)
{
    const uint32_t m = -(uint32_t)c;
    return from_bits((bits(a) & m) | (bits(b) & ~m));
}

/* v limited to [0, top]; NaN gives 0. */
static inline float limit(float v, float top)
{
    v = choose(v > 0.0f, v, 0.0f);
    return choose(v < top, v, top);
}

/* ---- resizing, uint8: sums in fixed point */

static inline void taps_pixel(const uint8_t *src, int c, int count, const int16_t *w, int shift, uint8_t *dst)
{
    int half = 1 << (shift - 1);
    if (c == 3) {
        int r = half, g = half, b = half;
        for (int k = 0; k < count; k++, src += 3) r += w[k] * src[0], g += w[k] * src[1], b += w[k] * src[2];
        dst[0] = clamp8(r >> shift), dst[1] = clamp8(g >> shift), dst[2] = clamp8(b >> shift);
        return;
    }
    for (int j = 0; j < c; j++) {
        int sum = half;
        for (int k = 0; k < count; k++) sum += w[k] * src[k * c + j];
        dst[j] = clamp8(sum >> shift);
    }
}

#ifdef __AVX2__
/* One pixel of three channels in four rows. Reads whole groups of four taps and four bytes beyond. */
static inline void taps_pixel4(const uint8_t *src, size_t stride, int count, const int16_t *w, int shift, uint8_t *dst,
                               size_t dst_stride, bool last)
{
    const __m256i pair0 = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1)); /* R0 R1 G0 G1 B0 B1 */
    const __m256i pair1 =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
    __m256i sum0 = _mm256_set1_epi32(1 << (shift - 1)), sum1 = sum0;
    for (int k = 0; k < count; k += 4, src += 12) {
        int32_t w01, w23;
        memcpy(&w01, w + k, 4), memcpy(&w23, w + k + 2, 4);
        const __m256i a = _mm256_set1_epi32(w01), b = _mm256_set1_epi32(w23);
#define ROW(i) _mm_loadu_si128((const __m128i *)(const void *)(src + (i)*stride))
        const __m256i p = _mm256_inserti128_si256(_mm256_castsi128_si256(ROW(0)), ROW(1), 1);
        const __m256i q = _mm256_inserti128_si256(_mm256_castsi128_si256(ROW(2)), ROW(3), 1);
#undef ROW
        sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(_mm256_shuffle_epi8(p, pair0), a));
        sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(_mm256_shuffle_epi8(q, pair0), a));
        sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(_mm256_shuffle_epi8(p, pair1), b));
        sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(_mm256_shuffle_epi8(q, pair1), b));
    }
    const __m128i by = _mm_cvtsi32_si128(shift);
    __m256i packed = _mm256_packs_epi32(_mm256_sra_epi32(sum0, by), _mm256_sra_epi32(sum1, by));
    packed = _mm256_packus_epi16(packed, packed); /* low lane: rows 0 and 2; high lane: rows 1 and 3 */
    const uint64_t even = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(packed));
    const uint64_t odd = (uint64_t)_mm_cvtsi128_si64(_mm256_extracti128_si256(packed, 1));
    const uint32_t four[4] = {(uint32_t)even, (uint32_t)odd, (uint32_t)(even >> 32), (uint32_t)(odd >> 32)};
    /* The fourth byte falls on the next pixel, which is written afterwards; the row's last pixel has none. */
    for (int i = 0; i < 4; i++) {
        if (last)
            memcpy(dst + (size_t)i * dst_stride, &four[i], 3);
        else
            memcpy(dst + (size_t)i * dst_stride, &four[i], 4);
    }
}
#endif

static void taps_h_u8(const uint8_t *src, size_t stride, size_t readable, int rows, int c, const TtTaps *t,
                      uint8_t *dst, size_t dst_stride)
{
    int y = 0;
#ifdef __AVX2__
    for (; c == 3 && y + 4 <= rows; y += 4) {
        const uint8_t *s = src + (size_t)y * stride;
        uint8_t *d = dst + (size_t)y * dst_stride;
        const size_t room = readable - (size_t)(y + 3) * stride; /* from the start of the group's last row */
        for (int i = 0; i < t->n; i++) {
            const int16_t *w = t->w16 + (size_t)i * (size_t)t->stride;
            const size_t at = (size_t)t->start[i] * 3;
            if (at + (size_t)((t->count[i] + 3) / 4) * 12 + 4 <= room) {
                taps_pixel4(s + at, stride, t->count[i], w, t->shift, d + (size_t)i * 3, dst_stride, i == t->n - 1);
                continue;
            }
            for (size_t k = 0; k < 4; k++)
                taps_pixel(s + k * stride + at, 3, t->count[i], w, t->shift, d + k * dst_stride + (size_t)i * 3);
        }
    }
#endif
    for (; y < rows; y++)
        for (int i = 0; i < t->n; i++)
            taps_pixel(src + (size_t)y * stride + (size_t)t->start[i] * (size_t)c, c, t->count[i],
                       t->w16 + (size_t)i * (size_t)t->stride, t->shift,
                       dst + (size_t)y * dst_stride + (size_t)i * (size_t)c);
}

static void taps_v_u8(const uint8_t *src, size_t stride, int count, const int16_t *w, int shift, size_t n, uint8_t *dst)
{
    size_t x = 0;
#ifdef __AVX2__
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(1 << (shift - 1));
    const __m128i by = _mm_cvtsi32_si128(shift);
    for (; x + 32 <= n; x += 32) {
        __m256i s0 = half, s1 = half, s2 = half, s3 = half;
        for (int k = 0; k < count; k += 2) {
            const uint8_t *p = src + (size_t)k * stride + x, *q = k + 1 < count ? p + stride : p;
            int32_t w01;
            memcpy(&w01, w + k, 4); /* an unpaired last tap has the weight 0 behind it */
            const __m256i ww = _mm256_set1_epi32(w01);
            const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
            const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)q);
            const __m256i lo = _mm256_unpacklo_epi8(a, b), hi = _mm256_unpackhi_epi8(a, b);
            s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi8(lo, zero), ww));
            s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi8(lo, zero), ww));
            s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi8(hi, zero), ww));
            s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi8(hi, zero), ww));
        }
        const __m256i p01 = _mm256_packs_epi32(_mm256_sra_epi32(s0, by), _mm256_sra_epi32(s1, by));
        const __m256i p23 = _mm256_packs_epi32(_mm256_sra_epi32(s2, by), _mm256_sra_epi32(s3, by));
        _mm256_storeu_si256((__m256i *)(void *)(dst + x), _mm256_packus_epi16(p01, p23));
    }
#endif
    for (; x < n; x += BLOCK) {
        int sum[BLOCK];
        const size_t m = TT_MIN(n - x, (size_t)BLOCK);
        for (size_t i = 0; i < m; i++) sum[i] = 1 << (shift - 1);
        for (int k = 0; k < count; k++) {
            const uint8_t *s = src + (size_t)k * stride + x;
            const int16_t wk = w[k];
            for (size_t i = 0; i < m; i++) sum[i] += wk * s[i];
        }
        for (size_t i = 0; i < m; i++) dst[x + i] = clamp8(sum[i] >> shift);
    }
}

/* ---- resizing and blurring, float32 */

static void taps_h_f32(const float *src, size_t stride, int rows, int c, const TtTaps *t, float *dst, size_t dst_stride)
{
    for (int y = 0; y < rows; y++, src += stride, dst += dst_stride) {
        for (int i = 0; i < t->n; i++) {
            const float *w = t->w32 + (size_t)i * (size_t)t->stride, *s = src + (size_t)t->start[i] * (size_t)c;
            float *d = dst + (size_t)i * (size_t)c;
            if (c == 3) {
                float r = 0, g = 0, b = 0;
                for (int k = 0; k < t->count[i]; k++, s += 3) r += w[k] * s[0], g += w[k] * s[1], b += w[k] * s[2];
                d[0] = r, d[1] = g, d[2] = b;
                continue;
            }
            for (int j = 0; j < c; j++) {
                float sum = 0;
                for (int k = 0; k < t->count[i]; k++) sum += w[k] * s[k * c + j];
                d[j] = sum;
            }
        }
    }
}

static void taps_v_f32(const float *src, size_t stride, int count, const float *w, size_t n, float *restrict dst)
{
    for (size_t x = 0; x < n; x += BLOCK) {
        float sum[BLOCK] = {0};
        const size_t m = TT_MIN(n - x, (size_t)BLOCK);
        for (int k = 0; k < count; k++) {
            const float *s = src + (size_t)k * stride + x, wk = w[k];
            for (size_t i = 0; i < m; i++) sum[i] += wk * s[i];
        }
        memcpy(dst + x, sum, m * sizeof *dst);
    }
}

static void convolve(const float *src, size_t step, int count, const float *w, size_t n, float *restrict dst)
{
    taps_v_f32(src, step, count, w, n, dst);
}

/* ---- conversion */

static void load_u8(const uint8_t *src, size_t n, float *restrict dst)
{
    for (size_t i = 0; i < n; i++) dst[i] = (float)src[i];
}

static void load_u16(const uint16_t *src, size_t n, float *restrict dst)
{
    for (size_t i = 0; i < n; i++) dst[i] = (float)src[i];
}

static void store_u8(const float *src, size_t n, uint8_t *restrict dst)
{
    for (size_t i = 0; i < n; i++) dst[i] = (uint8_t)(int)limit(src[i], 255.0f);
}

static void store_u16(const float *src, size_t n, uint16_t *restrict dst)
{
    for (size_t i = 0; i < n; i++) dst[i] = (uint16_t)(int)limit(src[i], 65535.0f);
}

/* Adding 1.5 * 2^23 leaves no fractional bits, so the addition itself rounds. */
static void round_f32(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (x[i] + 12582912.0f) - 12582912.0f;
}

#define NORMALIZE(name, type)                                                                                          \
    static void name(const type *src, size_t n, float scale, const float *mean, const float *std, float *restrict dst) \
    {                                                                                                                  \
        size_t x = 0;                                                                                                  \
        for (; x + TT_ROW_PATTERN <= n; x += TT_ROW_PATTERN)                                                           \
            for (size_t i = 0; i < TT_ROW_PATTERN; i++) dst[x + i] = ((float)src[x + i] * scale - mean[i]) / std[i];   \
        for (size_t i = 0; x + i < n; i++) dst[x + i] = ((float)src[x + i] * scale - mean[i]) / std[i];                \
    }
NORMALIZE(normalize_u8, uint8_t)
NORMALIZE(normalize_u16, uint16_t)
#undef NORMALIZE

/* src may be dst. */
static void normalize_f32(const float *src, size_t n, const float *mean, const float *std, float *dst)
{
    size_t x = 0;
    for (; x + TT_ROW_PATTERN <= n; x += TT_ROW_PATTERN)
        for (size_t i = 0; i < TT_ROW_PATTERN; i++) dst[x + i] = (src[x + i] - mean[i]) / std[i];
    for (size_t i = 0; x + i < n; i++) dst[x + i] = (src[x + i] - mean[i]) / std[i];
}

static void scale_f32(float *x, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++) x[i] *= factor;
}

/* ---- colour */

/* The product of two floats is exact in double, so this is a fused multiply-add (but for a double rounding that
 * happens once in 2^29), on machines that have the instruction and on those that lack it. */
static void blend(float *x, const float *other, size_t n, float ratio, float rest, float bound)
{
    for (size_t i = 0; i < n; i++) {
        const float first = x[i] * ratio;
        x[i] = limit((float)((double)first + (double)rest * (double)other[i]), bound);
    }
}

/* RGB to HSV, hue turned, and back; the order of every operation is that of torchvision's _rgb_to_hsv and
 * _hsv_to_rgb (functional/_color.py), which follow Pillow's Convert.c. */
static void hue(float *restrict r_, float *restrict g_, float *restrict b_, size_t n, float by)
{
    for (size_t i = 0; i < n; i++) {
        const float r = r_[i], g = g_[i], b = b_[i];
        const float rg = choose(r > g, r, g), gr = choose(r < g, r, g), hi = choose(rg > b, rg, b),
                    lo = choose(gr < b, gr, b);
        const bool grey = hi == lo, top_r = hi == r, top_g = hi == g;
        const float range = hi - lo, s = range / choose(grey, 1.0f, hi), div = choose(grey, 1.0f, range);
        const float rc = (hi - r) / div, gc = (hi - g) / div, bc = (hi - b) / div;
        float h = choose(top_r, bc - gc, choose(top_g, rc + 2.0f - bc, gc + 4.0f - rc));
        h = h * (1.0f / 6.0f) + 1.0f;
        h = choose(h >= 1.0f, h - 1.0f, h) + by;
        h = choose(h >= 1.0f, h - 1.0f, h);
        h = choose(h < 0.0f, h + 1.0f, h);
        const float h6 = limit(h * 6.0f, 6.0f);
        const int sector = (int)h6; /* 0 to 6 */
        const float f = h6 - (float)sector, sf = s * f, rest = 1.0f - s;
        const float q = limit((1.0f - sf) * hi, 1.0f), t = limit((sf + rest) * hi, 1.0f), p = limit(rest * hi, 1.0f);
        const bool s1 = sector == 1, s2 = sector == 2, s3 = sector == 3, s4 = sector == 4, s5 = sector == 5;
        r_[i] = choose(s1, q, choose(s2 | s3, p, choose(s4, t, hi)));
        g_[i] = choose(s1 | s2, hi, choose(s3, q, choose(s4 | s5, p, t)));
        b_[i] = choose(s2, t, choose(s3 | s4, hi, choose(s5, q, p)));
    }
}

extern const TtRows JOIN(tt_rows, TT_ISA);
const TtRows JOIN(tt_rows, TT_ISA) = {
    .taps_h_u8 = taps_h_u8,
    .taps_h_f32 = taps_h_f32,
    .taps_v_u8 = taps_v_u8,
    .taps_v_f32 = taps_v_f32,
    .convolve = convolve,
    .load_u8 = load_u8,
    .load_u16 = load_u16,
    .store_u8 = store_u8,
    .store_u16 = store_u16,
    .round = round_f32,
    .normalize_u8 = normalize_u8,
    .normalize_u16 = normalize_u16,
    .normalize_f32 = normalize_f32,
    .scale = scale_f32,
    .blend = blend,
    .hue = hue,
};
