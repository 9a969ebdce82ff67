/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/interpolate.c - interpolate and interpolate_bwd. */
#include "kernels/ops/interpolate.h"

#include <math.h>

#include "kernels/ops/shape.h"

static TtStatus infer(TtInfer *i)
{
    const TtInterpolateAttrs *a = i->attrs;
    i->out[0].shape = i->in[0].shape;
    i->out[0].shape.dims[1] = a->h, i->out[0].shape.dims[2] = a->w;
    return TT_OK;
}

static void grad(TtGraph *g, TtGradArgs *q)
{
    TtDType t = tt_dtype(g, q->in[0]), wide = t == TT_F64 ? TT_F64 : TT_F32;
    TtVal dy = tt_cast(g, q->dout[0], wide); /* sums of bfloat16 are made in float32 */
    q->din[0] = tt_cast(g, tt_emit1(g, &tt_op_interpolate_bwd, q->attrs, &dy, 1), t);
}

const TtOpDef tt_op_interpolate = {
    .name = "interpolate",
    .help = "nearest or bilinear change of size",
    .id = TT_OP_interpolate,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtInterpolateAttrs),
    .infer = infer,
    .grad = grad,
};

static TtStatus bwd_infer(TtInfer *i)
{
    const TtInterpolateAttrs *a = i->attrs;
    i->out[0].shape = i->in[0].shape;
    i->out[0].shape.dims[1] = a->in_h, i->out[0].shape.dims[2] = a->in_w;
    return TT_OK;
}

const TtOpDef tt_op_interpolate_bwd = {
    .name = "interpolate_bwd",
    .help = "gradient of interpolate",
    .id = TT_OP_interpolate_bwd,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtInterpolateAttrs),
    .infer = bwd_infer,
};

/* Size and scale of one axis; torch computes the scale in float32. */
static void axis_of(const TtInterpolateOptions *o, int64_t in, int64_t size, double factor, int64_t *out, float *scale)
{
    *out = factor > 0 ? (int64_t)floor((double)in * factor) : size;
    if (o->linear && o->align_corners)
        *scale = *out > 1 ? (float)(in - 1) / (float)(*out - 1) : 0;
    else
        *scale = factor > 0 ? (float)(1.0 / factor) : (float)in / (float)*out;
}

TtVal tt_interpolate_with(TtGraph *g, TtVal x, const TtInterpolateOptions *o)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    TtShape s = tt_shape(g, x);
    if (s.rank == 3) { /* a sequence is a picture one pixel high */
        TtInterpolateOptions one = *o;
        one.factor_w = o->factor_w > 0 ? o->factor_w : o->factor;
        one.factor = 0, one.h = 1;
        TtVal y = tt_interpolate_with(g, tt_reshape(g, x, TT_SHAPE(s.dims[0], 1, s.dims[1], s.dims[2])), &one);
        return tt_reshape(g, y, TT_SHAPE(s.dims[0], tt_dim(g, y, 2), s.dims[2]));
    }
    TtInterpolateAttrs a = {.linear = o->linear, .align_corners = o->align_corners};
    char text[TT_SHAPE_TEXT];
    if (s.rank != 4) {
        tt_graph_fail(g, TT_ECONFIG, "interpolate: %s is not (N,H,W,C) or (N,T,C)", tt_shape_text(&s, text));
        return TT_NONE;
    }
    a.in_h = s.dims[1], a.in_w = s.dims[2];
    axis_of(o, a.in_h, o->h, o->factor, &a.h, &a.scale_h);
    axis_of(o, a.in_w, o->w, o->factor_w > 0 ? o->factor_w : o->factor, &a.w, &a.scale_w);
    if (a.in_h < 1 || a.in_w < 1 || a.h < 1 || a.w < 1) {
        tt_graph_fail(g, TT_ECONFIG, "interpolate: from %lldx%lld to %lldx%lld pixels", (long long)a.in_h,
                      (long long)a.in_w, (long long)a.h, (long long)a.w);
        return TT_NONE;
    }
    if (a.h == a.in_h && a.w == a.in_w && (o->align_corners || (a.scale_h == 1 && a.scale_w == 1))) return x;
    TtDType t = tt_dtype(g, x), wide = t == TT_F64 ? TT_F64 : TT_F32;
    if (!a.linear) return tt_emit1(g, &tt_op_interpolate, &a, &x, 1);
    x = tt_cast(g, x, wide);
    return tt_cast(g, tt_emit1(g, &tt_op_interpolate, &a, &x, 1), t);
}
