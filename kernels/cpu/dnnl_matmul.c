/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_matmul.c - matrix products through oneDNN. Transposition is a matter of strides. */
#include "kernels/cpu/dnnl_matmul.h"

#include <string.h>

#include "kernels/cpu/dnnl_common.h"
#include "kernels/ops/matmul.h"

enum { A, B, Y, BIAS, ROLES };

/* DENSE: not where it lies, but without gaps. */
static dnnl_memory_desc_t matrix_desc(const TtTensor *t, int rank, bool transposed, bool dense, dnnl_data_type_t type)
{
    dnnl_memory_desc_t d;
    dnnl_dims_t dims, strides;
    int64_t own[TT_MAX_RANK];
    tt_matmul_strides(t, own);
    if (dense) tt_strides_contiguous(&t->shape, own);
    int lead = rank - t->shape.rank;
    for (int k = 0; k < rank; k++) {
        int from = k - lead;
        if (transposed && k >= rank - 2) from = k == rank - 2 ? t->shape.rank - 1 : t->shape.rank - 2;
        dims[k] = from < 0 ? 1 : t->shape.dims[from];
        strides[k] = from < 0 ? tt_tensor_count(t) : own[from];
    }
    dnnl_memory_desc_init_by_strides(&d, rank, dims, type, strides);
    return d;
}

static dnnl_memory_desc_t bias_desc(const TtTensor *t, int rank, dnnl_data_type_t type)
{
    dnnl_memory_desc_t d;
    dnnl_dims_t dims, strides;
    for (int k = 0; k < rank; k++)
        dims[k] = k == rank - 1 ? t->shape.dims[0] : 1, strides[k] = k == rank - 1 ? 1 : t->shape.dims[0];
    dnnl_memory_desc_init_by_strides(&d, rank, dims, type, strides);
    return d;
}

static void descs(const TtKernelArgs *a, bool widen, dnnl_memory_desc_t m[ROLES])
{
    const TtMatmulAttrs *t = a->attrs;
    int rank = a->out[0].shape.rank;
#define TYPE(tensor) (widen ? dnnl_f32 : tt_dnnl_type((tensor).dtype))
    m[A] = matrix_desc(&a->in[0], rank, t->trans_a, widen, TYPE(a->in[0]));
    m[B] = matrix_desc(&a->in[1], rank, t->trans_b, widen, TYPE(a->in[1]));
    m[Y] = matrix_desc(&a->out[0], rank, false, widen, TYPE(a->out[0]));
    if (a->nin > 2) m[BIAS] = bias_desc(&a->in[2], rank, TYPE(a->in[2]));
#undef TYPE
}

static dnnl_status_t make_desc(const TtKernelArgs *a, const dnnl_memory_desc_t m[ROLES], dnnl_primitive_desc_t *out)
{
    dnnl_matmul_desc_t d;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = dnnl_matmul_desc_init(&d, &m[A], &m[B], a->nin > 2 ? &m[BIAS] : NULL, &m[Y]);
    if (s == dnnl_success) s = dnnl_primitive_attr_create(&attr);
    if (s == dnnl_success) s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (s == dnnl_success) s = dnnl_primitive_desc_create(out, &d, attr, tt_dnnl_engine(), NULL);
    dnnl_primitive_attr_destroy(attr);
    return s;
}

static TtStatus build(const TtKernelArgs *a, TtDnnlState *s)
{
    static const int argument[ROLES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS};
    dnnl_memory_desc_t have[ROLES], want[ROLES];
    descs(a, false, have);
    memcpy(want, have, sizeof want);
    dnnl_status_t st = make_desc(a, want, &s->desc);
    if (st == dnnl_unimplemented && a->in[0].dtype == TT_BF16) { /* no bfloat16 here: widen, multiply, round */
        descs(a, true, want);
        st = make_desc(a, want, &s->desc);
    }
    TT_DNNL(st);
    for (int role = 0; role < ROLES; role++)
        if (role != BIAS || a->nin > 2)
            TT_TRY(tt_dnnl_state_operand(s, role, argument[role], &have[role], &want[role], role == Y));
    return tt_dnnl_state_finish(s);
}

TtStatus tt_dnnl_matmul_prepare(TtKernelArgs *a, void **state)
{
    *state = NULL;
    if (tt_tensor_count(&a->in[0]) == 0 || tt_tensor_count(&a->in[1]) == 0) {
        /* An empty sum is the bias alone; nothing in training multiplies over an axis of length 0. */
        if (a->nin > 2 && tt_tensor_count(&a->out[0]) > 0)
            return TT_FAIL(TT_EINTERNAL, "matmul over an axis of length 0 with a bias");
        return TT_OK;
    }
    TtDnnlState *s = tt_dnnl_state_new();
    TtStatus st = build(a, s);
    if (st != TT_OK) {
        tt_dnnl_state_release(s);
        return st;
    }
    *state = s;
    return TT_OK;
}

TtStatus tt_dnnl_matmul(TtKernelArgs *a)
{
    return tt_dnnl_state_run(a, (void *[]){a->in[0].data, a->in[1].data, a->out[0].data, a->in[2].data});
}
