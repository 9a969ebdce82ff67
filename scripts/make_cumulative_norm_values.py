#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what tests/ops/cumulative_norm.c expects: make_cumulative_norm_values.py > tests/ops/cumulative_norm_torch.inc

Conv-TasNet's equations 12 to 14 as written there, over x (N,T,C), differentiated by PyTorch in float64; inputs are
tt_op_pattern's, ((i * step + 3) mod 11 - 5) / 4.
"""
import torch


def pattern(shape, step):
    n = torch.Size(shape).numel()
    return (((torch.arange(n, dtype=torch.float64) * step + 3) % 11 - 5) / 4).reshape(shape)


def put(name, values):
    text = ", ".join(f"{v:.12g}" for v in values.flatten().tolist())
    print(f"static const double {name}[{values.numel()}] = {{{text}}};")


shape, eps = (2, 6, 3), 1e-3
x, w, b = pattern(shape, 7).requires_grad_(), pattern(shape[2:], 3).requires_grad_(), pattern(shape[2:], 2).requires_grad_()
frames = []
for k in range(shape[1]):
    f = x[:, : k + 1]
    mean = f.mean(dim=(1, 2), keepdim=True)
    var = ((f - mean) ** 2).mean(dim=(1, 2), keepdim=True)
    frames.append((x[:, k : k + 1] - mean) / (var + eps).sqrt() * w + b)
y = torch.cat(frames, 1)
y.backward(pattern(shape, 5))
print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by scripts/make_cumulative_norm_values.py. */")
for name, v in ("y", y.detach()), ("dx", x.grad), ("dw", w.grad), ("db", b.grad):
    put(f"cln_{name}", v)
