/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/fft.c - fft, rfft, irfft. The kernels transform the last axis; another one is moved there and back. */
#include "kernels/ops/fft.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "kernels/ops/pad.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/shape.h"
#include "tensor/arena.h"

/* ---- state */

TtStatus tt_fft_state_new(int64_t n, void **state)
{
    enum { LONG = 4096 };
    TtFftState *s;
    TT_TRY(tt_alloc((void **)&s, sizeof *s));
    TtStatus status = tt_fft_new(n, &s->plan);
    if (status != TT_OK) {
        tt_free(s);
        return status;
    }
    s->threads = omp_get_max_threads();
    s->rows = n > LONG ? 1 : TT_FFT_ROWS;
    s->plan_scratch = tt_aligned(tt_fft_scratch(s->plan));
    s->scratch = s->plan_scratch + tt_aligned(sizeof(float) * 2 * (size_t)(s->rows * (n + 2)));
    *state = s;
    return TT_OK;
}

void tt_fft_state_free(void *state)
{
    TtFftState *s = state;
    tt_fft_free(s->plan);
    tt_free(s);
}

size_t tt_fft_state_scratch(const TtKernelArgs *a)
{
    const TtFftState *s = a->state;
    return s->scratch * (size_t)s->threads;
}

TtStatus tt_fft_infer_check(TtInfer *i, const char *what, int64_t n)
{
    if (n < 1 || n > TT_FFT_LONGEST)
        return TT_INFER_FAIL(i, "%s: the length is %lld; 1 to %d are possible", what, (long long)n, TT_FFT_LONGEST);
    if (i->in[0].dtype != TT_F32 && i->in[0].dtype != TT_F64)
        return TT_INFER_FAIL(i, "%s: the input is %s", what, tt_dtype_name(i->in[0].dtype));
    return TT_OK;
}

TtVal tt_fft_wide(TtGraph *g, TtVal x)
{
    if (!tt_graph_ok(g)) return TT_NONE;
    return tt_dtype_is_float(tt_dtype(g, x)) && tt_dtype(g, x) != TT_F64 ? tt_cast(g, x, TT_F32) : x;
}

/* ---- fft */

static bool is_pairs(const TtShape *s)
{
    return s->rank >= 2 && s->dims[s->rank - 1] == 2;
}

static TtStatus fft_infer(TtInfer *i)
{
    const TtShape *x = &i->in[0].shape;
    char text[TT_SHAPE_TEXT];
    if (!is_pairs(x)) return TT_INFER_FAIL(i, "fft: %s is not (...,n,2)", tt_shape_text(x, text));
    i->out[0].shape = *x;
    return tt_fft_infer_check(i, "fft", x->dims[x->rank - 2]);
}

static void fft_grad(TtGraph *g, TtGradArgs *q)
{
    TtFftAttrs a = *(const TtFftAttrs *)q->attrs;
    a.sign = -a.sign;
    q->din[0] = tt_emit1(g, &tt_op_fft, &a, q->dout, 1);
}

static TtStatus fft_prepare(TtKernelArgs *a, void **state)
{
    const TtShape *x = &a->in[0].shape;
    return tt_fft_state_new(x->dims[x->rank - 2], state);
}

const TtOpDef tt_op_fft = {
    .name = "fft",
    .help = "discrete Fourier transform of complex values, forward or inverse",
    .id = TT_OP_fft,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtFftAttrs),
    .infer = fft_infer,
    .grad = fft_grad,
    .cpu_prepare = fft_prepare,
    .cpu_release = tt_fft_state_free,
    .cpu_scratch = tt_fft_state_scratch,
};

/* ---- rfft and irfft */

static TtStatus rfft_infer(TtInfer *i)
{
    const TtRfftAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape;
    if (x->rank < 1 || x->rank >= TT_MAX_RANK)
        return TT_INFER_FAIL(i, "rfft: the input has %d axes; 1 to %d are possible", x->rank, TT_MAX_RANK - 1);
    TT_ASSERT(x->dims[x->rank - 1] == a->n);
    i->out[0].shape = *x;
    i->out[0].shape.dims[x->rank - 1] = a->n / 2 + 1;
    i->out[0].shape.dims[i->out[0].shape.rank++] = 2;
    return tt_fft_infer_check(i, "rfft", a->n);
}

static void rfft_grad(TtGraph *g, TtGradArgs *q)
{
    q->din[0] = tt_emit1(g, &tt_op_irfft, q->attrs, q->dout, 1);
}

static TtStatus rfft_prepare(TtKernelArgs *a, void **state)
{
    return tt_fft_state_new(((const TtRfftAttrs *)a->attrs)->n, state);
}

const TtOpDef tt_op_rfft = {
    .name = "rfft",
    .help = "discrete Fourier transform of real values: bins 0 to n/2",
    .id = TT_OP_rfft,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtRfftAttrs),
    .infer = rfft_infer,
    .grad = rfft_grad,
    .cpu_prepare = rfft_prepare,
    .cpu_release = tt_fft_state_free,
    .cpu_scratch = tt_fft_state_scratch,
};

