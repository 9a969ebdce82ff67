/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/loss.c - cross entropy and the losses of single elements, with their gradients.
 *
 * Sums run in 16 lanes of float32 over rows or chunks of fixed size, then in double, in order. The cross entropy of a
 * row is (log sum exp - maximum) - (x - maximum), so that nothing large cancels. */
#include "kernels/ops/loss.h"

#include <math.h>

#include "kernels/cpu/lanes.h"
#include "tensor/vmath.h"

/* ---- cross entropy: rows of C logits */

typedef struct CrossEntropy {
    const float *logits, *targets, *weight; /* targets: class probabilities or NULL; weight may be NULL */
    const int64_t *labels;
    int64_t rows, classes;
    float smoothing, per_class; /* per_class = smoothing / classes */
    double weight_sum;          /* of all classes */
    int64_t ignore;
} CrossEntropy;

static TtStatus open(CrossEntropy *e, const TtKernelArgs *k, const TtTensor *in)
{
    const TtCrossEntropyAttrs *a = k->attrs;
    for (int i = 0; i < 4; i++)
        if (in[i].data && in[i].dtype != TT_F32 && in[i].dtype != TT_I64)
            return TT_FAIL(TT_EINTERNAL, "%s has no CPU kernel for %s", k->op->name, tt_dtype_name(in[i].dtype));
    *e = (CrossEntropy){.logits = in[0].data, .weight = in[2].data, .ignore = a->ignore_index};
    e->classes = in[0].shape.dims[in[0].shape.rank - 1];
    e->rows = e->classes ? tt_tensor_count(&in[0]) / e->classes : 0;
    if (in[1].dtype == TT_I64)
        e->labels = in[1].data;
    else
        e->targets = in[1].data;
    e->smoothing = (float)a->label_smoothing;
    e->per_class = (float)(a->label_smoothing / (double)TT_MAX(e->classes, 1));
    e->weight_sum = e->weight ? tt_lanes_sum(e->weight, e->classes) : (double)e->classes;
    for (int64_t r = 0; e->labels && r < e->rows; r++) {
        int64_t label = e->labels[r];
        if (label != e->ignore && (label < 0 || label >= e->classes))
            return TT_FAIL(TT_EDATA, "cross_entropy: label %lld is not one of the %lld classes (0 to %lld)",
                           (long long)label, (long long)e->classes, (long long)e->classes - 1);
    }
    return TT_OK;
}

/* sum_c weight_c t_c, or with X sum_c weight_c t_c (x_c - top), over the class probabilities t (NULL: ones). */
static double weighted(const CrossEntropy *e, const float *t, const float *x, float top)
{
    const float *w = e->weight, *only = t ? t : w;
    int64_t n = e->classes;
    if (!t || !w) {
        if (x) return tt_lanes_dot(x, top, only, n);
        return only ? tt_lanes_sum(only, n) : (double)n;
    }
    float lane[TT_SUM_LANES] = {0};
    for (int64_t c = 0; c < n; c++) lane[c % TT_SUM_LANES] += w[c] * t[c] * (x ? x[c] - top : 1.0f);
    return tt_lanes_total(lane);
}

static double row_loss(const CrossEntropy *e, int64_t r)
{
    const float *x = e->logits + r * e->classes, *t = e->targets ? e->targets + r * e->classes : NULL;
    if (e->labels && e->labels[r] == e->ignore) return 0;
    float top = tt_lanes_max(x, e->classes);
    double log_sum = log(tt_lanes_sum_exp(x, top, NULL, e->classes)), loss = 0; /* relative to the maximum */
    double sharp = 1.0 - (double)e->smoothing;
    if (e->labels) {
        int64_t y = e->labels[r];
        loss = sharp * (e->weight ? e->weight[y] : 1.0f) * (log_sum - ((double)x[y] - (double)top));
    } else {
        loss = sharp * (weighted(e, t, NULL, 0) * log_sum - weighted(e, t, x, top));
    }
    if (e->smoothing > 0) loss += (double)e->per_class * (e->weight_sum * log_sum - weighted(e, NULL, x, top));
    return loss;
}

