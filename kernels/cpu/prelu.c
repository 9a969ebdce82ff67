/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/prelu.c - prelu and its gradients. x is seen as rows of the weight's length (1 or the channels). */
#include "kernels/ops/prelu.h"

#include "kernels/cpu/block.h"

static void prelu_block(const float *const *in, float *out, int64_t start, int n, const void *user)
{
    const float *x = in[0], *w = in[1];
#pragma omp simd
    for (int i = 0; i < n; i++) out[i] = tt_select(x[i] > 0.0f, x[i], w[i] * x[i]);
}

TtStatus TT_CPU(prelu)(TtKernelArgs *k)
{
    TT_TRY(tt_need_floats(k));
    TtBlocks b;
    tt_blocks_plan(&b, &k->out[0].shape, (const TtTensor *[]){&k->in[0], &k->in[1]}, 2);
    tt_blocks_run(&b, 2, &k->out[0], prelu_block, NULL);
    return TT_OK;
}

/* A chunk of rows with one weight: dx and the sum of what goes to the weight, in 16 lanes. */
static float one_weight(const float *dy, const float *x, float w, float *dx, int64_t n)
{
    float lane[16] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
#pragma omp simd
        for (int l = 0; l < 16; l++) {
            float d = dy[i + l], v = x[i + l];
            dx[i + l] = tt_select(v > 0.0f, d, w * d);
            lane[l] += tt_select(v > 0.0f, 0.0f, d * v);
        }
    }
    for (int l = 0; i < n; i++, l++) {
        dx[i] = x[i] > 0.0f ? dy[i] : w * dy[i];
        lane[l] += x[i] > 0.0f ? 0.0f : dy[i] * x[i];
    }
    for (int l = 0; l < 16; l++) sum += lane[l];
    return sum;
}

static void one_row(const float *dy, const float *x, const float *w, float *dx, float *dw, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float d = dy[i], v = x[i];
        dx[i] = tt_select(v > 0.0f, d, w[i] * d);
        dw[i] += tt_select(v > 0.0f, 0.0f, d * v);
    }
}

TtStatus TT_CPU(prelu_bwd)(TtKernelArgs *k)
{
    for (int i = 0; i < 3; i++)
        if (k->in[i].dtype != TT_F32)
            return TT_FAIL(TT_EINTERNAL, "prelu_bwd has no CPU kernel for %s", tt_dtype_name(k->in[i].dtype));
    int64_t c = tt_tensor_count(&k->in[2]), rows = c ? tt_tensor_count(&k->in[1]) / c : 0;
    int64_t chunk = tt_prelu_chunk(c), chunks = (rows + chunk - 1) / chunk;
    const float *dy = k->in[0].data, *x = k->in[1].data, *w = k->in[2].data;
    float *dx = k->out[0].data, *dw = k->out[1].data, *part = k->scratch;
#pragma omp parallel for schedule(static) if (rows * c > TT_GRAIN)
    for (int64_t i = 0; i < chunks; i++) {
        int64_t first = i * chunk, last = TT_MIN(rows, first + chunk);
        if (c == 1) {
            part[i] = one_weight(dy + first, x + first, w[0], dx + first, last - first);
            continue;
        }
        memset(part + i * c, 0, sizeof(float) * (size_t)c);
        for (int64_t r = first; r < last; r++) one_row(dy + r * c, x + r * c, w, dx + r * c, part + i * c, c);
    }
    for (int64_t j = 0; j < c; j++) {
        double sum = 0;
        for (int64_t i = 0; i < chunks; i++) sum += part[i * c + j];
        dw[j] = (float)sum;
    }
    return TT_OK;
}
