/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/concat.c - oracle of concat. */
#include "kernels/ops/concat.h"

#include <string.h>

#include "kernels/ref/ref.h"

TtStatus tt_ref_concat(TtKernelArgs *k)
{
    int axis = ((const TtConcatAttrs *)k->attrs)->axis;
    const TtTensor *y = &k->out[0];
    size_t size = tt_dtype_size(y->dtype);
    int64_t start = 0;
    for (int i = 0; i < k->nin; i++) {
        const TtTensor *x = &k->in[i];
        int64_t index[TT_MAX_RANK] = {0}, n = tt_tensor_count(x);
        for (int64_t e = 0; e < n; e++, tt_ref_next(&x->shape, index)) {
            int64_t to[TT_MAX_RANK];
            memcpy(to, index, sizeof to);
            to[axis] += start;
            memcpy((char *)y->data + tt_ref_offset(y, to) * (int64_t)size,
                   (const char *)x->data + tt_ref_offset(x, index) * (int64_t)size, size);
        }
        start += x->shape.dims[axis];
    }
    return TT_OK;
}
