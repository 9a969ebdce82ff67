/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/layer_norm.c - row by row, in double. */
#include "kernels/ops/layer_norm.h"

#include <math.h>

#include "kernels/ref/ref.h"

/* Element I of a weight or bias in row-major order; OTHERWISE when there is none. */
static double optional_at(const TtTensor *t, int64_t i, double otherwise)
{
    return t->data ? tt_ref_at(t, tt_ref_linear(t, i)) : otherwise;
}

TtStatus tt_ref_layer_norm(TtKernelArgs *a)
{
    const TtLayerNormAttrs *attrs = a->attrs;
    const TtTensor *x = &a->in[TT_LN_X];
    int64_t rows = tt_tensor_count(&a->out[TT_LN_SAVE_MEAN]), n = 1;
    for (int k = x->shape.rank - attrs->axes; k < x->shape.rank; k++) n *= x->shape.dims[k];
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0, var = 0;
        for (int64_t i = 0; i < n; i++) mean += tt_ref_at(x, r * n + i) / (double)n;
        for (int64_t i = 0; i < n; i++) var += pow(tt_ref_at(x, r * n + i) - mean, 2) / (double)n;
        double std = sqrt(var + attrs->eps);
        for (int64_t i = 0; i < n; i++) {
            double y = (tt_ref_at(x, r * n + i) - mean) / std * optional_at(&a->in[TT_LN_WEIGHT], i, 1);
            tt_ref_put(&a->out[TT_LN_Y], r * n + i, y + optional_at(&a->in[TT_LN_BIAS], i, 0));
        }
        tt_ref_put(&a->out[TT_LN_SAVE_MEAN], r, mean);
        tt_ref_put(&a->out[TT_LN_SAVE_INVSTD], r, 1 / std);
    }
    return TT_OK;
}

/* dx = J^T (dy weight) with J = (I - 1/n - normal normal^T / n) / std. */
TtStatus tt_ref_layer_norm_bwd(TtKernelArgs *a)
{
    const TtLayerNormAttrs *attrs = a->attrs;
    const TtTensor *dy = &a->in[TT_LN_BWD_DY], *x = &a->in[TT_LN_BWD_X], *weight = &a->in[TT_LN_BWD_WEIGHT];
    int64_t rows = tt_tensor_count(&a->in[TT_LN_BWD_MEAN]), n = rows ? tt_tensor_count(x) / rows : 0;
    for (int64_t r = 0; r < rows; r++) {
        double mean = tt_ref_at(&a->in[TT_LN_BWD_MEAN], r), invstd = tt_ref_at(&a->in[TT_LN_BWD_INVSTD], r);
        double sum = 0, dot = 0;
        for (int64_t i = 0; i < n; i++) {
            double d = tt_ref_at(dy, r * n + i) * optional_at(weight, i, 1);
            sum += d;
            dot += d * (tt_ref_at(x, r * n + i) - mean) * invstd;
        }
        for (int64_t i = 0; i < n; i++) {
            double d = tt_ref_at(dy, r * n + i) * optional_at(weight, i, 1);
            double normal = (tt_ref_at(x, r * n + i) - mean) * invstd;
            tt_ref_put(&a->out[0], r * n + i, (d - sum / (double)n - normal * dot / (double)n) * invstd);
        }
    }
    for (int64_t i = 0; attrs->affine && i < tt_tensor_count(&a->out[1]); i++) {
        double dweight = 0, dbias = 0;
        for (int64_t r = 0; r < rows; r++) {
            double d = tt_ref_at(dy, r * n + i), mean = tt_ref_at(&a->in[TT_LN_BWD_MEAN], r);
            dweight += d * (tt_ref_at(x, r * n + i) - mean) * tt_ref_at(&a->in[TT_LN_BWD_INVSTD], r);
            dbias += d;
        }
        tt_ref_put(&a->out[1], i, dweight);
        tt_ref_put(&a->out[2], i, dbias);
    }
    return TT_OK;
}

