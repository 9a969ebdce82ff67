/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/sum_to.c - for every output element, add all that were broadcast from it. */
#include "kernels/ops/sum_to.h"

#include "kernels/ref/ref.h"

TtStatus tt_ref_sum_to(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[0], *y = &a->out[0];
    int lead = x->shape.rank - y->shape.rank;
    int64_t n = tt_tensor_count(y), to[TT_MAX_RANK] = {0};
    for (int64_t i = 0; i < n; i++, tt_ref_next(&y->shape, to)) {
        double sum = 0;
        int64_t from[TT_MAX_RANK] = {0};
        if (tt_tensor_count(x) > 0) do {
                bool mine = true;
                for (int k = 0; k < y->shape.rank; k++) mine &= y->shape.dims[k] == 1 || from[k + lead] == to[k];
                if (mine) sum += tt_ref_at(x, tt_ref_offset(x, from));
            } while (tt_ref_next(&x->shape, from));
        tt_ref_put(y, i, sum);
    }
    return TT_OK;
}
