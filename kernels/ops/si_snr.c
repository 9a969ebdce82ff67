/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/si_snr.c - si_snr and its gradient, and the measure itself in double: a sample is described by the mean
 * squares and products of its signals, which is all that values and gradients need. */
#include "kernels/ops/si_snr.h"

#include <math.h>

#include "kernels/ops/shape.h"
#include "tensor/assignment.h"

enum { MOST = TT_SI_SNR_SOURCES };
_Static_assert((int)MOST <= (int)TT_ASSIGNMENT_MOST, "more sources than can be assigned");
#define SMALL_REFERENCE 1e-8
#define SMALL_POWER 1e-12 /* silence stays finite */

/* ---- the measure */

/* Means over time, of signals from which their means are taken. */
typedef struct Gram {
    double e[MOST], r[MOST]; /* the means that are taken */
    double ee[MOST], rr[MOST], er[MOST][MOST];
} Gram;

static void means(const float *x, int64_t frames, int n, double *mean)
{
    for (int i = 0; i < n; i++) mean[i] = 0;
    for (int64_t t = 0; t < frames; t++)
        for (int i = 0; i < n; i++) mean[i] += (double)x[t * n + i];
    for (int i = 0; i < n; i++) mean[i] /= (double)frames;
}

/* E (T,NE), R (T,NR). */
static void gram(const float *e, int ne, const float *r, int nr, int64_t frames, Gram *g)
{
    double ev[MOST], rv[MOST], n = (double)frames;
    *g = (Gram){0};
    means(e, frames, ne, g->e);
    means(r, frames, nr, g->r);
    for (int64_t t = 0; t < frames; t++) {
        for (int i = 0; i < ne; i++) ev[i] = (double)e[t * ne + i] - g->e[i];
        for (int j = 0; j < nr; j++) rv[j] = (double)r[t * nr + j] - g->r[j];
        for (int j = 0; j < nr; j++) g->rr[j] += rv[j] * rv[j];
        for (int i = 0; i < ne; i++) {
            g->ee[i] += ev[i] * ev[i];
            for (int j = 0; j < nr; j++) g->er[i][j] += ev[i] * rv[j];
        }
    }
    for (int j = 0; j < nr; j++) g->rr[j] /= n;
    for (int i = 0; i < ne; i++) {
        g->ee[i] /= n;
        for (int j = 0; j < nr; j++) g->er[i][j] /= n;
    }
}

/* Powers of estimate I's part along reference J and of the rest; returns a. */
static double split(const Gram *g, int i, int j, double *target, double *noise)
{
    double a = g->er[i][j] / (g->rr[j] + SMALL_REFERENCE), rest = g->ee[i] - 2 * a * g->er[i][j] + a * a * g->rr[j];
    *target = a * a * g->rr[j] + SMALL_POWER;
    *noise = (rest < 0 ? 0 : rest) + SMALL_POWER; /* NaN stays */
    return a;
}

static double ratio(const Gram *g, int i, int j)
{
    double target, noise;
    split(g, i, j, &target, &noise);
    return 10 * log10(target) - 10 * log10(noise);
}

static void best_order(const Gram *g, int n, int order[MOST])
{
    double value[MOST * MOST];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) value[i * n + j] = ratio(g, i, j);
    tt_best_assignment(n, value, order);
}

void tt_si_snr_measure(const float *est, const float *ref, int64_t frames, int sources, bool fixed_order, TtSiSnr *out)
{
    Gram g;
    gram(est, sources, ref, sources, frames, &g);
    *out = (TtSiSnr){0};
    for (int i = 0; i < sources; i++) out->order[i] = i;
    if (!fixed_order) best_order(&g, sources, out->order);
    double k = 2 * (10 / log(10)) / ((double)frames * sources);
    for (int i = 0; i < sources; i++) {
        int j = out->order[i];
        double target, noise, a = split(&g, i, j, &target, &noise), reference = g.rr[j] + SMALL_REFERENCE;
        out->mean += ratio(&g, i, j) / sources;
        /* of minus the mean: e' = e, r' = r without means; a depends on e */
        out->own[i] = k / noise;
        out->other[i] = -k * (a * g.rr[j] / (reference * target) + a * (1 + SMALL_REFERENCE / reference) / noise);
        out->mean_est[i] = g.e[i], out->mean_ref[i] = g.r[j];
    }
}

double tt_si_snr(const float *est, const float *ref, int64_t frames, int sources, bool fixed_order)
{
    TtSiSnr m;
    tt_si_snr_measure(est, ref, frames, sources, fixed_order, &m);
    return m.mean;
}

double tt_si_snr_improvement(const float *est, const float *ref, const float *mix, int64_t frames, int sources,
                             bool fixed_order)
{
    Gram g;
    double before = 0;
    gram(mix, 1, ref, sources, frames, &g);
    for (int j = 0; j < sources; j++) before += ratio(&g, 0, j) / sources;
    return tt_si_snr(est, ref, frames, sources, fixed_order) - before;
}

/* ---- the ops */

TtStatus tt_si_snr_frames(const TtTensor *in, int64_t sample, int64_t *frames)
{
    int64_t most = in[TT_SI_SNR_EST].shape.dims[1];
    const int64_t *lengths = in[TT_SI_SNR_LENGTHS].data;
    *frames = lengths ? lengths[sample] : most;
    if (*frames < 1 || *frames > most)
        return TT_FAIL(TT_EDATA, "si_snr: sample %lld of the batch has %lld frames; they must be 1 to %lld",
                       (long long)sample, (long long)*frames, (long long)most);
    return TT_OK;
}

