/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/index.c - oracle of the ops that choose by index. */
#include "kernels/ops/index.h"

#include <string.h>

#include "kernels/ref/ref.h"

static TtStatus check(const TtKernelArgs *k, int64_t index, int64_t n)
{
    if (index >= 0 && index < n) return TT_OK;
    return TT_FAIL(TT_EDATA, "%s: index %lld is not in 0 to %lld", k->op->name, (long long)index, (long long)n - 1);
}

/* Y's INDEX of index_select: its place in x, given the chosen index at the axis. */
static void place(const TtIndexAttrs *a, int index_rank, int x_rank, const int64_t *y, int64_t chosen, int64_t *x)
{
    for (int k = 0; k < x_rank; k++) x[k] = k < a->axis ? y[k] : k == a->axis ? chosen : y[k - 1 + index_rank];
}

static void add_to(const TtTensor *t, int64_t at, double v)
{
    tt_ref_put(t, at, tt_ref_at(t, at) + v);
}

TtStatus tt_ref_index_select(TtKernelArgs *k)
{
    const TtIndexAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0], *ids = &k->in[1], *y = &k->out[0];
    int64_t at[TT_MAX_RANK] = {0}, from[TT_MAX_RANK];
    for (int64_t i = 0, n = tt_tensor_count(y); i < n; i++, tt_ref_next(&y->shape, at)) {
        int64_t id = tt_ref_int_at(ids, tt_ref_offset(ids, at + a->axis));
        TT_TRY(check(k, id, x->shape.dims[a->axis]));
        place(a, ids->shape.rank, x->shape.rank, at, id, from);
        tt_ref_put(y, i, tt_ref_at(x, tt_ref_offset(x, from)));
    }
    return TT_OK;
}

TtStatus tt_ref_index_select_bwd(TtKernelArgs *k)
{
    const TtIndexAttrs *a = k->attrs;
    const TtTensor *dy = &k->in[0], *ids = &k->in[1], *dx = &k->out[0];
    int64_t at[TT_MAX_RANK] = {0}, to[TT_MAX_RANK];
    memset(dx->data, 0, tt_tensor_bytes(dx));
    for (int64_t i = 0, n = tt_tensor_count(dy); i < n; i++, tt_ref_next(&dy->shape, at)) {
        int64_t id = tt_ref_int_at(ids, tt_ref_offset(ids, at + a->axis));
        TT_TRY(check(k, id, a->size));
        place(a, ids->shape.rank, dx->shape.rank, at, id, to);
        if (id != a->padding) add_to(dx, tt_ref_offset(dx, to), tt_ref_at(dy, tt_ref_offset(dy, at)));
    }
    return TT_OK;
}

TtStatus tt_ref_gather(TtKernelArgs *k)
{
    const TtIndexAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0], *ids = &k->in[1];
    int64_t at[TT_MAX_RANK] = {0}, from[TT_MAX_RANK];
    for (int64_t i = 0, n = tt_tensor_count(ids); i < n; i++, tt_ref_next(&ids->shape, at)) {
        memcpy(from, at, sizeof from);
        from[a->axis] = tt_ref_int_at(ids, tt_ref_offset(ids, at));
        TT_TRY(check(k, from[a->axis], x->shape.dims[a->axis]));
        tt_ref_put(&k->out[0], i, tt_ref_at(x, tt_ref_offset(x, from)));
    }
    return TT_OK;
}

TtStatus tt_ref_scatter_add(TtKernelArgs *k)
{
    const TtScatterAttrs *a = k->attrs;
    const TtTensor *src = &k->in[0], *ids = &k->in[1], *base = &k->in[2], *y = &k->out[0];
    int64_t at[TT_MAX_RANK] = {0}, to[TT_MAX_RANK];
    for (int64_t i = 0, n = tt_tensor_count(y); i < n; i++)
        tt_ref_put(y, i, base->data ? tt_ref_at(base, tt_ref_linear(base, i)) : 0);
    for (int64_t i = 0, n = tt_tensor_count(ids); i < n; i++, tt_ref_next(&ids->shape, at)) {
        memcpy(to, at, sizeof to);
        to[a->axis] = tt_ref_int_at(ids, tt_ref_offset(ids, at));
        TT_TRY(check(k, to[a->axis], y->shape.dims[a->axis]));
        add_to(y, tt_ref_offset(y, to), tt_ref_at(src, tt_ref_offset(src, at)));
    }
    return TT_OK;
}

TtStatus tt_ref_one_hot(TtKernelArgs *k)
{
    const TtOneHotAttrs *a = k->attrs;
    for (int64_t i = 0, n = tt_tensor_count(&k->in[0]); i < n; i++) {
        int64_t id = tt_ref_int_at(&k->in[0], tt_ref_linear(&k->in[0], i));
        TT_TRY(check(k, id, a->classes));
        for (int64_t c = 0; c < a->classes; c++) tt_ref_put(&k->out[0], i * a->classes + c, c == id);
    }
    return TT_OK;
}
