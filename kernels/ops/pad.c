/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/pad.c - pad. The gradient of constant padding is a padding with the signs turned; of the others, pad_bwd
 * adds each element of dy to the one it was copied from. */
#include "kernels/ops/pad.h"

#include "kernels/ops/reduce.h"
#include "kernels/ops/shape.h"

static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};

static TtStatus infer(TtInfer *i)
{
    const TtPadAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape;
    i->out[0].shape = *x;
    for (int k = 0; k < x->rank; k++) {
        int64_t n = x->dims[k], length = a->before[k] + n + a->after[k], most = TT_MAX(a->before[k], a->after[k]);
        bool fits = length >= 0;
        if (a->mode == TT_PAD_REFLECT) fits &= most <= 0 || most < n;
        if (a->mode == TT_PAD_CIRCULAR) fits &= most <= n;
        if (a->mode == TT_PAD_REPLICATE) fits &= most <= 0 || n > 0;
        if (!fits)
            return TT_INFER_FAIL(i, "pad: %s padding of %lld and %lld on an axis of length %lld", modes[a->mode],
                                 (long long)a->before[k], (long long)a->after[k], (long long)n);
        i->out[0].shape.dims[k] = length;
    }
    return TT_OK;
}

static void grad(TtGraph *g, TtGradArgs *q)
{
    TtPadAttrs a = *(const TtPadAttrs *)q->attrs;
    TtDType t = tt_dtype(g, q->in[0]), wide = t == TT_F64 ? TT_F64 : TT_F32;
    if (a.mode != TT_PAD_CONSTANT) {
        TtVal dy = tt_cast(g, q->dout[0], wide); /* sums of bfloat16 are made in float32 */
        q->din[0] = tt_cast(g, tt_emit1(g, &tt_op_pad_bwd, &a, &dy, 1), t);
        return;
    }
    for (int k = 0; k < TT_MAX_RANK; k++) a.before[k] = -a.before[k], a.after[k] = -a.after[k];
    a.value = 0;
    q->din[0] = tt_emit1(g, &tt_op_pad, &a, q->dout, 1);
}

const TtOpDef tt_op_pad = {
    .name = "pad",
    .help = "lengthen, shorten or rotate axes",
    .id = TT_OP_pad,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtPadAttrs),
    .infer = infer,
    .grad = grad,
};

static TtStatus bwd_infer(TtInfer *i)
{
    const TtPadAttrs *a = i->attrs;
    i->out[0].shape = i->in[0].shape;
    for (int k = 0; k < i->in[0].shape.rank; k++) i->out[0].shape.dims[k] -= a->before[k] + a->after[k];
    return TT_OK;
}

const TtOpDef tt_op_pad_bwd = {
    .name = "pad_bwd",
    .help = "gradient of pad other than constant",
    .id = TT_OP_pad_bwd,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtPadAttrs),
    .infer = bwd_infer,
};

TtPadPlan tt_pad_plan(const TtPadAttrs *a, const TtShape *x, const TtShape *y)
{
    TtPadPlan p = {.first = x->rank, .axis = -1, .inner = 1, .outer = 1};
    for (int k = 0; k < x->rank; k++)
        if (a->before[k] != 0 || a->after[k] != 0) p.first = TT_MIN(p.first, k), p.axis = k;
    for (int k = 0; k < x->rank; k++) {
        if (k < p.axis) p.outer *= y->dims[k];
        if (k > p.axis) p.inner *= y->dims[k];
    }
    return p;
}

TtVal tt_pad(TtGraph *g, TtVal x, TtPadMode mode, double value, const int64_t *before, const int64_t *after)
{
    TtPadAttrs a = {.mode = mode, .value = value};
    bool any = false;
    for (int k = 0; k < tt_rank(g, x); k++) {
        a.before[k] = before[k], a.after[k] = after[k];
        any |= before[k] != 0 || after[k] != 0;
    }
    return any ? tt_emit1(g, &tt_op_pad, &a, &x, 1) : x;
}

TtVal tt_pad_axis(TtGraph *g, TtVal x, TtPadMode mode, double value, int axis, int64_t before, int64_t after)
{
    int64_t b[TT_MAX_RANK] = {0}, a[TT_MAX_RANK] = {0};
    if (!tt_graph_ok(g)) return TT_NONE;
    axis = tt_axis(g, "pad", x, axis);
    b[axis] = before, a[axis] = after;
    return tt_pad(g, x, mode, value, b, a);
}

TtVal tt_roll(TtGraph *g, TtVal x, int64_t shift, int axis)
{
    int64_t n = tt_dim(g, x, axis);
    if (n == 0) return x;
    shift = (shift % n + n) % n;
    return tt_pad_axis(g, x, TT_PAD_CIRCULAR, 0, axis, shift, -shift);
}
