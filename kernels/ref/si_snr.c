/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/si_snr.c - si_snr by its formula, over all permutations; the gradient by the chain rule, step by step. */
#include "kernels/ops/si_snr.h"

#include <math.h>

#include "kernels/ref/ref.h"

enum { MOST = TT_SI_SNR_SOURCES };

/* One estimate and one reference of a sample. */
typedef struct Pair {
    const TtTensor *est, *ref;
    int64_t n, frames, e, r;
} Pair;

static double at(const TtTensor *x, int64_t n, int64_t t, int64_t s)
{
    return tt_ref_at(x, n * x->strides[0] + t * x->strides[1] + s * x->strides[2]);
}

static double mean_of(const TtTensor *x, const Pair *p, int64_t s)
{
    double sum = 0;
    for (int64_t t = 0; t < p->frames; t++) sum += at(x, p->n, t, s);
    return sum / (double)p->frames;
}

typedef struct Values {
    double me, mr, er, rr, a, target, noise;
} Values;

static Values values(const Pair *p)
{
    Values v = {.me = mean_of(p->est, p, p->e), .mr = mean_of(p->ref, p, p->r)};
    double n = (double)p->frames;
    for (int64_t t = 0; t < p->frames; t++) {
        double e = at(p->est, p->n, t, p->e) - v.me, r = at(p->ref, p->n, t, p->r) - v.mr;
        v.er += e * r / n, v.rr += r * r / n;
    }
    v.a = v.er / (v.rr + 1e-8);
    for (int64_t t = 0; t < p->frames; t++) {
        double e = at(p->est, p->n, t, p->e) - v.me, part = v.a * (at(p->ref, p->n, t, p->r) - v.mr);
        v.target += part * part / n, v.noise += (e - part) * (e - part) / n;
    }
    return v;
}

static double ratio(const Pair *p)
{
    Values v = values(p);
    return 10 * log10(v.target + 1e-12) - 10 * log10(v.noise + 1e-12);
}

static void swap(int *a, int *b)
{
    int was = *a;
    *a = *b, *b = was;
}

/* The next permutation in lexicographic order; false after the last. */
static bool next(int *p, int n)
{
    int i = n - 2, j = n - 1;
    while (i >= 0 && p[i] > p[i + 1]) i--;
    if (i < 0) return false;
    while (p[j] < p[i]) j--;
    swap(&p[i], &p[j]);
    for (int a = i + 1, b = n - 1; a < b; a++, b--) swap(&p[a], &p[b]);
    return true;
}

static double best(Pair p, int n, bool fixed_order, int *order)
{
    double value[MOST][MOST], most = 0;
    int perm[MOST];
    for (p.e = 0; p.e < n; p.e++)
        for (p.r = 0; p.r < n; p.r++) value[p.e][p.r] = ratio(&p);
    for (int i = 0; i < n; i++) perm[i] = i;
    bool first = true;
    do {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += value[i][perm[i]];
        if (first || sum > most) {
            most = sum;
            for (int i = 0; i < n; i++) order[i] = perm[i];
        }
        first = false;
    } while (!fixed_order && next(perm, n));
    return most / n;
}

TtStatus tt_ref_si_snr(TtKernelArgs *a)
{
    const TtTensor *est = &a->in[TT_SI_SNR_EST];
    int64_t sources = est->shape.dims[2];
    double total = 0;
    for (int64_t n = 0; n < est->shape.dims[0]; n++) {
        Pair p = {est, &a->in[TT_SI_SNR_REF], n, 0, 0, 0};
        int order[MOST];
        TT_TRY(tt_si_snr_frames(a->in, n, &p.frames));
        double loss = -best(p, (int)sources, ((const TtSiSnrAttrs *)a->attrs)->fixed_order, order);
        tt_ref_put(&a->out[TT_SI_SNR_SAMPLES], n, loss);
        total += loss;
        for (int64_t s = 0; s < sources; s++) {
            tt_ref_int_put(&a->out[TT_SI_SNR_ORDER], n * sources + s, order[s]);
            for (int k = 0; k < 4; k++) tt_ref_put(&a->out[TT_SI_SNR_FACTORS], (n * sources + s) * 4 + k, 0);
        }
    }
    tt_ref_put(&a->out[TT_SI_SNR_LOSS], 0, total * tt_ref_at(&a->in[TT_SI_SNR_SCALE], 0));
    return TT_OK;
}

/* Of one pair: from the logarithms back to a and e, and from e back through the mean. */
static void pair_gradient(const Pair *p, double g, const TtTensor *dx, int64_t all, int64_t sources)
{
    Values v = values(p);
    double n = (double)p->frames, k = 10 / log(10);
    double dtarget = g * k / (v.target + 1e-12), dnoise = -g * k / (v.noise + 1e-12), da = 0, mean = 0;
    for (int64_t t = 0; t < p->frames; t++) {
        double e = at(p->est, p->n, t, p->e) - v.me, r = at(p->ref, p->n, t, p->r) - v.mr;
        da += dtarget * 2 * v.a * r * r / n - dnoise * 2 * (e - v.a * r) * r / n;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int64_t t = 0; t < p->frames; t++) {
            double e = at(p->est, p->n, t, p->e) - v.me, r = at(p->ref, p->n, t, p->r) - v.mr;
            double d = dnoise * 2 * (e - v.a * r) / n + da * r / n / (v.rr + 1e-8);
            if (pass == 0) mean += d / n;
            if (pass == 1) tt_ref_put(dx, (p->n * all + t) * sources + p->e, d - mean);
        }
}

TtStatus tt_ref_si_snr_bwd(TtKernelArgs *a)
{
    const TtTensor *in = a->in + 1, *est = &in[TT_SI_SNR_EST], *dx = &a->out[0];
    int64_t all = est->shape.dims[1], sources = est->shape.dims[2];
    double g = tt_ref_at(&a->in[0], 0) * tt_ref_at(&in[TT_SI_SNR_SCALE], 0);
    for (int64_t i = 0; i < tt_tensor_count(dx); i++) tt_ref_put(dx, i, 0);
    for (int64_t n = 0; n < est->shape.dims[0]; n++) {
        Pair p = {est, &in[TT_SI_SNR_REF], n, 0, 0, 0};
        TT_TRY(tt_si_snr_frames(in, n, &p.frames));
        for (p.e = 0; p.e < sources; p.e++) {
            p.r = tt_ref_int_at(&a->in[TT_SI_SNR_BWD_ORDER], n * sources + p.e);
            pair_gradient(&p, -g / (double)sources, dx, all, sources);
        }
    }
    return TT_OK;
}
