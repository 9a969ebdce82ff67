/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dropout.c - draw a mask in tiles of 64 and multiply. 16 Philox blocks run side by side; integers only,
 * so every instruction set draws the same mask. May run in place. */
#include "kernels/ops/dropout.h"

#include <math.h>

#include "kernels/cpu/block.h"
#include "tensor/rng.h"

enum { LANES = 16, DRAWS = 64 };

/* Blocks 16*tile .. 16*tile+15 (Philox4x32-10, as tt_philox): OUT[w*16 + l] is word w of block l. */
static void draw(const TtRng *r, uint64_t tile, uint32_t out[DRAWS])
{
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES], k0 = r->key[0], k1 = r->key[1];
    for (int l = 0; l < LANES; l++) {
        uint64_t n = tile * LANES + (uint64_t)l;
        c0[l] = (uint32_t)n, c1[l] = (uint32_t)(n >> 32), c2[l] = r->counter[2], c3[l] = r->counter[3];
    }
    for (int round = 0; round < 10; round++) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0[l], p1 = (uint64_t)0xCD9E8D57u * c2[l];
            uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1[l] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3[l] ^ k1;
            c0[l] = n0, c1[l] = (uint32_t)p1, c2[l] = n2, c3[l] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    memcpy(out, c0, sizeof c0);
    memcpy(out + LANES, c1, sizeof c1);
    memcpy(out + 2 * LANES, c2, sizeof c2);
    memcpy(out + 3 * LANES, c3, sizeof c3);
}

/* Factors 0 or SCALE for N positions from START. */
static void draw_mask(const TtRng *r, uint64_t start, int n, uint64_t threshold, float scale, float *mask)
{
    uint32_t bits[DRAWS];
    for (int done = 0; done < n;) {
        int skip = (int)((start + (uint64_t)done) % DRAWS), m = TT_MIN(DRAWS - skip, n - done);
        draw(r, (start + (uint64_t)done) / DRAWS, bits);
        for (int i = 0; i < m; i++) mask[done + i] = bits[skip + i] >= threshold ? scale : 0.0f;
        done += m;
    }
}

static void multiply(const TtTensor *x, const TtTensor *y, int64_t at, int64_t n, const float *mask, float one)
{
    float buf[TT_BLOCK], *out = y->dtype == TT_F32 ? (float *)y->data + at : buf;
    const float *in = (const float *)x->data + at;
    if (x->dtype != TT_F32) tt_load_floats(x, at, 1, n, buf), in = buf;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = in[i] * (mask ? mask[i] : one);
    if (y->dtype != TT_F32) tt_store_floats(y, at, n, buf);
}

TtStatus TT_CPU(dropout)(TtKernelArgs *k)
{
    const TtDropoutAttrs *a = k->attrs;
    TT_TRY(tt_need_floats(k));
    int64_t outer, repeat, inner;
    tt_dropout_split(&k->in[0].shape, a->shared, &outer, &repeat, &inner);
    TtRng r = tt_rng(k->step->seed, TT_RNG_DROPOUT, k->step->step, k->step->shard, a->id);
    uint64_t threshold = (uint64_t)ceil(a->p * 4294967296.0);
    float scale = a->p < 1 ? (float)(1 / (1 - a->p)) : 0;
    /* A draw serves a whole row when inner is 1: then the rows are cut instead. */
    int64_t cut = inner == 1 ? repeat : inner, pieces = (cut + TT_BLOCK - 1) / TT_BLOCK;
#pragma omp parallel for schedule(static) if (outer * repeat * inner > TT_GRAIN)
    for (int64_t task = 0; task < outer * pieces; task++) {
        int64_t o = task / pieces, first = task % pieces * TT_BLOCK, n = TT_MIN(cut - first, (int64_t)TT_BLOCK);
        float mask[TT_BLOCK];
        if (inner == 1) {
            draw_mask(&r, (uint64_t)o, 1, threshold, scale, mask);
            multiply(&k->in[0], &k->out[0], o * repeat + first, n, NULL, mask[0]);
            continue;
        }
        draw_mask(&r, (uint64_t)(o * inner + first), (int)n, threshold, scale, mask);
        for (int64_t s = 0; s < repeat; s++)
            multiply(&k->in[0], &k->out[0], (o * repeat + s) * inner + first, n, mask, 0);
    }
    return TT_OK;
}
