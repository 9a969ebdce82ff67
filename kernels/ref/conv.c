/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/conv.c - convolution by its definition. */
#include "kernels/ops/conv.h"

#include "kernels/ref/ref.h"

/* The shapes that a product is looked up in. */
typedef struct Walk {
    const TtConv2dAttrs *a;
    TtShape x, w, y;
} Walk;

/* Offset-free indices of one product. */
typedef struct Term {
    int64_t n, h, w, ci, o, i, ky, kx, oh, ow;
} Term;

static bool in_picture(const Walk *k, Term *t)
{
    const TtConv2dAttrs *a = k->a;
    t->h = t->oh * a->stride[0] - a->padding[0] + t->ky * a->dilation[0];
    t->w = t->ow * a->stride[1] - a->padding[1] + t->kx * a->dilation[1];
    t->ci = t->o / (k->w.dims[0] / a->groups) * k->w.dims[1] + t->i;
    return t->h >= 0 && t->h < k->x.dims[1] && t->w >= 0 && t->w < k->x.dims[2];
}

static double w_at(const TtTensor *w, const Term *t)
{
    return tt_ref4(w, t->o, t->i, t->ky, t->kx);
}

TtStatus tt_ref_conv2d(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[0], *w = &a->in[1], *y = &a->out[0];
    Walk k = {a->attrs, x->shape, w->shape, y->shape};
    Term t;
    int64_t at = 0;
    for (t.n = 0; t.n < y->shape.dims[0]; t.n++)
        for (t.oh = 0; t.oh < y->shape.dims[1]; t.oh++)
            for (t.ow = 0; t.ow < y->shape.dims[2]; t.ow++)
                for (t.o = 0; t.o < y->shape.dims[3]; t.o++, at++) {
                    double sum = a->nin > 2 && a->in[2].data ? tt_ref_at(&a->in[2], t.o * a->in[2].strides[0]) : 0;
                    for (t.i = 0; t.i < w->shape.dims[1]; t.i++)
                        for (t.ky = 0; t.ky < w->shape.dims[2]; t.ky++)
                            for (t.kx = 0; t.kx < w->shape.dims[3]; t.kx++)
                                if (in_picture(&k, &t)) sum += tt_ref4(x, t.n, t.h, t.w, t.ci) * w_at(w, &t);
                    tt_ref_put(y, at, sum);
                }
    return TT_OK;
}

/* Gather form: every dx element sums over the outputs it took part in. */
TtStatus tt_ref_conv2d_dx(TtKernelArgs *a)
{
    const TtTensor *dy = &a->in[0], *w = &a->in[1], *dx = &a->out[0];
    const TtConv2dGradAttrs *ga = a->attrs;
    Walk k = {&ga->conv, dx->shape, w->shape, dy->shape};
    int64_t at = 0;
    for (int64_t n = 0; n < dx->shape.dims[0]; n++)
        for (int64_t h = 0; h < dx->shape.dims[1]; h++)
            for (int64_t x = 0; x < dx->shape.dims[2]; x++)
                for (int64_t c = 0; c < dx->shape.dims[3]; c++, at++) {
                    double sum = 0;
                    Term t = {.n = n, .i = c % w->shape.dims[1]};
                    int64_t per_group = w->shape.dims[0] / ga->conv.groups, first = c / w->shape.dims[1] * per_group;
                    for (t.o = first; t.o < first + per_group; t.o++)
                        for (t.oh = 0; t.oh < dy->shape.dims[1]; t.oh++)
                            for (t.ky = 0; t.ky < w->shape.dims[2]; t.ky++) {
                                if (t.oh * ga->conv.stride[0] - ga->conv.padding[0] + t.ky * ga->conv.dilation[0] != h)
                                    continue;
                                for (t.ow = 0; t.ow < dy->shape.dims[2]; t.ow++)
                                    for (t.kx = 0; t.kx < w->shape.dims[3]; t.kx++)
                                        if (in_picture(&k, &t) && t.w == x)
                                            sum += tt_ref4(dy, n, t.oh, t.ow, t.o) * w_at(w, &t);
                            }
                    tt_ref_put(dx, at, sum);
                }
    return TT_OK;
}

TtStatus tt_ref_conv2d_dw(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[0], *dy = &a->in[1], *dw = &a->out[0];
    const TtConv2dGradAttrs *ga = a->attrs;
    Walk k = {&ga->conv, x->shape, dw->shape, dy->shape};
    Term t;
    int64_t at = 0;
    for (t.o = 0; t.o < dw->shape.dims[0]; t.o++)
        for (t.i = 0; t.i < dw->shape.dims[1]; t.i++)
            for (t.ky = 0; t.ky < dw->shape.dims[2]; t.ky++)
                for (t.kx = 0; t.kx < dw->shape.dims[3]; t.kx++, at++) {
                    double sum = 0;
                    for (t.n = 0; t.n < dy->shape.dims[0]; t.n++)
                        for (t.oh = 0; t.oh < dy->shape.dims[1]; t.oh++)
                            for (t.ow = 0; t.ow < dy->shape.dims[2]; t.ow++)
                                if (in_picture(&k, &t))
                                    sum += tt_ref4(x, t.n, t.h, t.w, t.ci) * tt_ref4(dy, t.n, t.oh, t.ow, t.o);
                    tt_ref_put(dw, at, sum);
                }
    for (int64_t o = 0; ga->bias && o < dw->shape.dims[0]; o++) {
        double sum = 0;
        for (int64_t n = 0; n < dy->shape.dims[0]; n++)
            for (int64_t h = 0; h < dy->shape.dims[1]; h++)
                for (int64_t w = 0; w < dy->shape.dims[2]; w++) sum += tt_ref4(dy, n, h, w, o);
        tt_ref_put(&a->out[1], o, sum);
    }
    return TT_OK;
}
