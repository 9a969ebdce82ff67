#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Expected values of the Fourier ops and of the STFT losses, from torch in float64.

Writes tests/ops/fft_torch.inc. Inputs, and what the results' gradient is, are tt_op_pattern's; the window has no symmetry.
Needs torch.
"""
import os

import torch
import torch.nn.functional as F

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
NORMS = {"backward": "TT_FFT_BACKWARD", "ortho": "TT_FFT_ORTHO", "forward": "TT_FFT_FORWARD"}
PADS = {"reflect": "TT_STFT_REFLECT", "constant": "TT_STFT_CONSTANT", "replicate": "TT_STFT_REPLICATE",
        None: "TT_STFT_NONE"}


def pattern(shape, step):
    n = 1
    for d in shape:
        n *= d
    return torch.tensor([((i * step + 3) % 11 - 5) / 4 for i in range(n)], dtype=torch.float64).reshape(shape)


def window(n):
    return torch.tensor([0.3 + (i * 7 % 11) / 10 for i in range(n)], dtype=torch.float64)


def noise(n, length, step):
    """tests/ops/fft.c has the same."""
    v = [[((i * length + t) ** 2 * step % 1009) / 504.5 - 1 for t in range(length)] for i in range(n)]
    return torch.tensor(v, dtype=torch.float64)


def numbers(t):
    return "{" + ", ".join("%.12g" % v for v in t.detach().reshape(-1).tolist()) + "}"


def dims(shape):
    return "{%d, {%s}}" % (len(shape), ", ".join(map(str, shape)))


def run(x, f, step=7):
    x.requires_grad_(True)
    y = f(x)
    (y * pattern(y.shape, step)).sum().backward()
    return y, x.grad


def transforms():
    cases = [("rfft", (2, 6), None, -1, "backward"), ("rfft", (2, 7), None, -1, "ortho"),
             ("rfft", (2, 5, 3), 8, 1, "forward"), ("rfft", (2, 5, 3), 4, -2, "backward"),
             ("rfft", (3, 1), None, 1, "backward"), ("irfft", (2, 4, 2), None, -1, "backward"),
             ("irfft", (2, 4, 2), 7, 1, "ortho"), ("irfft", (2, 4, 3, 2), 10, 1, "forward"),
             ("irfft", (3, 5, 2), 4, -1, "backward"), ("irfft", (3, 1, 2), 1, -1, "backward"),
             ("fft", (2, 6, 2), None, -1, "backward"), ("fft", (2, 5, 3, 2), 7, 1, "ortho"),
             ("fft", (2, 5, 3, 2), 4, -2, "forward"), ("ifft", (2, 6, 2), None, 1, "backward"),
             ("ifft", (2, 5, 3, 2), 3, 1, "ortho"), ("ifft", (2, 5, 2), 8, -1, "forward")]
    for name, shape, n, axis, norm in cases:
        x = pattern(shape, 5)

        def f(v):
            z = v if name == "rfft" else torch.view_as_complex(v)
            y = getattr(torch.fft, name)(z, n=n, dim=axis, norm=norm)
            return torch.view_as_real(y) if torch.is_complex(y) else y
        y, dx = run(x, f)
        yield '{"%s", K_%s, %s, %d, %d, %s, (const double[])%s, %d, (const double[])%s, %d},' % (
            name, name.upper(), dims(shape), n or 0, axis, NORMS[norm], numbers(y), y.numel(), numbers(dx), dx.numel())


STFTS = [dict(T=20, n=8, hop=None, win=None, pad="reflect"), dict(T=23, n=8, hop=3, win=5, pad="constant"),
         dict(T=23, n=9, hop=4, win=6, pad="replicate", normalized=True), dict(T=25, n=7, hop=5, win=7, pad=None),
         dict(T=17, n=6, hop=2, win=6, pad="reflect", two=True), dict(T=17, n=5, hop=2, win=4, pad=None, two=True),
         dict(T=16, n=16, hop=1, win=16, pad=None), dict(T=12, n=8, hop=8, win=None, pad="constant", ones=True)]
ISTFTS = [dict(T=20, n=8, hop=None, win=None, pad="reflect"), dict(T=23, n=8, hop=3, win=5, pad="constant", length=22),
          dict(T=23, n=9, hop=4, win=6, pad="replicate", normalized=True, length=19),
          dict(T=25, n=7, hop=5, win=7, pad=None), dict(T=25, n=7, hop=3, win=7, pad=None, length=31),
          dict(T=17, n=6, hop=2, win=6, pad="reflect", two=True, normalized=True),
          dict(T=17, n=5, hop=2, win=4, pad="reflect", two=True)]


def options(c):
    return "{.n_fft = %d, .hop_length = %d, .win_length = %d, .pad = %s, .normalized = %d, .two_sided = %d}" % (
        c["n"], c["hop"] or 0, c["win"] or 0, PADS[c["pad"]], c.get("normalized", False), c.get("two", False))


def arguments(c):
    return dict(n_fft=c["n"], hop_length=c["hop"], win_length=c["win"], center=c["pad"] is not None,
                window=None if c.get("ones") else window(c["win"] or c["n"]), normalized=c.get("normalized", False),
                onesided=not c.get("two", False))


def stft(c, x):
    y = torch.stft(x, pad_mode=c["pad"] or "reflect", return_complex=True, **arguments(c))
    return torch.view_as_real(y.transpose(1, 2))


def row(shape, c, y, dx):
    return "{%s, %s, %d, %d, (const double[])%s, %d, (const double[])%s, %d}," % (
        dims(shape), options(c), c.get("ones", False), c.get("length", 0), numbers(y), y.numel(), numbers(dx),
        dx.numel())


def stfts():
    for c in STFTS:
        x = pattern((2, c["T"]), 5)
        y, dx = run(x, lambda v: stft(c, v))
        yield row(x.shape, c, y, dx)


def istfts():
    for c in ISTFTS:
        shape = stft(c, pattern((2, c["T"]), 5)).shape
        x = pattern(shape, 5)
        y, dx = run(x, lambda v: torch.istft(torch.view_as_complex(v).transpose(1, 2), length=c.get("length"),
                                             **arguments(c)))
        yield row(shape, c, y, dx)


def magnitudes():
    z = torch.tensor([[3, 4], [0, 0], [-1, 0], [0, -2], [1e-3, 2e-3], [5, -12]], dtype=torch.float64)
    for power in (1, 2, 0.5, 3):
        x = z.clone().requires_grad_(True)
        y = torch.view_as_complex(x).abs().pow(power)
        y.sum().backward()
        dx = torch.where(torch.isfinite(x.grad), x.grad, torch.zeros(()).double())
        yield "{%g, (const double[])%s, (const double[])%s}," % (power, numbers(y), numbers(dx))


def magnitude(x, n, hop, win, centre_window):
    s = torch.stft(x, n, hop, win, centre_window, return_complex=True)
    return torch.sqrt(torch.clamp(s.real**2 + s.imag**2, min=1e-7)).transpose(2, 1)


def losses():
    """Multi-resolution STFT loss of Yamamoto et al. 2020 with the resolutions given."""
    for name, resolutions, shape, step in (
            ("small", [(16, 3, 12), (32, 6, 24), (8, 2, 6)], (2, 60), 1),
            ("paper", [(1024, 120, 600), (2048, 240, 1200), (512, 50, 240)], (1, 1200), 31)):
        x, y = noise(*shape, 7), noise(*shape, 13)
        if name == "small":
            x[0] = 0  # a silence, where the limit of the magnitude stops the gradient
        x.requires_grad_(True)
        sc = mag = 0
        for n, hop, win in resolutions:
            w = torch.hann_window(win, dtype=torch.float64)
            mx, my = magnitude(x, n, hop, win, w), magnitude(y, n, hop, win, w)
            sc = sc + torch.norm(my - mx, p="fro") / torch.norm(my, p="fro") / len(resolutions)
            mag = mag + F.l1_loss(torch.log(my), torch.log(mx)) / len(resolutions)
        a, = torch.autograd.grad(sc, x, retain_graph=True)
        b, = torch.autograd.grad(mag, x)
        yield "static const double %s_loss[2] = {%.12g, %.12g};" % (name, sc.item(), mag.item())
        for part, d in (("sc", a), ("mag", b)):
            d = d.reshape(-1)[::step]
            yield "static const double %s_%s_dx[%d] = %s;" % (name, part, d.numel(), numbers(d))


def main():
    with open(os.path.join(ROOT, "tests/ops/fft_torch.inc"), "w") as f:
        f.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
        f.write("/* Made by scripts/make_fft_values.py: results and gradients by torch %s in float64. */\n"
                % torch.__version__.split("+")[0])
        for name, kind, rows in (("transforms", "Transform", transforms()), ("stfts", "Frames", stfts()),
                                 ("istfts", "Frames", istfts()), ("magnitudes", "Magnitude", magnitudes())):
            f.write("static const %s %s[] = {\n%s\n};\n" % (kind, name, "\n".join(rows)))
        f.write("\n".join(losses()) + "\n")


main()
