/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/stft.c - stft and istft. Padding, the division by the windows' sum and cutting to length are other
 * operations; what is here is linear, and each of the two is the other's gradient. */
#include "kernels/ops/stft.h"

#include <math.h>

#include "kernels/ops/binary.h"
#include "kernels/ops/pad.h"
#include "kernels/ops/shape.h"

static int64_t bins_of(const TtStftAttrs *a)
{
    return a->two_sided ? a->n : a->n / 2 + 1;
}

static int64_t frames_of(const TtStftAttrs *a)
{
    return 1 + (a->length - a->n) / a->hop;
}

static TtStatus prepare(TtKernelArgs *a, void **state)
{
    return tt_fft_state_new(((const TtStftAttrs *)a->attrs)->n, state);
}

static TtStatus stft_infer(TtInfer *i)
{
    const TtStftAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape;
    TT_TRY(tt_fft_infer_check(i, "stft", a->n));
    TT_ASSERT(x->rank == 2 && x->dims[1] == a->length && a->length >= a->n);
    i->out[0].shape = TT_SHAPE(x->dims[0], frames_of(a), bins_of(a), 2);
    return TT_OK;
}

static void stft_grad(TtGraph *g, TtGradArgs *q)
{
    q->din[0] = tt_emit1(g, &tt_op_istft, q->attrs, (TtVal[]){q->dout[0], q->in[1]}, 2);
}

const TtOpDef tt_op_stft = {
    .name = "stft",
    .help = "Fourier transforms of overlapping windowed frames",
    .id = TT_OP_stft,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtStftAttrs),
    .infer = stft_infer,
    .grad = stft_grad,
    .cpu_prepare = prepare,
    .cpu_release = tt_fft_state_free,
    .cpu_scratch = tt_fft_state_scratch,
};

static TtStatus istft_infer(TtInfer *i)
{
    const TtStftAttrs *a = i->attrs;
    const TtShape *x = &i->in[0].shape;
    TT_TRY(tt_fft_infer_check(i, "istft", a->n));
    TT_ASSERT(x->rank == 4 && x->dims[1] == frames_of(a) && x->dims[2] == bins_of(a) && x->dims[3] == 2);
    i->out[0].shape = TT_SHAPE(x->dims[0], a->length);
    return TT_OK;
}

static void istft_grad(TtGraph *g, TtGradArgs *q)
{
    q->din[0] = tt_emit1(g, &tt_op_stft, q->attrs, (TtVal[]){q->dout[0], q->in[1]}, 2);
}

const TtOpDef tt_op_istft = {
    .name = "istft",
    .help = "sum of the windowed inverse transforms of overlapping frames",
    .id = TT_OP_istft,
    .nin_min = 2,
    .nin_max = 2,
    .nout = 1,
    .attrs_size = sizeof(TtStftAttrs),
    .infer = istft_infer,
    .grad = istft_grad,
    .cpu_prepare = prepare,
    .cpu_release = tt_fft_state_free,
    .cpu_scratch = tt_fft_state_scratch,
};

/* ---- emitters */

/* The options with defaults filled in; false after a graph error. */
static bool checked(TtGraph *g, const char *what, const TtStft *from, TtStft *o)
{
    if (!tt_graph_ok(g)) return false;
    *o = *from;
    if (o->n_fft < 1 || o->n_fft > TT_FFT_LONGEST) {
        tt_graph_fail(g, TT_ECONFIG, "%s: n_fft is %lld; 1 to %d are possible", what, (long long)o->n_fft,
                      TT_FFT_LONGEST);
        return false;
    }
    if (o->hop_length == 0) o->hop_length = TT_MAX(o->n_fft / 4, 1);
    if (o->win_length == 0) o->win_length = o->n_fft;
    if (o->hop_length < 1 || o->hop_length > INT32_MAX)
        tt_graph_fail(g, TT_ECONFIG, "%s: hop_length is %lld; 1 to %d are possible", what, (long long)o->hop_length,
                      INT32_MAX);
    if (o->win_length < 1 || o->win_length > o->n_fft)
        tt_graph_fail(g, TT_ECONFIG, "%s: win_length is %lld; 1 to n_fft, which is %lld, are possible", what,
                      (long long)o->win_length, (long long)o->n_fft);
    return tt_graph_ok(g);
}

/* n_fft values: the window between zeros. In the graph's arena. */
static const double *frame_window(TtGraph *g, const TtStft *o)
{
    double *w = TT_NEWN(tt_graph_arena(g), double, o->n_fft);
    for (int64_t t = 0, left = (o->n_fft - o->win_length) / 2; t < o->win_length; t++)
        w[left + t] = o->window ? o->window[t] : 1;
    return w;
}

/* A constant vector of the graph's type T. */
static TtVal constant(TtGraph *g, TtDType t, const double *values, int64_t n)
{
    if (t == TT_F64) return tt_const_data(g, TT_F64, TT_SHAPE(n), values);
    float *narrow = TT_NEWN(tt_graph_arena(g), float, n);
    for (int64_t i = 0; i < n; i++) narrow[i] = (float)values[i];
    return tt_const_data(g, TT_F32, TT_SHAPE(n), narrow);
}