static TtStatus irfft_infer(TtInfer *i)
{
    const TtRfftAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape;
    char text[TT_SHAPE_TEXT];
    if (!is_pairs(x)) return TT_INFER_FAIL(i, "irfft: %s is not (...,bins,2)", tt_shape_text(x, text));
    TT_ASSERT(x->dims[x->rank - 2] == a->n / 2 + 1);
    i->out[0].shape = *x;
    i->out[0].shape.rank--;
    i->out[0].shape.dims[x->rank - 2] = a->n;
    return tt_fft_infer_check(i, "irfft", a->n);
}

static void irfft_grad(TtGraph *g, TtGradArgs *q)
{
    q->din[0] = tt_emit1(g, &tt_op_rfft, q->attrs, q->dout, 1);
}

const TtOpDef tt_op_irfft = {
    .name = "irfft",
    .help = "inverse of rfft",
    .id = TT_OP_irfft,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .attrs_size = sizeof(TtRfftAttrs),
    .infer = irfft_infer,
    .grad = irfft_grad,
    .cpu_prepare = rfft_prepare,
    .cpu_release = tt_fft_state_free,
    .cpu_scratch = tt_fft_state_scratch,
};

/* ---- emitters */

static double scale_of(TtFftNorm norm, bool inverse, int64_t n)
{
    if (norm == TT_FFT_ORTHO) return 1 / sqrt((double)n);
    return (norm == TT_FFT_BACKWARD) == inverse ? 1 / (double)n : 1;
}

/* Exchange AXIS and the last of the first RANK axes, which is its own inverse. */
static TtVal exchange(TtGraph *g, TtVal x, int rank, int axis)
{
    return axis == rank - 1 ? x : tt_transpose(g, x, axis, rank - 1);
}

/* x widened, with the axis to transform behind the others (and before that of pairs); *RANK counts the axes without that of
 * pairs. False on error. */
static bool prepare(TtGraph *g, const char *what, TtVal *x, bool pairs, int *axis, int *rank)
{
    if (!tt_graph_ok(g)) return false;
    const TtShape s = tt_shape(g, *x);
    char text[TT_SHAPE_TEXT];
    *rank = s.rank - pairs;
    if (*axis < 0) *axis += *rank;
    if (pairs && !is_pairs(&s))
        tt_graph_fail(g, TT_ECONFIG, "%s: %s is not complex: its last axis is not 2 after others", what,
                      tt_shape_text(&s, text));
    else if (*axis < 0 || *axis >= *rank)
        tt_graph_fail(g, TT_ECONFIG, "%s: no such axis in %s", what, tt_shape_text(&s, text));
    else
        *x = exchange(g, tt_fft_wide(g, *x), *rank, *axis);
    return tt_graph_ok(g);
}

/* x with LENGTH values along the axis to transform, for a transform of length N. False on error. */
static bool fit(TtGraph *g, const char *what, TtVal *x, int axis, int64_t n, int64_t length)
{
    if (n < 1 || n > TT_FFT_LONGEST)
        tt_graph_fail(g, TT_ECONFIG, "%s: the length is %lld; 1 to %d are possible", what, (long long)n,
                      TT_FFT_LONGEST);
    else
        *x = tt_pad_axis(g, *x, TT_PAD_CONSTANT, 0, axis, 0, length - tt_dim(g, *x, axis));
    return tt_graph_ok(g);
}

static TtVal complex_transform(TtGraph *g, const char *what, TtVal x, int64_t n, int axis, TtFftNorm norm, int sign)
{
    int rank;
    if (!prepare(g, what, &x, true, &axis, &rank)) return TT_NONE;
    if (n == 0) n = tt_dim(g, x, rank - 1);
    if (!fit(g, what, &x, rank - 1, n, n)) return TT_NONE;
    TtFftAttrs a = {.sign = sign, .scale = scale_of(norm, sign > 0, n)};
    return exchange(g, tt_emit1(g, &tt_op_fft, &a, &x, 1), rank, axis);
}

TtVal tt_fft(TtGraph *g, TtVal x, int64_t n, int axis, TtFftNorm norm)
{
    return complex_transform(g, "fft", x, n, axis, norm, -1);
}

TtVal tt_ifft(TtGraph *g, TtVal x, int64_t n, int axis, TtFftNorm norm)
{
    return complex_transform(g, "ifft", x, n, axis, norm, 1);
}

TtVal tt_rfft(TtGraph *g, TtVal x, int64_t n, int axis, TtFftNorm norm)
{
    int rank;
    if (!prepare(g, "rfft", &x, false, &axis, &rank)) return TT_NONE;
    if (n == 0) n = tt_dim(g, x, rank - 1);
    if (!fit(g, "rfft", &x, rank - 1, n, n)) return TT_NONE;
    TtRfftAttrs a = {.n = n, .scale = scale_of(norm, false, n), .inner = 1};
    return exchange(g, tt_emit1(g, &tt_op_rfft, &a, &x, 1), rank, axis);
}

TtVal tt_irfft(TtGraph *g, TtVal x, int64_t n, int axis, TtFftNorm norm)
{
    int rank;
    if (!prepare(g, "irfft", &x, true, &axis, &rank)) return TT_NONE;
    if (n == 0) n = 2 * (tt_dim(g, x, rank - 1) - 1);
    if (!fit(g, "irfft", &x, rank - 1, n, n / 2 + 1)) return TT_NONE;
    TtRfftAttrs a = {.n = n, .scale = scale_of(norm, true, n), .inner = 2};
    return exchange(g, tt_emit1(g, &tt_op_irfft, &a, &x, 1), rank, axis);
}
