/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/sum_to.c - sums over broadcast axes in chunks of fixed size, combined in order. */
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/ops/sum_to.h"

/* Sum of n neighbours in 16 lanes. */
static float sum_run(const float *x, int64_t n)
{
    float lane[16] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++) lane[k] += x[i + k];
    for (int k = 0; i < n; i++, k++) lane[k] += x[i];
    for (int k = 0; k < 16; k++) sum += lane[k];
    return sum;
}

static void sum_chunk(float *restrict out, const float *restrict x, int64_t rows, int64_t inner)
{
    if (inner == 1) {
        out[0] = sum_run(x, rows);
        return;
    }
    memset(out, 0, (size_t)inner * sizeof *out);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < inner; i++) out[i] += x[r * inner + i];
}

/* The summed axes do not lie together: rare, so element by element. */
static void sum_scattered(const TtTensor *x, const TtTensor *y)
{
    int lead = x->shape.rank - y->shape.rank;
    float *out = y->data;
    memset(out, 0, tt_tensor_bytes(y));
    int64_t n = tt_tensor_count(x);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0, rest = i;
        for (int k = x->shape.rank - 1; k >= 0; k--) {
            int64_t index = rest % x->shape.dims[k];
            rest /= x->shape.dims[k];
            if (k >= lead && y->shape.dims[k - lead] != 1) at += index * y->strides[k - lead];
        }
        out[at] += ((const float *)x->data)[i];
    }
}

TtStatus TT_CPU(sum_to)(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    if (x->dtype != TT_F32) return TT_FAIL(TT_EINTERNAL, "sum_to has no kernel for %s", tt_dtype_name(x->dtype));
    int64_t outer, reduced, inner;
    if (!tt_sum_to_split(&x->shape, &y->shape, &outer, &reduced, &inner)) {
        sum_scattered(x, y);
        return TT_OK;
    }
    int64_t chunks = (reduced + TT_SUM_CHUNK - 1) / TT_SUM_CHUNK;
    const float *in = x->data;
    float *out = y->data, *part = a->scratch;
#pragma omp parallel for schedule(static) if (outer * reduced * inner > TT_GRAIN)
    for (int64_t c = 0; c < outer * chunks; c++) {
        int64_t o = c / chunks, first = c % chunks * TT_SUM_CHUNK,
                rows = TT_MIN((int64_t)TT_SUM_CHUNK, reduced - first);
        sum_chunk(part + c * inner, in + (o * reduced + first) * inner, rows, inner);
    }
    for (int64_t o = 0; o < outer; o++) sum_chunk(out + o * inner, part + o * chunks * inner, chunks, inner);
    return TT_OK;
}