TtStatus TT_CPU(cross_entropy)(TtKernelArgs *k)
{
    CrossEntropy e;
    TT_TRY(open(&e, k, k->in));
    double *loss = k->scratch, total = 0;
#pragma omp parallel for schedule(static) if (e.rows * e.classes > TT_GRAIN / 4)
    for (int64_t r = 0; r < e.rows; r++) loss[r] = row_loss(&e, r);
    int64_t samples = k->out[1].shape.dims[0], positions = samples ? e.rows / samples : 0;
    for (int64_t s = 0; s < samples; s++) {
        double sum = 0;
        for (int64_t p = 0; p < positions; p++) sum += loss[s * positions + p];
        ((float *)k->out[1].data)[s] = (float)sum;
        total += sum;
    }
    *(float *)k->out[0].data = (float)(total * (double)*(const float *)k->in[3].data);
    return TT_OK;
}

/* dx_c = g (W p_c - weight_c t'_c), W = sum_c weight_c t'_c, with the smoothed target t'. */
static void row_grad(const CrossEntropy *e, int64_t r, float g, float *dx)
{
    const float *x = e->logits + r * e->classes, *t = e->targets ? e->targets + r * e->classes : NULL, *w = e->weight;
    int64_t n = e->classes;
    if (e->labels && e->labels[r] == e->ignore) {
        memset(dx, 0, sizeof *dx * (size_t)n);
        return;
    }
    double sharp = 1.0 - (double)e->smoothing;
    double own = e->labels ? (w ? (double)w[e->labels[r]] : 1.0) : weighted(e, t, NULL, 0);
    double all = sharp * own + (double)e->per_class * e->weight_sum;
    float scale = (float)((double)g * all / tt_lanes_sum_exp(x, tt_lanes_max(x, n), dx, n));
    float even = g * e->per_class, to_target = g * (float)sharp;
    for (int64_t c = 0; c < n; c++) dx[c] *= scale;
    if (e->smoothing > 0)
        for (int64_t c = 0; c < n; c++) dx[c] -= even * (w ? w[c] : 1.0f);
    if (e->labels)
        dx[e->labels[r]] -= to_target * (float)own;
    else
        for (int64_t c = 0; c < n; c++) dx[c] -= to_target * (w ? w[c] : 1.0f) * t[c];
}

TtStatus TT_CPU(cross_entropy_bwd)(TtKernelArgs *k)
{
    CrossEntropy e;
    TT_TRY(open(&e, k, k->in + 1));
    float g = *(const float *)k->in[0].data * *(const float *)k->in[4].data, *dx = k->out[0].data;
#pragma omp parallel for schedule(static) if (e.rows * e.classes > TT_GRAIN / 4)
    for (int64_t r = 0; r < e.rows; r++) row_grad(&e, r, g, dx + r * e.classes);
    return TT_OK;
}

/* ---- losses of single elements */

typedef struct Elements {
    const float *x, *t, *w;
    int64_t n, channels, samples, size; /* channels: length of w, 1 without */
    TtElementLoss kind;
    float beta;
} Elements;

static TtStatus open_elements(Elements *e, const TtKernelArgs *k, const TtTensor *in)
{
    const TtElementLossAttrs *a = k->attrs;
    if (in[0].dtype != TT_F32)
        return TT_FAIL(TT_EINTERNAL, "%s has no CPU kernel for %s", k->op->name, tt_dtype_name(in[0].dtype));
    *e = (Elements){.x = in[0].data, .t = in[1].data, .w = in[2].data, .kind = a->kind, .beta = (float)a->beta};
    e->n = tt_tensor_count(&in[0]);
    e->channels = e->w ? tt_tensor_count(&in[2]) : 1;
    e->samples = in[0].shape.rank ? in[0].shape.dims[0] : 1;
    e->size = e->samples ? e->n / e->samples : 0;
    return TT_OK;
}

static inline float sign_of(float d)
{
    return (float)(d > 0.0f) - (float)(d < 0.0f);
}

static inline float smooth_l1(float d, float beta)
{
    float size = tt_vabs(d);
    return tt_select(size < beta, 0.5f * d * d / beta, size - 0.5f * beta);
}

