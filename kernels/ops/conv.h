/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/conv.h - two-dimensional convolution on channels-last pictures (torch.nn.functional.conv2d). */
#ifndef TT_KERNELS_OPS_CONV_H
#define TT_KERNELS_OPS_CONV_H

#include "tensor/op.h"

/* Index 0 is height, 1 is width. Padding is the same on both sides. */
typedef struct TtConv2dAttrs {
    int64_t stride[2], padding[2], dilation[2], groups;
} TtConv2dAttrs;

typedef struct TtConv2dGradAttrs {
    TtConv2dAttrs conv;
    TtShape shape; /* of what is computed: x (N,H,W,C) for dx, w (O,I/groups,kh,kw) for dw */
    bool bias;     /* dw: compute the bias's gradient too */
} TtConv2dGradAttrs;

/* x (N,H,W,I), w (O,I/groups,kh,kw) in PyTorch's layout, b (O) or TT_NONE: y (N,OH,OW,O) of x's type, with
 * OH = (H + 2*padding - dilation*(kh-1) - 1) / stride + 1. x, w and b are all float32 or all bfloat16; bfloat16
 * products are accumulated in float32, and the gradients of w and b are float32. */
TtVal tt_conv2d_op(TtGraph *g, TtVal x, TtVal w, TtVal b, const TtConv2dAttrs *a);

#endif
