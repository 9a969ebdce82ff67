/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/ref.h - the oracle's tools: slow, plain, and independent of the fast kernels.
 *
 * Reference kernels read any element type and any strides through tt_ref_load, accumulate in double and write
 * through tt_ref_store. With a graph of TT_F64 they are exact enough for central differences. */
#ifndef TT_KERNELS_REF_H
#define TT_KERNELS_REF_H

#include "tensor/op.h"

#define OP(name) TtStatus tt_ref_##name(TtKernelArgs *a);
#define OP_DNNL(name) OP(name)
#define VIEW(name)
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW

/* Element at a linear element offset (strides already applied). */
double tt_ref_at(const TtTensor *t, int64_t offset);
void tt_ref_put(const TtTensor *t, int64_t offset, double v);
int64_t tt_ref_int_at(const TtTensor *t, int64_t offset);
void tt_ref_int_put(const TtTensor *t, int64_t offset, int64_t v);

/* Offset of a multi-index; of the i-th element in row-major order. */
int64_t tt_ref_offset(const TtTensor *t, const int64_t *index);
int64_t tt_ref_linear(const TtTensor *t, int64_t i);
/* Advance a multi-index in row-major order; false after the last. */
bool tt_ref_next(const TtShape *s, int64_t *index);

/* 4-d access for (N,H,W,C) tensors. */
static inline double tt_ref4(const TtTensor *t, int64_t n, int64_t h, int64_t w, int64_t c)
{
    return tt_ref_at(t, n * t->strides[0] + h * t->strides[1] + w * t->strides[2] + c * t->strides[3]);
}

#endif
