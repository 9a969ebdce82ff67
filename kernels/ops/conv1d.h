/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/conv1d.h - convolution along time on channels-last sequences (torch.nn.functional.conv1d and
 * conv_transpose1d). */
#ifndef TT_KERNELS_OPS_CONV1D_H
#define TT_KERNELS_OPS_CONV1D_H

#include "tensor/op.h"

/* Padding is the same at both ends. */
typedef struct TtConv1dAttrs {
    int64_t stride, padding, dilation, groups;
} TtConv1dAttrs;

/* x (N,T,I), w (O,I/groups,K) in PyTorch's layout, b (O) or TT_NONE: y (N,OT,O) of x's type, with
 * OT = (T + 2*padding - dilation*(K-1) - 1) / stride + 1. x, w and b are all float32 or all bfloat16; bfloat16 products
 * are accumulated in float32, and the gradients of w and b are float32. */
TtVal tt_conv1d_op(TtGraph *g, TtVal x, TtVal w, TtVal b, const TtConv1dAttrs *a);

typedef struct TtConvTranspose1dAttrs {
    TtConv1dAttrs conv;     /* the convolution whose gradient this is */
    int64_t output_padding; /* 0 .. stride - 1 */
} TtConvTranspose1dAttrs;

/* x (N,T,I), w (I,O/groups,K), b (O) or TT_NONE: y (N,OT,O), the gradient by its input of a convolution that makes T
 * frames of OT = (T-1)*stride - 2*padding + dilation*(K-1) + output_padding + 1. Types as conv1d. */
TtVal tt_conv_transpose1d_op(TtGraph *g, TtVal x, TtVal w, TtVal b, const TtConvTranspose1dAttrs *a);

/* Convolution of every channel by itself (groups = I = O; tt_conv1d_op chooses it): the ops depthwise_conv1d, _dx, _dw. */
typedef struct TtConv1dGradAttrs {
    TtConv1dAttrs conv;
    TtShape shape; /* of what is computed: x (N,T,C) for dx, w (C,1,K) for dw */
    bool bias;     /* dw: compute the bias's gradient too */
} TtConv1dGradAttrs;

/* The weight's gradient is summed over chunks of so many frames, so that it does not depend on the number of threads.
 * Taps are taken in threes (the usual kernel). */
enum { TT_DEPTHWISE_ROWS = 128, TT_DEPTHWISE_TAPS = 3 };
static inline int64_t tt_depthwise_chunks(int64_t frames)
{
    return (frames + TT_DEPTHWISE_ROWS - 1) / TT_DEPTHWISE_ROWS;
}
/* Rows of C floats of a chunk's sums: the taps, rounded up, and the bias. */
static inline int64_t tt_depthwise_sums(int64_t taps)
{
    return (taps + TT_DEPTHWISE_TAPS - 1) / TT_DEPTHWISE_TAPS * TT_DEPTHWISE_TAPS + 1;
}

#endif
