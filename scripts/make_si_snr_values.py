#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what tests/ops/si_snr.c expects: make_si_snr_values.py > tests/ops/si_snr_torch.inc

Estimates and references are tt_op_pattern's, ((i * step + 3) mod 11 - 5) / 4 with steps 7 and 5 in the order (N,T,S),
the estimates with 0.5 added; PyTorch differentiates the formula of kernels/ops/si_snr.h (without 1e-12) in float64.
"""
from itertools import permutations

import torch


def pattern(shape, step):
    n = torch.Size(shape).numel()
    return (((torch.arange(n, dtype=torch.float64) * step + 3) % 11 - 5) / 4).reshape(shape)


def put(name, values):
    text = ", ".join(f"{v:.12g}" for v in values.flatten().tolist())
    print(f"static const double {name}[{values.numel()}] = {{{text}}};")


def si_snr(e, r):  # (T)
    e, r = e - e.mean(), r - r.mean()
    t = (e * r).mean() / ((r * r).mean() + 1e-8) * r
    return 10 * (t * t).mean().log10() - 10 * ((e - t) ** 2).mean().log10()


def best(e, r, pit):  # (T,S)
    n = e.shape[1]
    orders = permutations(range(n)) if pit else [range(n)]
    return max((sum(si_snr(e[:, i], r[:, p[i]]) for i in range(n)) / n for p in orders), key=lambda v: v.item())


def case(name, shape, lengths=None, pit=True):
    e, r = (pattern(shape, 7) + 0.5).requires_grad_(), pattern(shape, 5)
    lengths = lengths or [shape[1]] * shape[0]
    losses = torch.stack([-best(e[i, :n], r[i, :n], pit) for i, n in enumerate(lengths)])
    losses.mean().backward()
    put(f"{name}_loss", losses.detach())
    put(f"{name}_dx", e.grad)
    mix = r.sum(-1)
    put(f"{name}_gain", torch.stack([
        -losses[i].detach() - sum(si_snr(mix[i, :n], r[i, :n, j]) for j in range(shape[2])) / shape[2]
        for i, n in enumerate(lengths)]))


print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by scripts/make_si_snr_values.py: the samples' losses, the gradient of their mean, and the improvement over")
print(" * the mixture, by PyTorch in float64. */")
case("two", (3, 13, 2))
case("fixed", (3, 13, 2), pit=False)
case("padded", (2, 12, 3), lengths=[12, 7])
case("five", (2, 23, 5))
