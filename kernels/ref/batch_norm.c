/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/batch_norm.c - channel by channel, in double. */
#include "kernels/ops/batch_norm.h"

#include <math.h>

#include "kernels/ref/ref.h"

TtStatus tt_ref_batch_norm(TtKernelArgs *a)
{
    const TtBatchNormAttrs *attrs = a->attrs;
    const TtTensor *x = &a->in[TT_BN_X], *y = &a->out[TT_BN_Y];
    int64_t channels = a->in[TT_BN_WEIGHT].shape.dims[0], rows = channels ? tt_tensor_count(x) / channels : 0;
    bool residual = a->nin > TT_BN_RESIDUAL && a->in[TT_BN_RESIDUAL].data;
    double momentum = attrs->momentum;
    if (attrs->training) {
        int64_t n = tt_ref_int_at(&a->in[TT_BN_TRACKED], 0) + 1;
        tt_ref_int_put(&a->in[TT_BN_TRACKED], 0, n);
        if (momentum < 0) momentum = 1.0 / (double)n;
    }
    for (int64_t c = 0; c < channels; c++) {
        double mean = tt_ref_at(&a->in[TT_BN_MEAN], c), var = tt_ref_at(&a->in[TT_BN_VAR], c);
        if (attrs->training && rows > 0) {
            double sum = 0, squares = 0, running_mean = mean, running_var = var;
            for (int64_t r = 0; r < rows; r++) sum += tt_ref_at(x, r * channels + c);
            mean = sum / (double)rows;
            for (int64_t r = 0; r < rows; r++) squares += pow(tt_ref_at(x, r * channels + c) - mean, 2);
            var = squares / (double)rows;
            tt_ref_put(&a->in[TT_BN_MEAN], c, (1 - momentum) * running_mean + momentum * mean);
            tt_ref_put(&a->in[TT_BN_VAR], c, (1 - momentum) * running_var + momentum * squares / (double)(rows - 1));
        }
        double invstd = 1 / sqrt(var + attrs->eps);
        tt_ref_put(&a->out[TT_BN_SAVE_MEAN], c, mean);
        tt_ref_put(&a->out[TT_BN_SAVE_INVSTD], c, invstd);
        double w = tt_ref_at(&a->in[TT_BN_WEIGHT], c), b = tt_ref_at(&a->in[TT_BN_BIAS], c);
        for (int64_t r = 0; r < rows; r++) {
            double v = (tt_ref_at(x, r * channels + c) - mean) * invstd * w + b;
            if (residual) v += tt_ref_at(&a->in[TT_BN_RESIDUAL], r * channels + c);
            tt_ref_put(y, r * channels + c, attrs->relu && v < 0 ? 0 : v);
        }
    }
    return TT_OK;
}

TtStatus tt_ref_batch_norm_bwd(TtKernelArgs *a)
{
    const TtBatchNormAttrs *attrs = a->attrs;
    const TtTensor *dy = &a->in[0], *x = &a->in[1];
    int64_t channels = a->in[2].shape.dims[0], rows = channels ? tt_tensor_count(x) / channels : 0;
    for (int64_t c = 0; c < channels; c++) {
        double w = tt_ref_at(&a->in[2], c), mean = tt_ref_at(&a->in[3], c), invstd = tt_ref_at(&a->in[4], c);
        double sum = 0, dot = 0;
        for (int64_t r = 0; r < rows; r++) {
            int64_t at = r * channels + c;
            double d = attrs->relu && !(tt_ref_at(&a->in[5], at) > 0) ? 0 : tt_ref_at(dy, at);
            sum += d;
            dot += d * (tt_ref_at(x, at) - mean) * invstd;
            if (attrs->relu) tt_ref_put(&a->out[3], at, d);
        }
        tt_ref_put(&a->out[1], c, dot);
        tt_ref_put(&a->out[2], c, sum);
        for (int64_t r = 0; r < rows; r++) {
            int64_t at = r * channels + c;
            double d = attrs->relu && !(tt_ref_at(&a->in[5], at) > 0) ? 0 : tt_ref_at(dy, at);
            double normal = (tt_ref_at(x, at) - mean) * invstd;
            if (attrs->training) d -= (sum + normal * dot) / (double)rows;
            tt_ref_put(&a->out[0], at, d * invstd * w);
        }
    }
    return TT_OK;
}
