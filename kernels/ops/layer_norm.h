/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/layer_norm.h - layer normalisation (Ba et al. 2016; torch.nn.functional.layer_norm), and the cumulative
 * one of sequences (Luo and Mesgarani 2019). */
#ifndef TT_KERNELS_OPS_LAYER_NORM_H
#define TT_KERNELS_OPS_LAYER_NORM_H

#include "tensor/op.h"

typedef struct TtLayerNormAttrs {
    int axes; /* the last so many are normalised */
    double eps;
    bool affine; /* gradient: compute the weight's and the bias's */
} TtLayerNormAttrs;

/* y = (x - mean) / sqrt(var + eps) * weight + bias, with the mean and the (biased) variance over the last AXES axes.
 * x float32 or bfloat16; WEIGHT and BIAS float32 of the shape of those axes, or TT_NONE. */
TtVal tt_layer_norm_op(TtGraph *g, TtVal x, TtVal weight, TtVal bias, int axes, double eps);

/* Cumulative layer norm of a sequence x (N,T,C): frame t is normalised as layer_norm does, with the mean and the (biased)
 * variance of all channels of the frames 0..t, so that it does not depend on what comes after (cLN: Conv-TasNet,
 * equations 12 to 14). x float32 or bfloat16; WEIGHT and BIAS (C) float32, or TT_NONE. */
TtVal tt_cumulative_norm_op(TtGraph *g, TtVal x, TtVal weight, TtVal bias, double eps);

/* How the gradient is split: chunks of rows of N elements, by N alone, so that sums over rows do not depend on the
 * number of threads. Long rows make small chunks: there are fewer of them. */
static inline int64_t tt_layer_norm_rows(int64_t n)
{
    return n > 2048 ? 8 : 64;
}

/* The ops' inputs and outputs by number. */
enum { TT_LN_X, TT_LN_WEIGHT, TT_LN_BIAS, TT_LN_INPUTS };
enum { TT_LN_Y, TT_LN_SAVE_MEAN, TT_LN_SAVE_INVSTD };
enum { TT_LN_BWD_DY, TT_LN_BWD_X, TT_LN_BWD_WEIGHT, TT_LN_BWD_MEAN, TT_LN_BWD_INVSTD, TT_LN_BWD_INPUTS };

#endif
