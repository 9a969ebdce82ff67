/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/batch_norm.h - batch normalisation (Ioffe and Szegedy 2015; torch.nn.functional.batch_norm), with the
 * addition and the activation that usually follow it in the same passes over memory. */
#ifndef TT_KERNELS_OPS_BATCH_NORM_H
#define TT_KERNELS_OPS_BATCH_NORM_H

#include "tensor/op.h"

typedef struct TtBatchNormAttrs {
    double eps;
    double momentum; /* negative: cumulative average, as torch's momentum=None */
    bool training;   /* batch statistics, and the running ones are updated */
    bool relu;       /* y = relu(normalised + residual) */
} TtBatchNormAttrs;

typedef struct TtBatchNormIn {
    TtVal x;                  /* (...,C) float32 or bfloat16 */
    TtVal weight, bias;       /* (C) float32 */
    TtVal mean, var, tracked; /* running statistics (C) float32, counter () int64; buffers */
    TtVal residual;           /* of x's shape, or TT_NONE */
} TtBatchNormIn;

/* y = act((x - mean) / sqrt(var + eps) * weight + bias + residual), over all axes but the last. In training mean and
 * (biased) var are the batch's; running_mean and running_var (unbiased) move towards them by momentum. */
TtVal tt_batch_norm_op(TtGraph *g, const TtBatchNormIn *in, const TtBatchNormAttrs *a);

/* Rows of one chunk of a statistic: fixed, so that sums do not depend on the number of threads. */
enum { TT_BATCH_NORM_ROWS = 128 };
/* The op's inputs and outputs by number. */
enum { TT_BN_X, TT_BN_WEIGHT, TT_BN_BIAS, TT_BN_MEAN, TT_BN_VAR, TT_BN_TRACKED, TT_BN_RESIDUAL, TT_BN_INPUTS };
enum { TT_BN_Y, TT_BN_SAVE_MEAN, TT_BN_SAVE_INVSTD };

#endif