static TtStatus si_snr_infer(TtInfer *i)
{
    const TtTensor *e = &i->in[TT_SI_SNR_EST], *r = &i->in[TT_SI_SNR_REF], *l = &i->in[TT_SI_SNR_LENGTHS];
    char es[TT_SHAPE_TEXT], rs[TT_SHAPE_TEXT];
    if (e->shape.rank != 3 || !tt_shape_equal(&e->shape, &r->shape) || e->dtype != r->dtype)
        return TT_INFER_FAIL(i, "si_snr: estimates %s and references %s are not both (samples, frames, sources)",
                             tt_shape_text(&e->shape, es), tt_shape_text(&r->shape, rs));
    int64_t n = e->shape.dims[0], sources = e->shape.dims[2];
    if (e->shape.dims[1] < 1 || sources < 1 || sources > MOST)
        return TT_INFER_FAIL(i, "si_snr of %lld frames and %lld sources: it takes 1 or more, and 1 to %d",
                             (long long)e->shape.dims[1], (long long)sources, MOST);
    if (i->present[TT_SI_SNR_LENGTHS] && (l->shape.rank != 1 || l->shape.dims[0] != n || l->dtype != TT_I64))
        return TT_INFER_FAIL(i, "si_snr: %s lengths %s for %lld samples", tt_dtype_name(l->dtype),
                             tt_shape_text(&l->shape, es), (long long)n);
    TT_ASSERT(tt_shape_count(&i->in[TT_SI_SNR_SCALE].shape) == 1);
    i->out[TT_SI_SNR_LOSS].shape = (TtShape){0};
    i->out[TT_SI_SNR_SAMPLES].shape = TT_SHAPE(n);
    i->out[TT_SI_SNR_SAMPLES].dtype = e->dtype;
    i->out[TT_SI_SNR_FACTORS].shape = TT_SHAPE(n, sources, 4); /* own, other, mean_est, mean_ref */
    i->out[TT_SI_SNR_FACTORS].dtype = TT_F64;
    i->out[TT_SI_SNR_ORDER].shape = TT_SHAPE(n, sources);
    i->out[TT_SI_SNR_ORDER].dtype = TT_I64;
    return TT_OK;
}

static void si_snr_grad(TtGraph *g, TtGradArgs *a)
{
    if (a->dout[TT_SI_SNR_SAMPLES].id) tt_graph_fail(g, TT_EINTERNAL, "si_snr: the per-sample losses take no gradient");
    if (a->need[TT_SI_SNR_REF]) tt_graph_fail(g, TT_EINTERNAL, "si_snr: the references take no gradient");
    if (!a->need[TT_SI_SNR_EST]) return;
    TtVal ins[TT_SI_SNR_BWD_INPUTS] = {a->dout[TT_SI_SNR_LOSS],  a->in[TT_SI_SNR_EST],   a->in[TT_SI_SNR_REF],
                                       a->in[TT_SI_SNR_LENGTHS], a->in[TT_SI_SNR_SCALE], a->out[TT_SI_SNR_FACTORS],
                                       a->out[TT_SI_SNR_ORDER]};
    a->din[TT_SI_SNR_EST] = tt_emit1(g, &tt_op_si_snr_bwd, a->attrs, ins, TT_SI_SNR_BWD_INPUTS);
}

static double si_snr_flops(const TtKernelArgs *a)
{
    const TtShape *s = &a->in[TT_SI_SNR_EST].shape;
    return (double)tt_shape_count(s) * (double)(8 + 2 * s->dims[2]);
}

const TtOpDef tt_op_si_snr = {
    .name = "si_snr",
    .help = "minus the scale-invariant signal-to-noise ratio, for the best order of the sources",
    .id = TT_OP_si_snr,
    .nin_min = TT_SI_SNR_INPUTS,
    .nin_max = TT_SI_SNR_INPUTS,
    .nout = TT_SI_SNR_OUTPUTS,
    .attrs_size = sizeof(TtSiSnrAttrs),
    .infer = si_snr_infer,
    .grad = si_snr_grad,
    .flops = si_snr_flops,
};

static TtStatus si_snr_bwd_infer(TtInfer *i)
{
    i->out[0].shape = i->in[1 + TT_SI_SNR_EST].shape;
    i->out[0].dtype = i->in[1 + TT_SI_SNR_EST].dtype;
    return TT_OK;
}

const TtOpDef tt_op_si_snr_bwd = {
    .name = "si_snr_bwd",
    .help = "gradient of si_snr by the estimates",
    .id = TT_OP_si_snr_bwd,
    .nin_min = TT_SI_SNR_BWD_INPUTS,
    .nin_max = TT_SI_SNR_BWD_INPUTS,
    .nout = 1,
    .attrs_size = sizeof(TtSiSnrAttrs),
    .infer = si_snr_bwd_infer,
};

void tt_si_snr_loss(TtGraph *g, TtVal estimates, TtVal references, TtVal lengths, TtVal scale, const TtSiSnrAttrs *a,
                    TtVal out[2])
{
    TtDType t = tt_graph_ftype(g);
    TtVal all[TT_SI_SNR_OUTPUTS] = {0};
    out[0] = out[1] = TT_NONE;
    if (!tt_graph_ok(g)) return;
    TtVal ins[TT_SI_SNR_INPUTS] = {tt_cast(g, estimates, t), tt_cast(g, references, t), lengths, tt_cast(g, scale, t)};
    tt_emit(g, &tt_op_si_snr, a, ins, TT_SI_SNR_INPUTS, all);
    out[0] = all[TT_SI_SNR_LOSS], out[1] = all[TT_SI_SNR_SAMPLES];
}
