/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/loss.c - oracle of the losses, straight from their definitions. */
#include "kernels/ops/loss.h"

#include <math.h>

#include "kernels/ref/ref.h"

/* A position of the logits: its row of C, and the weight of each class in its loss, -sum_c weight_c log p_c. */
typedef struct Row {
    const TtKernelArgs *k;
    const TtTensor *logits, *target, *weight;
    int64_t at, classes;
} Row;

static double logit(const Row *r, int64_t c)
{
    return tt_ref_at(r->logits, tt_ref_linear(r->logits, r->at * r->classes + c));
}

static double log_sum(const Row *r)
{
    double top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < r->classes; c++) top = fmax(top, logit(r, c));
    for (int64_t c = 0; c < r->classes; c++) sum += exp(logit(r, c) - top);
    // cppcheck-suppress invalidFunctionArg ; there is at least one class, so that SUM is at least 1
    return top + log(sum);
}

static double class_weight(const Row *r, int64_t c)
{
    const TtCrossEntropyAttrs *a = r->k->attrs;
    double w = r->weight->data ? tt_ref_at(r->weight, tt_ref_linear(r->weight, c)) : 1, share;
    if (r->target->dtype == TT_I64) {
        int64_t label = tt_ref_int_at(r->target, tt_ref_linear(r->target, r->at));
        if (label == a->ignore_index) return 0;
        share = label == c;
    } else {
        share = tt_ref_at(r->target, tt_ref_linear(r->target, r->at * r->classes + c));
    }
    return w * (share * (1 - a->label_smoothing) + a->label_smoothing / (double)r->classes);
}

static TtStatus check_labels(const Row *r, int64_t n)
{
    const TtCrossEntropyAttrs *a = r->k->attrs;
    for (int64_t i = 0; r->target->dtype == TT_I64 && i < n; i++) {
        int64_t label = tt_ref_int_at(r->target, tt_ref_linear(r->target, i));
        if (label != a->ignore_index && (label < 0 || label >= r->classes))
            return TT_FAIL(TT_EDATA, "cross_entropy: label %lld of %lld classes", (long long)label,
                           (long long)r->classes);
    }
    return TT_OK;
}

TtStatus tt_ref_cross_entropy(TtKernelArgs *k)
{
    Row r = {k, &k->in[0], &k->in[1], &k->in[2], 0, k->in[0].shape.dims[k->in[0].shape.rank - 1]};
    int64_t samples = k->out[1].shape.dims[0], n = r.classes ? tt_tensor_count(r.logits) / r.classes : 0;
    double total = 0;
    TT_TRY(check_labels(&r, n));
    for (int64_t s = 0; s < samples; s++) {
        double loss = 0;
        for (int64_t p = 0; p < n / samples; p++, r.at++) {
            double l = log_sum(&r);
            for (int64_t c = 0; c < r.classes; c++) {
                double w = class_weight(&r, c);
                if (w != 0) loss += w * (l - logit(&r, c));
            }
        }
        tt_ref_put(&k->out[1], s, loss);
        total += loss;
    }
    tt_ref_put(&k->out[0], 0, total * tt_ref_at(&k->in[3], 0));
    return TT_OK;
}

TtStatus tt_ref_cross_entropy_bwd(TtKernelArgs *k)
{
    Row r = {k, &k->in[1], &k->in[2], &k->in[3], 0, k->in[1].shape.dims[k->in[1].shape.rank - 1]};
    int64_t n = r.classes ? tt_tensor_count(r.logits) / r.classes : 0;
    double g = tt_ref_at(&k->in[0], 0) * tt_ref_at(&k->in[4], 0);
    for (; r.at < n; r.at++) {
        double l = log_sum(&r), all = 0;
        for (int64_t c = 0; c < r.classes; c++) all += class_weight(&r, c);
        for (int64_t c = 0; c < r.classes; c++)
            tt_ref_put(&k->out[0], r.at * r.classes + c, g * (all * exp(logit(&r, c) - l) - class_weight(&r, c)));
    }
    return TT_OK;
}

/* Loss of one element and its slope by the prediction. */
static double element(const TtElementLossAttrs *a, double x, double t, double pos_weight, double *slope)
{
    double d = x - t, size = fabs(d), sign = (d > 0) - (d < 0);
    switch (a->kind) {
    case TT_LOSS_MSE: *slope = 2 * d; return d * d;
    case TT_LOSS_L1: *slope = sign; return size;
    case TT_LOSS_SMOOTH_L1:
        *slope = size < a->beta ? d / a->beta : sign;
        return size < a->beta ? 0.5 * d * d / a->beta : size - 0.5 * a->beta;
    case TT_LOSS_BCE: {
        double positive = fmax(-x, 0) + log1p(exp(-fabs(x))), negative = positive + x; /* -log s(x), -log(1 - s(x)) */
        double s = 1 / (1 + exp(-x));
        *slope = pos_weight * t * (s - 1) + (1 - t) * s;
        return pos_weight * t * positive + (1 - t) * negative;
    }
    case TT_LOSS_COUNT: break;
    }
    return NAN;
}

static double pos_weight_at(const TtTensor *w, int64_t i)
{
    return w->data ? tt_ref_at(w, tt_ref_linear(w, i % tt_tensor_count(w))) : 1;
}

TtStatus tt_ref_element_loss(TtKernelArgs *k)
{
    int64_t samples = k->out[1].shape.dims[0], size = samples ? tt_tensor_count(&k->in[0]) / samples : 0;
    double total = 0, slope;
    for (int64_t s = 0, i = 0; s < samples; s++) {
        double loss = 0;
        for (int64_t j = 0; j < size; j++, i++)
            loss += element(k->attrs, tt_ref_at(&k->in[0], tt_ref_linear(&k->in[0], i)),
                            tt_ref_at(&k->in[1], tt_ref_linear(&k->in[1], i)), pos_weight_at(&k->in[2], i), &slope);
        loss /= (double)size;
        tt_ref_put(&k->out[1], s, loss);
        total += loss;
    }
    tt_ref_put(&k->out[0], 0, total * tt_ref_at(&k->in[3], 0));
    return TT_OK;
}

TtStatus tt_ref_element_loss_bwd(TtKernelArgs *k)
{
    const TtTensor *x = &k->in[1], *t = &k->in[2];
    int64_t samples = x->shape.rank ? x->shape.dims[0] : 1, n = tt_tensor_count(x);
    double g = tt_ref_at(&k->in[0], 0) * tt_ref_at(&k->in[4], 0), slope;
    for (int64_t i = 0; i < n; i++) {
        element(k->attrs, tt_ref_at(x, tt_ref_linear(x, i)), tt_ref_at(t, tt_ref_linear(t, i)),
                pos_weight_at(&k->in[3], i), &slope);
        tt_ref_put(&k->out[0], i, g * slope * (double)samples / (double)n);
    }
    return TT_OK;
}
