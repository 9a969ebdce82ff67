/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/rng.c - Philox4x32-10 and the distributions on top of it. */
#include "tensor/rng.h"

#include <math.h>
#include <string.h>

void tt_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c0 = n0, c1 = (uint32_t)p1, c2 = n2, c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

uint64_t tt_mix64(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

uint64_t tt_hash_name(const char *s)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *s; s++) h = (h ^ (uint8_t)*s) * 0x100000001B3u;
    return tt_mix64(h);
}

TtRng tt_rng(uint64_t seed, TtRngPurpose purpose, uint64_t a, uint64_t b, uint64_t c)
{
    /* The stream's name is hashed into the key and the upper half of the counter (128 bits); the lower
     * half counts blocks within the stream. */
    uint64_t k = tt_mix64(tt_mix64(seed) ^ tt_mix64((uint64_t)purpose << 56 ^ a));
    uint64_t s = tt_mix64(k ^ tt_mix64(b ^ 0x5851F42D4C957F2Du) ^ tt_mix64(c ^ 0xA0761D6478BD642Fu) << 1);
    k = tt_mix64(k ^ tt_mix64(b) << 1 ^ c);
    return (TtRng){
        .key = {(uint32_t)k, (uint32_t)(k >> 32)},
        .counter = {0, 0, (uint32_t)s, (uint32_t)(s >> 32)},
    };
}

uint32_t tt_rng_u32(TtRng *r)
{
    if (r->left == 0) {
        tt_philox(r->key, r->counter, r->block);
        if (++r->counter[0] == 0) r->counter[1]++;
        r->left = 4;
    }
    return r->block[4 - r->left--];
}

uint64_t tt_rng_u64(TtRng *r)
{
    uint64_t hi = tt_rng_u32(r);
    return hi << 32 | tt_rng_u32(r);
}

float tt_rng_float(TtRng *r)
{
    return (float)(tt_rng_u32(r) >> 8) * 0x1p-24f;
}

double tt_rng_double(TtRng *r)
{
    return (double)(tt_rng_u64(r) >> 11) * 0x1p-53;
}

double tt_rng_uniform(TtRng *r, double lo, double hi)
{
    return lo + (hi - lo) * tt_rng_double(r);
}

uint64_t tt_rng_below(TtRng *r, uint64_t n)
{
    TT_ASSERT(n > 0);
    uint64_t skip = -n % n, v; /* 2^64 mod n: the values below it would be drawn once too often */
    do v = tt_rng_u64(r);
    while (v < skip);
    return v % n;
}

double tt_rng_normal(TtRng *r)
{
    double u = 1.0 - tt_rng_double(r), v = tt_rng_double(r);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

double tt_rng_gamma(TtRng *r, double shape)
{
    if (shape < 1.0) {
        double u = 1.0 - tt_rng_double(r);
        return tt_rng_gamma(r, shape + 1.0) * pow(u, 1.0 / shape);
    }
    double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = tt_rng_normal(r), v = 1.0 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        if (log(1.0 - tt_rng_double(r)) < 0.5 * x * x + d - d * v + d * log(v)) return d * v;
    }
}

double tt_rng_beta(TtRng *r, double a, double b)
{
    double x = tt_rng_gamma(r, a), y = tt_rng_gamma(r, b);
    return x + y > 0 ? x / (x + y) : 0.5; /* both can underflow for tiny a and b */
}

void tt_rng_shuffle(TtRng *r, int64_t *items, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)tt_rng_below(r, (uint64_t)i + 1), t = items[i];
        items[i] = items[j], items[j] = t;
    }
}
