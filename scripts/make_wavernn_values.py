#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what tests/test_wavernn.c expects of torchaudio.models.WaveRNN: make_wavernn_values.py > tests/wavernn_torch.inc

In float64, with the inputs and parameters of tests/support/values.h: logits in training and in evaluation, and two
numbers of every gradient in training. Then the names and shapes of the default model's state dict as a hash
(see make_model_values.py), and what `infer` generates when the last layer's weights are so large that there is nothing
to draw.
"""
import textwrap

import torch
import torchaudio

OPTIONS = dict(upsample_scales=[3, 2], n_classes=8, hop_length=6, n_res_block=2, n_rnn=12, n_fc=10, kernel_size=5, n_freq=7,
               n_hidden=6, n_output=9)
SAMPLES, FRAMES = 2, 9


def pattern(shape, which):
    count = 1
    for d in shape:
        count *= d
    i = torch.arange(count, dtype=torch.int64)
    return (((i * 37 + which * 29 + i * i % 7 * which) % 101 - 50).double() / 128).reshape(shape)


def array(name, values):
    text = ", ".join(f"{v:.9g}" for v in values.flatten().tolist())
    print("\n    ".join(textwrap.wrap(f"static const double {name}[] = {{{text}}};", 112)))


def digest(g):
    return f"{(g * pattern(g.shape, 9)).sum():.9g}, {(g * g).sum():.9g}"


def fnv(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


SURE = dict(upsample_scales=[2, 3], n_classes=32, hop_length=6, n_res_block=1, n_rnn=37, n_fc=70, kernel_size=3, n_freq=7,
            n_hidden=6, n_output=13)
FACTOR, SURE_FRAMES = 2.0**17, 11


def generate():
    net = torchaudio.models.WaveRNN(**SURE).double().eval()
    for i, p in enumerate(net.parameters()):
        p.data.copy_(pattern(p.shape, i + 20))
    net.fc3.weight.data *= FACTOR
    net.fc3.bias.data *= 0
    closest = [float("inf")]

    def margin(logits, dim):
        top = logits.topk(2, dim).values
        closest[0] = min(closest[0], float((top[:, 0] - top[:, 1]).min()))
        return softmax(logits, dim=dim)

    softmax, torch.nn.functional.softmax = torch.nn.functional.softmax, margin
    with torch.no_grad():
        samples, _ = net.infer(pattern((1, SURE_FRAMES, SURE["n_freq"]), 2).transpose(1, 2))
    classes = ((samples + 1) * (SURE["n_classes"] - 1) / 2).round().long().flatten().tolist()
    assert closest[0] > 40, closest  # the second best class has a probability below 1e-17
    text = ", ".join(map(str, classes))
    print("\n    ".join(textwrap.wrap(f"static const int32_t sure_classes[] = {{{text}}};", 112)))


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* scripts/make_wavernn_values.py's output: torchaudio's WaveRNN in float64. */")
    net = torchaudio.models.WaveRNN(**OPTIONS).double()
    for i, p in enumerate(net.parameters()):
        p.data.copy_(pattern(p.shape, i + 20))
    time = (FRAMES - OPTIONS["kernel_size"] + 1) * OPTIONS["hop_length"]
    waveform = pattern((SAMPLES, 1, time), 1).requires_grad_()
    spec = pattern((SAMPLES, FRAMES, OPTIONS["n_freq"]), 2).requires_grad_()
    net.eval()
    array("eval_logits", net(waveform, spec.transpose(1, 2).unsqueeze(1)).squeeze(1))
    net.train()
    logits = net(waveform, spec.transpose(1, 2).unsqueeze(1)).squeeze(1)
    array("train_logits", logits)
    (logits * pattern(logits.shape, 5)).sum().backward()
    print("static const Digest gradients[] = {")
    for name, p in net.named_parameters():
        print(f'    {{"{name}", {digest(p.grad)}}},')
    print(f'    {{"waveform", {digest(waveform.grad)}}},')
    print(f'    {{"spec", {digest(spec.grad)}}},')
    print("};")
    state = torchaudio.models.WaveRNN(upsample_scales=[5, 5, 11], n_classes=256, hop_length=275).state_dict()
    lines = "".join(f"{key} ({','.join(map(str, value.shape))})\n" for key, value in state.items())
    print(f"static const uint64_t default_hash = 0x{fnv(lines):016x}u;")
    print(f"enum {{ DEFAULT_TENSORS = {len(state)} }};")
    generate()


main()
