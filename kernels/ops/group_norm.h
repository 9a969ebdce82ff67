/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/group_norm.h - group normalisation (Wu and He 2018; torch.nn.functional.group_norm) of channels-last
 * data. One group is the global layer norm of Luo and Mesgarani 2019; a group for each channel is instance norm. */
#ifndef TT_KERNELS_OPS_GROUP_NORM_H
#define TT_KERNELS_OPS_GROUP_NORM_H

#include "tensor/op.h"

typedef struct TtGroupNormAttrs {
    int64_t groups;
    double eps;
    bool affine; /* gradient: compute the weight's and the bias's */
} TtGroupNormAttrs;

/* x (N,...,C) float32 or bfloat16: y = (x - mean) / sqrt(var + eps) * weight + bias, with the mean and the (biased)
 * variance of each sample's C/groups neighbouring channels. WEIGHT and BIAS (C) float32, or TT_NONE. */
TtVal tt_group_norm_op(TtGraph *g, TtVal x, TtVal weight, TtVal bias, int64_t groups, double eps);
/* torch.nn.functional.instance_norm without running statistics: every channel of every sample for itself. */
TtVal tt_instance_norm_op(TtGraph *g, TtVal x, TtVal weight, TtVal bias, double eps);

/* x as (samples, rows, channels); CHUNKS of rows have fixed size, so that sums do not depend on the number of
 * threads. */
enum { TT_GROUP_NORM_ROWS = 128 };
typedef struct TtGroupNormDims {
    int64_t n, rows, c, chunks;
} TtGroupNormDims;
static inline TtGroupNormDims tt_group_norm_dims(const TtShape *x)
{
    TtGroupNormDims d = {.n = x->dims[0], .rows = 1, .c = x->dims[x->rank - 1]};
    for (int k = 1; k < x->rank - 1; k++) d.rows *= x->dims[k];
    d.chunks = (d.rows + TT_GROUP_NORM_ROWS - 1) / TT_GROUP_NORM_ROWS;
    return d;
}

/* The ops' inputs and outputs by number. */
enum { TT_GN_X, TT_GN_WEIGHT, TT_GN_BIAS, TT_GN_INPUTS };
enum { TT_GN_Y, TT_GN_SAVE_MEAN, TT_GN_SAVE_INVSTD };
enum { TT_GN_BWD_DY, TT_GN_BWD_X, TT_GN_BWD_WEIGHT, TT_GN_BWD_MEAN, TT_GN_BWD_INVSTD, TT_GN_BWD_INPUTS };

#endif
