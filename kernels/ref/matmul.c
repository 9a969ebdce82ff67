/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/matmul.c - matrix products by their definition. */
#include "kernels/ops/matmul.h"

#include "kernels/ref/ref.h"

/* Offset of the matrix of T that a batch index of the output reads; axes of length 1 are broadcast. */
static int64_t matrix_at(const TtTensor *t, const TtShape *y, const int64_t *index)
{
    int64_t at = 0;
    for (int k = 0; k < t->shape.rank - 2; k++) {
        int ky = k + y->rank - t->shape.rank;
        if (t->shape.dims[k] != 1) at += index[ky] * t->strides[k];
    }
    return at;
}

TtStatus tt_ref_matmul(TtKernelArgs *a)
{
    const TtMatmulAttrs *t = a->attrs;
    const TtTensor *x = &a->in[0], *w = &a->in[1], *y = &a->out[0];
    int ra = x->shape.rank, rb = w->shape.rank, ry = y->shape.rank;
    int64_t row_a = x->strides[ra - (t->trans_a ? 1 : 2)], k_a = x->strides[ra - (t->trans_a ? 2 : 1)];
    int64_t k_b = w->strides[rb - (t->trans_b ? 1 : 2)], col_b = w->strides[rb - (t->trans_b ? 2 : 1)];
    int64_t depth = x->shape.dims[ra - (t->trans_a ? 2 : 1)], index[TT_MAX_RANK] = {0};
    if (tt_tensor_count(y) == 0) return TT_OK;
    do {
        int64_t m = index[ry - 2], n = index[ry - 1];
        int64_t at = matrix_at(x, &y->shape, index) + m * row_a, bt = matrix_at(w, &y->shape, index) + n * col_b;
        double sum = a->nin > 2 && a->in[2].data ? tt_ref_at(&a->in[2], n * a->in[2].strides[0]) : 0;
        for (int64_t k = 0; k < depth; k++) sum += tt_ref_at(x, at + k * k_a) * tt_ref_at(w, bt + k * k_b);
        tt_ref_put(y, tt_ref_offset(y, index), sum);
    } while (tt_ref_next(&y->shape, index));
    return TT_OK;
}
