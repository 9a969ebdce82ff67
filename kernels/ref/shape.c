/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/shape.c - copies, casts and sums, element by element. */
#include "kernels/ops/shape.h"

#include "kernels/ref/ref.h"

TtStatus tt_ref_contiguous(TtKernelArgs *a)
{
    int64_t n = tt_tensor_count(&a->out[0]);
    for (int64_t i = 0; i < n; i++) {
        if (tt_dtype_is_float(a->in[0].dtype))
            tt_ref_put(&a->out[0], i, tt_ref_at(&a->in[0], tt_ref_linear(&a->in[0], i)));
        else
            tt_ref_int_put(&a->out[0], i, tt_ref_int_at(&a->in[0], tt_ref_linear(&a->in[0], i)));
    }
    return TT_OK;
}

TtStatus tt_ref_cast(TtKernelArgs *a)
{
    return tt_ref_contiguous(a);
}

TtStatus tt_ref_slice_grad(TtKernelArgs *a)
{
    const TtSliceAttrs *s = &((const TtSliceGradAttrs *)a->attrs)->slice;
    int64_t n = tt_tensor_count(&a->out[0]), index[TT_MAX_RANK] = {0};
    for (int64_t i = 0; i < n; i++) tt_ref_put(&a->out[0], i, 0);
    if (tt_tensor_count(&a->in[0]) == 0) return TT_OK;
    do {
        int64_t to[TT_MAX_RANK];
        for (int k = 0; k < a->in[0].shape.rank; k++) to[k] = index[k];
        to[s->axis] = s->start + index[s->axis] * s->step;
        tt_ref_put(&a->out[0], tt_ref_offset(&a->out[0], to), tt_ref_at(&a->in[0], tt_ref_offset(&a->in[0], index)));
    } while (tt_ref_next(&a->in[0].shape, index));
    return TT_OK;
}

TtStatus tt_ref_add_n(TtKernelArgs *a)
{
    int64_t n = tt_tensor_count(&a->out[0]);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < a->nin; k++) sum += tt_ref_at(&a->in[k], i);
        tt_ref_put(&a->out[0], i, sum);
    }
    return TT_OK;
}
