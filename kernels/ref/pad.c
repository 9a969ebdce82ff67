/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/pad.c - oracle of pad and pad_bwd: find for each element of y the one of x that it is. */
#include "kernels/ops/pad.h"

#include <string.h>

#include "kernels/ref/ref.h"

/* The index in x of y's INDEX; false: padding. */
static bool origin(const TtPadAttrs *a, const TtShape *x, const int64_t *index, int64_t *from)
{
    for (int k = 0; k < x->rank; k++) {
        int64_t n = x->dims[k], j = index[k] - a->before[k];
        if (a->mode == TT_PAD_CONSTANT && (j < 0 || j >= n)) return false;
        if (a->mode == TT_PAD_REFLECT && j < 0) j = -j;
        if (a->mode == TT_PAD_REFLECT && j >= n) j = 2 * n - 2 - j;
        if (a->mode == TT_PAD_REPLICATE) j = j < 0 ? 0 : j >= n ? n - 1 : j;
        if (a->mode == TT_PAD_CIRCULAR) j = (j + 2 * n) % n;
        from[k] = j;
    }
    return true;
}

TtStatus tt_ref_pad(TtKernelArgs *k)
{
    const TtPadAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0], *y = &k->out[0];
    int64_t index[TT_MAX_RANK] = {0}, from[TT_MAX_RANK] = {0};
    for (int64_t i = 0, n = tt_tensor_count(y); i < n; i++, tt_ref_next(&y->shape, index))
        tt_ref_put(y, i, origin(a, &x->shape, index, from) ? tt_ref_at(x, tt_ref_offset(x, from)) : a->value);
    return TT_OK;
}

TtStatus tt_ref_pad_bwd(TtKernelArgs *k)
{
    const TtTensor *dy = &k->in[0], *dx = &k->out[0];
    int64_t index[TT_MAX_RANK] = {0}, to[TT_MAX_RANK] = {0};
    memset(dx->data, 0, tt_tensor_bytes(dx));
    for (int64_t i = 0, n = tt_tensor_count(dy); i < n; i++, tt_ref_next(&dy->shape, index))
        if (origin(k->attrs, &dx->shape, index, to)) {
            int64_t at = tt_ref_offset(dx, to);
            tt_ref_put(dx, at, tt_ref_at(dx, at) + tt_ref_at(dy, tt_ref_linear(dy, i)));
        }
    return TT_OK;
}
