/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/ctc.c - connectionist temporal classification as Graves et al. 2006 write it (equations 6, 7, 10 and 16),
 * with logarithms in double. */
#include "kernels/ops/ctc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"

typedef struct Lattice {
    const TtTensor *x;
    const int64_t *labels;
    int64_t sample, frames, states, blank;
} Lattice;

static int64_t class_of(const Lattice *l, int64_t s)
{
    return s % 2 ? l->labels[s / 2] : l->blank;
}

static double log_prob(const Lattice *l, int64_t t, int64_t c)
{
    const TtTensor *x = l->x;
    return tt_ref_at(x, l->sample * x->strides[0] + t * x->strides[1] + c * x->strides[2]);
}

static double log_add(double a, double b)
{
    if (a == -INFINITY) return b;
    if (b == -INFINITY) return a;
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* Whether a path may go from state S to S + 2. */
static bool may_skip(const Lattice *l, int64_t s)
{
    return s % 2 && s + 2 < l->states && class_of(l, s) != class_of(l, s + 2);
}

static void alphas(const Lattice *l, double *a)
{
    for (int64_t t = 0; t < l->frames; t++)
        for (int64_t s = 0; s < l->states; s++) {
            const double *was = a + (t - 1) * l->states;
            double v = t ? was[s] : s < 2 ? 0 : -INFINITY;
            if (t && s > 0) v = log_add(v, was[s - 1]);
            if (t && s > 1 && may_skip(l, s - 2)) v = log_add(v, was[s - 2]);
            a[t * l->states + s] = v + log_prob(l, t, class_of(l, s));
        }
}

/* With the frame's own probability, as alpha has it. */
static void betas(const Lattice *l, double *b)
{
    for (int64_t t = l->frames - 1; t >= 0; t--)
        for (int64_t s = 0; s < l->states; s++) {
            const double *next = b + (t + 1) * l->states;
            bool end = t == l->frames - 1;
            double v = !end ? next[s] : s >= l->states - 2 ? 0 : -INFINITY;
            if (!end && s + 1 < l->states) v = log_add(v, next[s + 1]);
            if (!end && may_skip(l, s)) v = log_add(v, next[s + 2]);
            b[t * l->states + s] = v + log_prob(l, t, class_of(l, s));
        }
}

/* log p(target) */
static double likelihood(const Lattice *l, const double *a)
{
    if (l->frames == 0) return l->states == 1 ? 0 : -INFINITY;
    const double *last = a + (l->frames - 1) * l->states;
    return l->states == 1 ? last[0] : log_add(last[l->states - 1], last[l->states - 2]);
}

static void sample(TtKernelArgs *k, int64_t n, double *total)
{
    TtCtcDims d = tt_ctc_dims(k);
    const TtCtcAttrs *attrs = k->attrs;
    const TtTensor *dx = &k->out[TT_CTC_GRADIENT];
    int64_t length = tt_ref_int_at(&k->in[TT_CTC_TARGET_LENGTHS], n);
    Lattice l = {&k->in[TT_CTC_LOG_PROBS],
                 (const int64_t *)k->in[TT_CTC_TARGETS].data + n * d.s,
                 n,
                 tt_ref_int_at(&k->in[TT_CTC_INPUT_LENGTHS], n),
                 2 * length + 1,
                 attrs->blank};
    size_t size = sizeof(double) * (size_t)(l.frames * l.states + 1);
    double *a = tt_realloc(NULL, size), *b = tt_realloc(NULL, size), labels = length ? (double)length : 1;
    alphas(&l, a);
    betas(&l, b);
    double log_p = likelihood(&l, a);
    bool zero = attrs->zero_infinity && log_p == -INFINITY;
    double loss = zero ? 0 : -log_p / labels;
    tt_ref_put(&k->out[TT_CTC_SAMPLES], n, loss);
    *total += loss;
    for (int64_t t = 0; t < d.t; t++)
        for (int64_t c = 0; c < d.c; c++) {
            double share = -INFINITY, v = 0;
            if (t < l.frames && !zero) {
                double own = log_prob(&l, t, c);
                for (int64_t s = 0; s < l.states; s++)
                    if (class_of(&l, s) == c) share = log_add(share, a[t * l.states + s] + b[t * l.states + s] - own);
                v = log_p == -INFINITY ? NAN : (exp(own) - exp(share - log_p)) / labels;
            }
            tt_ref_put(dx, (n * d.t + t) * d.c + c, v);
        }
    free(a);
    free(b);
}

TtStatus tt_ref_ctc_loss(TtKernelArgs *k)
{
    double total = 0;
    TT_TRY(tt_ctc_check(k));
    for (int64_t n = 0; n < k->in[TT_CTC_LOG_PROBS].shape.dims[0]; n++) sample(k, n, &total);
    tt_ref_put(&k->out[TT_CTC_LOSS], 0, total * tt_ref_at(&k->in[TT_CTC_SCALE], 0));
    return TT_OK;
}
