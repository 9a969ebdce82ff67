/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/depthwise.c - convolution along time of every channel by itself, by its definition. */
#include "kernels/ops/conv1d.h"
#include "kernels/ref/ref.h"

static double at3(const TtTensor *t, int64_t n, int64_t i, int64_t c)
{
    return tt_ref_at(t, n * t->strides[0] + i * t->strides[1] + c * t->strides[2]);
}

TtStatus tt_ref_depthwise_conv1d(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[0], *w = &a->in[1], *y = &a->out[0];
    const TtConv1dAttrs *c = a->attrs;
    int64_t at = 0;
    for (int64_t n = 0; n < y->shape.dims[0]; n++)
        for (int64_t t = 0; t < y->shape.dims[1]; t++)
            for (int64_t ch = 0; ch < y->shape.dims[2]; ch++, at++) {
                double sum = a->nin > 2 && a->in[2].data ? tt_ref_at(&a->in[2], ch * a->in[2].strides[0]) : 0;
                for (int64_t k = 0; k < w->shape.dims[2]; k++) {
                    int64_t s = t * c->stride - c->padding + k * c->dilation;
                    if (s >= 0 && s < x->shape.dims[1]) sum += at3(x, n, s, ch) * at3(w, ch, 0, k);
                }
                tt_ref_put(y, at, sum);
            }
    return TT_OK;
}

/* Every element of dx sums over the outputs it took part in. */
TtStatus tt_ref_depthwise_conv1d_dx(TtKernelArgs *a)
{
    const TtTensor *dy = &a->in[0], *w = &a->in[1], *dx = &a->out[0];
    const TtConv1dAttrs *c = &((const TtConv1dGradAttrs *)a->attrs)->conv;
    int64_t at = 0;
    for (int64_t n = 0; n < dx->shape.dims[0]; n++)
        for (int64_t s = 0; s < dx->shape.dims[1]; s++)
            for (int64_t ch = 0; ch < dx->shape.dims[2]; ch++, at++) {
                double sum = 0;
                for (int64_t t = 0; t < dy->shape.dims[1]; t++)
                    for (int64_t k = 0; k < w->shape.dims[2]; k++)
                        if (t * c->stride - c->padding + k * c->dilation == s)
                            sum += at3(dy, n, t, ch) * at3(w, ch, 0, k);
                tt_ref_put(dx, at, sum);
            }
    return TT_OK;
}

TtStatus tt_ref_depthwise_conv1d_dw(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[0], *dy = &a->in[1], *dw = &a->out[0];
    const TtConv1dGradAttrs *ga = a->attrs;
    const TtConv1dAttrs *c = &ga->conv;
    int64_t at = 0, taps = dw->shape.dims[2];
    for (int64_t ch = 0; ch < dw->shape.dims[0]; ch++) {
        double bias = 0;
        for (int64_t k = 0; k < taps; k++, at++) {
            double sum = 0;
            for (int64_t n = 0; n < dy->shape.dims[0]; n++)
                for (int64_t t = 0; t < dy->shape.dims[1]; t++) {
                    int64_t s = t * c->stride - c->padding + k * c->dilation;
                    if (s >= 0 && s < x->shape.dims[1]) sum += at3(x, n, s, ch) * at3(dy, n, t, ch);
                    if (k == 0) bias += at3(dy, n, t, ch);
                }
            tt_ref_put(dw, at, sum);
        }
        if (ga->bias) tt_ref_put(&a->out[1], ch, bias);
    }
    return TT_OK;
}
