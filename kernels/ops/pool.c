/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/pool.c - max and average pooling, adaptive or not, and their gradients. */
#include "kernels/ops/pool.h"

TtWindow tt_pool_window(const TtPoolAttrs *a, int k, int64_t o, int64_t size)
{
    if (a->adaptive) {
        TtWindow w = {.first = o * size / a->out[k], .end = ((o + 1) * size + a->out[k] - 1) / a->out[k], .step = 1};
        w.covered = w.end - w.first;
        return w;
    }
    int64_t start = o * a->stride[k] - a->padding[k], step = a->dilation[k];
    int64_t reach = TT_MIN(start + step * (a->kernel[k] - 1) + 1, size + a->padding[k]);
    TtWindow w = {.first = start, .end = TT_MIN(reach, size), .step = step, .covered = reach - start};
    while (w.first < 0) w.first += step;
    return w;
}

double tt_pool_divisor(const TtPoolAttrs *a, const TtWindow *h, const TtWindow *w)
{
    if (a->divisor) return (double)a->divisor;
    if (a->exclude_pad) return (double)((h->end - h->first) * (w->end - w->first));
    return (double)(h->covered * w->covered);
}

static TtStatus pool_infer(TtInfer *i)
{
    const TtPoolAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape;
    if (x->rank != 4) return TT_INFER_FAIL(i, "pooling needs (N,H,W,C) input");
    i->out[0].shape = *x;
    for (int k = 0; k < 2; k++) {
        int64_t size = x->dims[1 + k], reach = a->dilation[k] * (a->kernel[k] - 1) + 1, n;
        if (a->adaptive) {
            i->out[0].shape.dims[1 + k] = a->out[k];
            continue;
        }
        if (a->padding[k] * 2 > a->kernel[k])
            return TT_INFER_FAIL(i, "pooling's padding %lld is more than half of its window %lld",
                                 (long long)a->padding[k], (long long)a->kernel[k]);
        int64_t room = size + 2 * a->padding[k] - reach;
        if (room < 0)
            return TT_INFER_FAIL(i, "a picture of %lldx%lld is too small for a %lldx%lld pooling window",
                                 (long long)x->dims[1], (long long)x->dims[2], (long long)a->kernel[0],
                                 (long long)a->kernel[1]);
        n = (room + (a->ceil_mode ? a->stride[k] - 1 : 0)) / a->stride[k] + 1;
        /* The last window must start inside the picture or its left padding. */
        if (a->ceil_mode && (n - 1) * a->stride[k] >= size + a->padding[k]) n--;
        i->out[0].shape.dims[1 + k] = n;
    }
    return TT_OK;
}

/* Outputs: y, and where each maximum stood (h*W + w). */
static TtStatus max_pool2d_infer(TtInfer *i)
{
    TtStatus s = pool_infer(i);
    i->out[1].shape = i->out[0].shape;
    i->out[1].dtype = TT_I32;
    return s;
}

static void max_pool2d_grad(TtGraph *g, TtGradArgs *a)
{
    TtPoolGradAttrs ga = {*(const TtPoolAttrs *)a->attrs, tt_shape(g, a->in[0])};
    a->din[0] = tt_emit1(g, &tt_op_max_pool2d_bwd, &ga, (TtVal[]){a->dout[0], a->out[1]}, 2);
}

static void avg_pool2d_grad(TtGraph *g, TtGradArgs *a)
{
    TtPoolGradAttrs ga = {*(const TtPoolAttrs *)a->attrs, tt_shape(g, a->in[0])};
    a->din[0] = tt_emit1(g, &tt_op_avg_pool2d_bwd, &ga, a->dout, 1);
}

static TtStatus pool_bwd_infer(TtInfer *i)
{
    i->out[0].shape = ((const TtPoolGradAttrs *)i->attrs)->shape;
    return TT_OK;
}

const TtOpDef tt_op_max_pool2d = {
    .name = "max_pool2d",
    .help = "maximum over windows",
    .id = TT_OP_max_pool2d,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 2,
    .attrs_size = sizeof(TtPoolAttrs),
    .infer = max_pool2d_infer,
    .grad = max_pool2d_grad,
};
const TtOpDef tt_op_max_pool2d_bwd = {
    .name = "max_pool2d_bwd",
    .help = "gradient of max_pool2d",
    .id = TT_OP_max_pool2d_bwd,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtPoolGradAttrs),
    .infer = pool_bwd_infer,
};
const TtOpDef tt_op_avg_pool2d = {
    .name = "avg_pool2d",
    .help = "mean over windows",
    .id = TT_OP_avg_pool2d,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtPoolAttrs),
    .infer = pool_infer,
    .grad = avg_pool2d_grad,
};
const TtOpDef tt_op_avg_pool2d_bwd = {
    .name = "avg_pool2d_bwd",
    .help = "gradient of avg_pool2d",
    .id = TT_OP_avg_pool2d_bwd,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtPoolGradAttrs),
    .infer = pool_bwd_infer,
};

static TtPoolAttrs attrs_of(TtPoolOptions o)
{
    int64_t k = o.kernel, s = o.stride ? o.stride : o.kernel, d = o.dilation ? o.dilation : 1;
    return (TtPoolAttrs){.kernel = {k, k},
                         .stride = {s, s},
                         .padding = {o.pad, o.pad},
                         .dilation = {d, d},
                         .ceil_mode = o.ceil_mode,
                         .exclude_pad = o.exclude_pad,
                         .divisor = o.divisor};
}

TtVal tt_max_pool2d_op(TtGraph *g, TtVal x, const TtPoolAttrs *a)
{
    TtVal out[2];
    tt_emit(g, &tt_op_max_pool2d, a, &x, 1, out);
    return out[0];
}

TtVal tt_avg_pool2d_op(TtGraph *g, TtVal x, const TtPoolAttrs *a)
{
    return tt_emit1(g, &tt_op_avg_pool2d, a, &x, 1);
}

TtVal tt_max_pool2d_(TtGraph *g, TtVal x, TtPoolOptions o)
{
    TtPoolAttrs a = attrs_of(o);
    return tt_max_pool2d_op(g, x, &a);
}

TtVal tt_avg_pool2d_(TtGraph *g, TtVal x, TtPoolOptions o)
{
    TtPoolAttrs a = attrs_of(o);
    return tt_avg_pool2d_op(g, x, &a);
}

static TtPoolAttrs adaptive(int h, int w)
{
    return (TtPoolAttrs){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .adaptive = true, .out = {h, w}};
}

TtVal tt_adaptive_avg_pool2d(TtGraph *g, TtVal x, int h, int w)
{
    TtPoolAttrs a = adaptive(h, w);
    return tt_avg_pool2d_op(g, x, &a);
}

TtVal tt_adaptive_max_pool2d(TtGraph *g, TtVal x, int h, int w)
{
    TtPoolAttrs a = adaptive(h, w);
    return tt_max_pool2d_op(g, x, &a);
}
