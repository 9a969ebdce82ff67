/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/complex_abs.c - complex_abs and its gradient. */
#include "kernels/ops/fft.h"

static TtStatus infer(TtInfer *i)
{
    const TtShape *z = &i->in[0].shape;
    char text[TT_SHAPE_TEXT];
    if (z->rank < 1 || z->dims[z->rank - 1] != 2)
        return TT_INFER_FAIL(i, "complex_abs: %s is not (...,2)", tt_shape_text(z, text));
    i->out[0].shape = *z;
    i->out[0].shape.rank--;
    return TT_OK;
}

static void grad(TtGraph *g, TtGradArgs *q)
{
    q->din[0] = tt_emit1(g, &tt_op_complex_abs_bwd, q->attrs, (TtVal[]){q->dout[0], q->in[0]}, 2);
}

const TtOpDef tt_op_complex_abs = {
    .name = "complex_abs",
    .help = "power of the magnitude of complex values",
    .id = TT_OP_complex_abs,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtComplexAbsAttrs),
    .infer = infer,
    .grad = grad,
};

static TtStatus bwd_infer(TtInfer *i)
{
    i->out[0].shape = i->in[1].shape;
    return TT_OK;
}

const TtOpDef tt_op_complex_abs_bwd = {
    .name = "complex_abs_bwd",
    .help = "gradient of complex_abs, 0 at 0",
    .id = TT_OP_complex_abs_bwd,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtComplexAbsAttrs),
    .infer = bwd_infer,
};

TtVal tt_complex_abs(TtGraph *g, TtVal z, double power)
{
    z = tt_fft_wide(g, z);
    return tt_emit1(g, &tt_op_complex_abs, &(TtComplexAbsAttrs){power}, &z, 1);
}
