#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what tests/ops/conv1d.c expects: make_conv1d_values.py > tests/ops/conv1d_torch.inc

Inputs are tt_op_pattern's, ((i * step + 3) mod 11 - 5) / 4 in our order (sequences are (N,T,C)), all in float64.
"""
import torch
import torch.nn.functional as F


def pattern(shape, step):
    n = torch.Size(shape).numel()
    return (((torch.arange(n, dtype=torch.float64) * step + 3) % 11 - 5) / 4).reshape(shape)


def put(name, values):
    text = ", ".join(f"{v:.12g}" for v in values.flatten().tolist())
    print(f"static const double {name}[{values.numel()}] = {{{text}}};")


def case(name, function, xs, ws, outputs, **options):
    x, w = pattern(xs, 7).requires_grad_(), pattern(ws, 3).requires_grad_()
    b = pattern((outputs,), 2).requires_grad_()
    y = function(x.transpose(1, 2), w, b, **options).transpose(1, 2)
    y.backward(pattern(y.shape, 5))
    for part, v in ("y", y.detach()), ("dx", x.grad), ("dw", w.grad), ("db", b.grad):
        put(f"{name}_{part}", v.contiguous())


print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by scripts/make_conv1d_values.py: convolutions along time and their gradients by PyTorch in float64. */")
case("wide", F.conv1d, (2, 9, 4), (6, 2, 3), 6, stride=2, padding=2, dilation=2, groups=2)
case("pointwise", F.conv1d, (2, 3, 5), (4, 5, 1), 4)
case("encoder", F.conv1d, (2, 21, 1), (3, 1, 6), 3, stride=4, padding=3)
case("depthwise", F.conv1d, (2, 7, 3), (3, 1, 4), 3, stride=2, padding=3, dilation=2, groups=3)
case("transposed", F.conv_transpose1d, (2, 4, 4), (4, 3, 5), 6, stride=3, padding=2, output_padding=1, dilation=2, groups=2)
case("decoder", F.conv_transpose1d, (1, 3, 4), (4, 1, 6), 1, stride=3)
