#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what tests/ops/ctc.c expects: make_ctc_values.py > tests/ops/ctc_torch.inc

Logits are tt_op_pattern's, ((i * 7 + 3) mod 11 - 5) / 4 in the order (N,T,C); PyTorch computes in float64.
"""
import torch
import torch.nn.functional as F


def pattern(shape, step):
    n = torch.Size(shape).numel()
    return (((torch.arange(n, dtype=torch.float64) * step + 3) % 11 - 5) / 4).reshape(shape)


def number(v):
    return {"inf": "INFINITY", "nan": "NAN"}.get(str(v), f"{v:.12g}")


def put(name, values):
    print(f"static const double {name}[{values.numel()}] = {{{', '.join(number(v) for v in values.flatten().tolist())}}};")


def case(name, shape, targets, frames, lengths, blank=0, zero_infinity=False, full=True):
    x = pattern(shape, 7).log_softmax(-1).requires_grad_()
    losses = F.ctc_loss(x.transpose(0, 1), torch.tensor(targets), torch.tensor(frames), torch.tensor(lengths),
                        blank=blank, reduction="none", zero_infinity=zero_infinity)
    losses = losses / torch.tensor(lengths).clamp(min=1)
    losses.mean().backward()
    put(f"{name}_loss", losses.detach())
    if full:
        put(f"{name}_x", x.detach())
        put(f"{name}_dx", x.grad)


print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by scripts/make_ctc_values.py: log_probs, the samples' losses by PyTorch in float64, and the gradient of")
print(" * their mean. */")
case("mixed", (4, 7, 5), [[1, 1, 2], [4, 3, 9], [7, 8, 9], [2, 1, -5]], [7, 5, 6, 3], [3, 2, 0, 2])
case("blank", (2, 6, 4), [[0, 0, 1], [1, 2, 0]], [6, 6], [3, 3], blank=3)
case("hopeless", (3, 4, 3), [[1, 1, 1], [1, 2, 1], [1, 2, 1]], [4, 4, 0], [3, 3, 1])
case("ignored", (3, 4, 3), [[1, 1, 1], [1, 2, 1], [1, 2, 1]], [4, 4, 0], [3, 3, 1], zero_infinity=True)
case("long", (2, 700, 29), [[1 + i * i % 28 for i in range(150)], [1 + i % 3 for i in range(150)]], [700, 650],
     [150, 120], full=False)
