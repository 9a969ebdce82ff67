/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/dropout.c - one number of the stream after the other. */
#include "kernels/ops/dropout.h"

#include "kernels/ref/ref.h"

TtStatus tt_ref_dropout(TtKernelArgs *a)
{
    const TtDropoutAttrs *d = a->attrs;
    TtRng r = tt_dropout_stream(a);
    int64_t n = tt_tensor_count(&a->out[0]);
    for (int64_t i = 0; i < n; i++) {
        bool keep = tt_rng_u32(&r) >= (uint64_t)(d->p * 4294967296.0 + 0.5);
        tt_ref_put(&a->out[0], i, keep ? tt_ref_at(&a->in[0], i) / (1 - d->p) : 0);
    }
    return TT_OK;
}
