#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what tests/test_rnn.c expects of torch.nn's RNN, LSTM and GRU: make_recurrent_values.py > tests/rnn_torch.inc

Everything is float64. Inputs and parameters are tests/support/values.h's pattern; the objective is the sum of each
output times a pattern. Of every gradient two numbers are printed: its sum times a pattern, and its sum of squares.
"""
import itertools
import textwrap

import torch

KINDS = {
    "TT_CELL_TANH": torch.nn.RNN,
    "TT_CELL_RELU": torch.nn.RNN,
    "TT_CELL_LSTM": torch.nn.LSTM,
    "TT_CELL_GRU": torch.nn.GRU,
}


def pattern(shape, which):
    """Exact in float32; another sequence for every WHICH."""
    count = 1
    for d in shape:
        count *= d
    i = torch.arange(count, dtype=torch.int64)
    return (((i * 37 + which * 29 + i * i % 7 * which) % 101 - 50).double() / 128).reshape(shape)


def numbers(t):
    return ", ".join(f"{v:.9g}" for v in t.flatten().tolist())


def digest(g):
    return f"{(g * pattern(g.shape, 9)).sum():.9g}, {(g * g).sum():.9g}"


def case(number, cell, layers, both, bias, lengths, states):
    n, t, inputs, hidden = 3, 4, 3, 5
    extra = {"nonlinearity": "relu"} if cell == "TT_CELL_RELU" else {}
    net = KINDS[cell](inputs, hidden, layers, bias=bias, batch_first=True, bidirectional=both, **extra).double()
    for i, p in enumerate(net.parameters()):
        p.data.copy_(pattern(p.shape, i + 20))
    lstm, rows = cell == "TT_CELL_LSTM", layers * (2 if both else 1)
    x = pattern((n, t, inputs), 1).requires_grad_()
    start = [pattern((rows, n, hidden), 2).requires_grad_(), pattern((rows, n, hidden), 3).requires_grad_()]
    given = (tuple(start) if lstm else start[0]) if states else None
    packed = x
    if lengths:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    y, last = net(packed, given)
    if lengths:
        y = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=t)[0]
    outs = [y] + (list(last) if lstm else [last])
    sum((o * pattern(o.shape, k + 5)).sum() for k, o in enumerate(outs)).backward()
    for name, o in zip(("y", "h", "c"), outs):
        print("\n    ".join(textwrap.wrap(f"static const double rnn{number}_{name}[] = {{{numbers(o)}}};", 112)))
    print(f"static const Digest rnn{number}_params[] = {{")
    for name, p in net.named_parameters():
        print(f'    {{"{name}", {digest(p.grad)}}},')
    print(f'    {{"x", {digest(x.grad)}}},')
    for name, s in zip(("h0", "c0"), start if lstm else start[:1]):
        if states:
            print(f'    {{"{name}", {digest(s.grad)}}},')
    print("};")
    flag = lambda b: "true" if b else "false"
    given_lengths = "{" + ", ".join(map(str, lengths or (0, 0, 0))) + "}"
    flags = ", ".join(map(flag, (both, bias, lengths, states)))
    c = f"rnn{number}_c" if lstm else "NULL"
    return (
        f"    {{{cell}, {layers}, {flags}, {given_lengths}, rnn{number}_y, rnn{number}_h, {c}, rnn{number}_params,\n"
        f"     TT_COUNT(rnn{number}_params)}},"
    )


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* scripts/make_recurrent_values.py's output: torch.nn's recurrent layers in float64. */")
    variants = [(1, False, True, None, False), (2, True, True, (2, 4, 1), True), (1, True, False, (4, 1, 3), True)]
    rows = [case(i, cell, *v) for i, (cell, v) in enumerate(itertools.product(KINDS, variants))]
    print("static const Case cases[] = {")
    print("\n".join(rows))
    print("};")


main()