/* With w the weight of positives: w t (-log s(x)) + (1 - t) (-log(1 - s(x))). */
static inline float bce(float x, float t, float w)
{
    float l = tt_vlog1p(tt_vexp(-tt_vabs(x)));
    return w * t * (l + tt_select(x < 0.0f, -x, 0.0f)) + (1.0f - t) * (l + tt_select(x < 0.0f, 0.0f, x));
}

static inline float bce_slope(float x, float t, float w)
{
    float s = tt_vsigmoid(x);
    return w * t * (s - 1.0f) + (1.0f - t) * s;
}

/* For each i of n (at most a chunk): out[i] = expr of x, t, w. */
#define EACH(expr)                                                                     \
    do {                                                                               \
        if (e->channels == 1) {                                                        \
            const float w = e->w ? e->w[0] : 1.0f;                                     \
            (void)w;                                                                   \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++)                        \
            {                                                                          \
                const float x = xs[i], t = ts[i];                                      \
                out[i] = (expr);                                                       \
            }                                                                          \
        } else {                                                                       \
            for (int64_t i = 0; i < n; i++) {                                          \
                const float x = xs[i], t = ts[i], w = e->w[(first + i) % e->channels]; \
                (void)w;                                                               \
                out[i] = (expr);                                                       \
            }                                                                          \
        }                                                                              \
    } while (0)

static void values(const Elements *e, int64_t first, int64_t n, float *restrict out)
{
    const float *xs = e->x + first, *ts = e->t + first;
    switch (e->kind) {
    case TT_LOSS_MSE: EACH((x - t) * (x - t)); break;
    case TT_LOSS_L1: EACH(tt_vabs(x - t)); break;
    case TT_LOSS_SMOOTH_L1: EACH(smooth_l1(x - t, e->beta)); break;
    default: EACH(bce(x, t, w)); break;
    }
}

static void slopes(const Elements *e, int64_t first, int64_t n, float scale, float *restrict out)
{
    const float *xs = e->x + first, *ts = e->t + first;
    switch (e->kind) {
    case TT_LOSS_MSE: EACH(scale * 2.0f * (x - t)); break;
    case TT_LOSS_L1: EACH(scale * sign_of(x - t)); break;
    case TT_LOSS_SMOOTH_L1: EACH(scale * tt_vclamp((x - t) / e->beta, -1.0f, 1.0f)); break;
    default: EACH(scale * bce_slope(x, t, w)); break;
    }
}

TtStatus TT_CPU(element_loss)(TtKernelArgs *k)
{
    Elements e;
    TT_TRY(open_elements(&e, k, k->in));
    int64_t chunks = (e.size + TT_LOSS_CHUNK - 1) / TT_LOSS_CHUNK;
    double *part = k->scratch, total = 0;
#pragma omp parallel for schedule(static) if (e.n > TT_GRAIN / 4)
    for (int64_t c = 0; c < e.samples * chunks; c++) {
        float buf[TT_LOSS_CHUNK];
        int64_t within = c % chunks * TT_LOSS_CHUNK, n = TT_MIN((int64_t)TT_LOSS_CHUNK, e.size - within);
        values(&e, c / chunks * e.size + within, n, buf);
        part[c] = tt_lanes_sum(buf, n);
    }
    for (int64_t s = 0; s < e.samples; s++) {
        double sum = 0;
        for (int64_t c = 0; c < chunks; c++) sum += part[s * chunks + c];
        sum /= (double)e.size;
        ((float *)k->out[1].data)[s] = (float)sum;
        total += sum;
    }
    *(float *)k->out[0].data = (float)(total * (double)*(const float *)k->in[3].data);
    return TT_OK;
}

TtStatus TT_CPU(element_loss_bwd)(TtKernelArgs *k)
{
    Elements e;
    TT_TRY(open_elements(&e, k, k->in + 1));
    double g = (double)*(const float *)k->in[0].data * (double)*(const float *)k->in[4].data;
    float scale = (float)(g / (double)TT_MAX(e.size, 1)), *dx = k->out[0].data;
#pragma omp parallel for schedule(static) if (e.n > TT_GRAIN / 4)
    for (int64_t first = 0; first < e.n; first += TT_LOSS_CHUNK)
        slopes(&e, first, TT_MIN((int64_t)TT_LOSS_CHUNK, e.n - first), scale, dx + first);
    return TT_OK;
}