TtVal tt_stft(TtGraph *g, TtVal x, const TtStft *options)
{
    static const TtPadMode modes[] = {TT_PAD_REFLECT, TT_PAD_CONSTANT, TT_PAD_REPLICATE};
    TtStft o;
    if (!checked(g, "stft", options, &o)) return TT_NONE;
    TtShape s = tt_shape(g, x);
    char text[TT_SHAPE_TEXT];
    if (s.rank != 2) {
        tt_graph_fail(g, TT_ECONFIG, "stft: %s is not (N,T)", tt_shape_text(&s, text));
        return TT_NONE;
    }
    x = tt_fft_wide(g, x);
    if (o.pad != TT_STFT_NONE) x = tt_pad_axis(g, x, modes[o.pad], 0, 1, o.n_fft / 2, o.n_fft / 2);
    if (!tt_graph_ok(g)) return TT_NONE;
    TtStftAttrs a = {.n = o.n_fft, .hop = o.hop_length, .length = tt_dim(g, x, 1), .inner = 1};
    a.scale = o.normalized ? 1 / sqrt((double)o.n_fft) : 1;
    a.two_sided = o.two_sided;
    if (a.length < a.n) {
        tt_graph_fail(g, TT_ECONFIG, "stft: a signal of %lld samples (padding included) has no frame of %lld",
                      (long long)a.length, (long long)a.n);
        return TT_NONE;
    }
    TtVal w = constant(g, tt_dtype(g, x), frame_window(g, &o), o.n_fft);
    return tt_emit1(g, &tt_op_stft, &a, (TtVal[]){x, w}, 2);
}

/* 1 / the sum of the squared windows, of KEPT samples from START on; NULL after a graph error. */
static const double *envelope(TtGraph *g, const TtStft *o, const double *w, int64_t frames, int64_t start, int64_t kept)
{
    double *e = TT_NEWN(tt_graph_arena(g), double, kept);
    for (int64_t f = 0; f < frames; f++)
        for (int64_t t = 0; t < o->n_fft; t++) {
            const int64_t at = f * o->hop_length + t - start;
            if (at >= 0 && at < kept) e[at] += w[t] * w[t];
        }
    for (int64_t t = 0; t < kept; t++) {
        if (!(e[t] >= 1e-11)) {
            tt_graph_fail(g, TT_ECONFIG,
                          "istft: the squared windows sum to %g at sample %lld; they must overlap without a gap", e[t],
                          (long long)t);
            return NULL;
        }
        e[t] = 1 / e[t];
    }
    return e;
}

TtVal tt_istft(TtGraph *g, TtVal x, const TtStft *options, int64_t length)
{
    TtStft o;
    if (!checked(g, "istft", options, &o)) return TT_NONE;
    TtShape s = tt_shape(g, x);
    char text[TT_SHAPE_TEXT];
    const int64_t bins = o.two_sided ? o.n_fft : o.n_fft / 2 + 1;
    if (s.rank != 4 || s.dims[1] < 1 || s.dims[2] != bins || s.dims[3] != 2 || s.dims[1] > INT32_MAX) {
        tt_graph_fail(g, TT_ECONFIG, "istft: %s is not (N,frames,%lld,2)", tt_shape_text(&s, text), (long long)bins);
        return TT_NONE;
    }
    if (length < 0 || length > INT32_MAX) {
        tt_graph_fail(g, TT_ECONFIG, "istft: the length is %lld; 0 to %d are possible", (long long)length, INT32_MAX);
        return TT_NONE;
    }
    x = tt_slice(g, tt_fft_wide(g, x), 2, 0, o.n_fft / 2 + 1, 1);
    const int64_t frames = s.dims[1], covered = o.n_fft + o.hop_length * (frames - 1);
    TtStftAttrs a = {.n = o.n_fft, .hop = o.hop_length, .length = covered, .inner = 2};
    a.scale = o.normalized ? 1 / sqrt((double)o.n_fft) : 1 / (double)o.n_fft;
    const int64_t start = o.pad != TT_STFT_NONE ? o.n_fft / 2 : 0;
    const int64_t end = length ? start + length : covered - start, kept = TT_MIN(end, covered) - start;
    if (kept < 1) {
        tt_graph_fail(g, TT_ECONFIG, "istft: %lld frames cover nothing beside the padding", (long long)frames);
        return TT_NONE;
    }
    TtDType t = tt_dtype(g, x);
    const double *w = frame_window(g, &o), *e = envelope(g, &o, w, frames, start, kept);
    if (!e) return TT_NONE;
    TtVal y = tt_emit1(g, &tt_op_istft, &a, (TtVal[]){x, constant(g, t, w, o.n_fft)}, 2);
    y = tt_mul(g, tt_slice(g, y, 1, start, kept, 1), constant(g, t, e, kept));
    return tt_pad_axis(g, y, TT_PAD_CONSTANT, 0, 1, 0, end - start - kept);
}

void tt_hann_window(int64_t n, double *values)
{
    for (int64_t t = 0; t < n; t++) values[t] = 0.5 - 0.5 * cos(2 * M_PI * (double)t / (double)n);
}