/* Channels of all frames up to T; x is (N,T,C) without gaps. */
static void up_to(const TtTensor *x, int64_t sample, int64_t t, double *mean, double *var)
{
    int64_t c = x->shape.dims[2], first = sample * x->shape.dims[1] * c, n = (t + 1) * c;
    *mean = *var = 0;
    for (int64_t i = 0; i < n; i++) *mean += tt_ref_at(x, first + i) / (double)n;
    for (int64_t i = 0; i < n; i++) *var += pow(tt_ref_at(x, first + i) - *mean, 2) / (double)n;
}

TtStatus tt_ref_cumulative_norm(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[TT_LN_X];
    int64_t c = x->shape.dims[2], r = 0;
    for (int64_t s = 0; s < x->shape.dims[0]; s++)
        for (int64_t t = 0; t < x->shape.dims[1]; t++, r++) {
            double mean, var;
            up_to(x, s, t, &mean, &var);
            double std = sqrt(var + ((const TtLayerNormAttrs *)a->attrs)->eps);
            for (int64_t i = 0; i < c; i++) {
                double y = (tt_ref_at(x, r * c + i) - mean) / std * optional_at(&a->in[TT_LN_WEIGHT], i, 1);
                tt_ref_put(&a->out[TT_LN_Y], r * c + i, y + optional_at(&a->in[TT_LN_BIAS], i, 0));
            }
            tt_ref_put(&a->out[TT_LN_SAVE_MEAN], r, mean);
            tt_ref_put(&a->out[TT_LN_SAVE_INVSTD], r, 1 / std);
        }
    return TT_OK;
}

/* Of frame T's mean and variance, to which every element of the frames up to it contributes 1/n of itself, and of its
 * squared distance from the mean. */
static void statistics_gradient(const TtKernelArgs *a, int64_t r, int64_t c, double *dmean, double *dvar)
{
    double mean = tt_ref_at(&a->in[TT_LN_BWD_MEAN], r), invstd = tt_ref_at(&a->in[TT_LN_BWD_INVSTD], r);
    *dmean = *dvar = 0;
    for (int64_t i = 0; i < c; i++) {
        double d = tt_ref_at(&a->in[TT_LN_BWD_DY], r * c + i) * optional_at(&a->in[TT_LN_BWD_WEIGHT], i, 1);
        *dmean -= d * invstd;
        *dvar -= d * (tt_ref_at(&a->in[TT_LN_BWD_X], r * c + i) - mean) * pow(invstd, 3) / 2;
    }
}

TtStatus tt_ref_cumulative_norm_bwd(TtKernelArgs *a)
{
    const TtTensor *dy = &a->in[TT_LN_BWD_DY], *x = &a->in[TT_LN_BWD_X], *weight = &a->in[TT_LN_BWD_WEIGHT];
    const TtTensor *means = &a->in[TT_LN_BWD_MEAN], *invstds = &a->in[TT_LN_BWD_INVSTD];
    int64_t frames = x->shape.dims[1], c = x->shape.dims[2], rows = x->shape.dims[0] * frames;
    for (int64_t i = 0; i < rows * c; i++) {
        int64_t r = i / c, end = (r / frames + 1) * frames;
        double d = tt_ref_at(dy, i) * optional_at(weight, i % c, 1) * tt_ref_at(invstds, r);
        for (int64_t later = r; later < end; later++) {
            double dmean, dvar, n = (double)((later % frames + 1) * c);
            statistics_gradient(a, later, c, &dmean, &dvar);
            d += dmean / n + dvar * 2 * (tt_ref_at(x, i) - tt_ref_at(means, later)) / n;
        }
        tt_ref_put(&a->out[0], i, d);
    }
    for (int64_t i = 0; ((const TtLayerNormAttrs *)a->attrs)->affine && i < c; i++) {
        double dweight = 0, dbias = 0;
        for (int64_t r = 0; r < rows; r++) {
            double d = tt_ref_at(dy, r * c + i);
            dweight += d * (tt_ref_at(x, r * c + i) - tt_ref_at(means, r)) * tt_ref_at(invstds, r);
            dbias += d;
        }
        tt_ref_put(&a->out[1], i, dweight);
        tt_ref_put(&a->out[2], i, dbias);
    }
    return TT_OK;
}
