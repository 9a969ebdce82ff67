/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/dropout.c - oracle of dropout: one Philox block for each element. */
#include "kernels/ops/dropout.h"

#include "kernels/ref/ref.h"
#include "tensor/rng.h"

TtStatus tt_ref_dropout(TtKernelArgs *k)
{
    const TtDropoutAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0];
    TtRng r = tt_rng(k->step->seed, TT_RNG_DROPOUT, k->step->step, k->step->shard, a->id);
    int64_t index[TT_MAX_RANK] = {0};
    if (tt_tensor_count(x) == 0) return TT_OK;
    do {
        uint64_t position = 0;
        for (int i = 0; i < x->shape.rank; i++)
            if (!(a->shared >> i & 1)) position = position * (uint64_t)x->shape.dims[i] + (uint64_t)index[i];
        uint64_t number = position / 64 * 16 + position % 16;
        uint32_t block[4], counter[4] = {(uint32_t)number, (uint32_t)(number >> 32), r.counter[2], r.counter[3]};
        tt_philox(r.key, counter, block);
        bool keep = (double)block[position / 16 % 4] >= a->p * 4294967296.0;
        double v = tt_ref_at(x, tt_ref_offset(x, index));
        tt_ref_put(&k->out[0], tt_ref_offset(&k->out[0], index), keep ? v / (1 - a->p) : 0);
    } while (tt_ref_next(&x->shape, index));
    return TT_OK;
}
