/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dropout.c - four elements a Philox block; any block can be had directly, so threads share nothing. */
#include "kernels/ops/dropout.h"

#include "kernels/cpu/rows.h"

TtStatus TT_CPU(dropout)(TtKernelArgs *a)
{
    const TtDropoutAttrs *d = a->attrs;
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    TtRng stream = tt_dropout_stream(a);
    uint64_t threshold = tt_dropout_threshold(d->p);
    float scale = (float)(1 / (1 - d->p));
    int64_t n = tt_tensor_count(x);
#pragma omp parallel for schedule(static) if (n > TT_GRAIN / 4)
    for (int64_t first = 0; first < n; first += TT_LANES) {
        float from[TT_LANES], to[TT_LANES];
        int64_t len = TT_MIN((int64_t)TT_LANES, n - first);
        const float *v = tt_row_load(x, first, len, from);
        float *o = tt_row_target(y, first, to);
        for (int64_t i = 0; i < len; i += 4) {
            uint32_t bits[4];
            tt_dropout_block(&stream, (uint64_t)(first + i) / 4, bits);
            for (int64_t k = i; k < TT_MIN(i + 4, len); k++) o[k] = bits[k - i] >= threshold ? v[k] * scale : 0;
        }
        tt_row_store(y, first, len, o);
    }
    return TT_OK;
}
