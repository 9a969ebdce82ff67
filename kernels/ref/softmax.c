/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/softmax.c - oracle of softmax and its gradient. */
#include "kernels/ops/softmax.h"

#include <math.h>

#include "kernels/ref/ref.h"

/* Call for every line along the axis: FIRST is the row-major index of its first element, STEP the distance. */
typedef void (*LineFn)(TtKernelArgs *k, bool log_, int64_t first, int64_t step, int64_t n);

static void each_line(TtKernelArgs *k, LineFn f)
{
    const TtSoftmaxAttrs *a = k->attrs;
    const TtShape *s = &k->out[0].shape;
    int64_t inner = 1, n = s->dims[a->axis], total = tt_shape_count(s);
    for (int i = a->axis + 1; i < s->rank; i++) inner *= s->dims[i];
    for (int64_t i = 0; i < total; i++)
        if (i / inner % n == 0) f(k, a->log, i, inner, n);
}

static double at(const TtTensor *t, int64_t i)
{
    return tt_ref_at(t, tt_ref_linear(t, i));
}

static void forward(TtKernelArgs *k, bool log_, int64_t first, int64_t step, int64_t n)
{
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, at(&k->in[0], first + i * step));
    for (int64_t i = 0; i < n; i++) sum += exp(at(&k->in[0], first + i * step) - top);
    for (int64_t i = 0; i < n; i++) {
        double x = at(&k->in[0], first + i * step) - top;
        tt_ref_put(&k->out[0], first + i * step, log_ ? x - log(sum) : exp(x) / sum);
    }
}

static void backward(TtKernelArgs *k, bool log_, int64_t first, int64_t step, int64_t n)
{
    double sum = 0;
    for (int64_t i = first; i < first + n * step; i += step) sum += at(&k->in[0], i) * (log_ ? 1 : at(&k->in[1], i));
    for (int64_t i = first; i < first + n * step; i += step) {
        double dy = at(&k->in[0], i), y = at(&k->in[1], i);
        tt_ref_put(&k->out[0], i, log_ ? dy - exp(y) * sum : y * (dy - sum));
    }
}

TtStatus tt_ref_softmax(TtKernelArgs *k)
{
    each_line(k, forward);
    return TT_OK;
}

TtStatus tt_ref_softmax_bwd(TtKernelArgs *k)
{
    each_line(k, backward);
    return TT_OK;
}
