#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Expected pixels of the image transforms, from torchvision.transforms.v2.functional on tensors.

Writes tests/transform_cases.inc (what to call, with which parameters, where its result lies) and
tests/data/transforms/*.bin (the results, raw, H,W,C). Inputs follow a formula that tests/test_transforms.c repeats.
Needs torch and torchvision; run it on x86-64 with AVX2, where torchvision resizes uint8 natively.
"""
import math
import os

import numpy as np
import torch
import torchvision.transforms.v2 as v2
import torchvision.transforms.v2.functional as F

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
DTYPES = {"u8": ("TT_U8", np.uint8), "u16": ("TT_U16", np.uint16), "f32": ("TT_F32", np.float32)}
INTERPOLATIONS = ["nearest", "nearest-exact", "bilinear", "bicubic", "lanczos"]
PAD_MODES = ["constant", "edge", "reflect", "symmetric"]


def picture(h, w, c, dtype):
    """Slopes, edges and noise; channel 1 of every 7th column equals channel 0, so that greys and ties occur."""
    y, x, k = np.meshgrid(np.arange(h), np.arange(w), np.arange(c), indexing="ij")
    k = np.where((x % 7 == 3), 0, k)
    v = x * 5 + y * 3 + k * 70 + ((x * x * 31 + y * y * 17 + x * y * 7 + k * 13) % 61) * 2 + ((x // 9 + y // 7) % 2) * 90
    v = v % 256
    if dtype == "u8":
        return v.astype(np.uint8)
    if dtype == "u16":
        return (v * 257 - (v * 91) % 257).clip(0, 65535).astype(np.uint16)
    return (v.astype(np.float32) / np.float32(255)).astype(np.float32)


def fnv(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = ((h ^ b) * 0x100000001B3) % 2**64
    return h


class Writer:
    def __init__(self):
        self.lines = []
        self.blobs = {}

    def add(self, family, op, shape, dtype, params, run, limit=0.0, share=0.0, compute=None):
        """LIMIT: largest difference allowed; SHARE: how many elements may differ at all (0: as many as like)."""
        a = picture(*shape, dtype)
        source = a
        if compute is not None:  # torchvision lacks uint16 for this; let it work on float32 of the same values
            source = a.astype(np.float32)
        t = torch.from_numpy(np.ascontiguousarray(source.transpose(2, 0, 1)))
        r = run(t)
        out = r.numpy().transpose(1, 2, 0)
        if compute is not None:
            out = compute(out)
        out = np.ascontiguousarray(out)
        data = out.tobytes()
        kind = {"uint8": "TT_U8", "uint16": "TT_U16", "float32": "TT_F32"}[str(out.dtype)]
        blob = self.blobs.setdefault(family, bytearray())
        hashed = limit == 0 and len(data) > 1500  # equal to the last bit: a hash says as much as the values
        if hashed:
            at, digest = 0, fnv(data)
        else:
            at, digest = len(blob), 0
            blob.extend(data)
            blob.extend(b"\0" * (-len(blob) % 4))
        p = ", ".join(repr(float(v)) for v in params) or "0"
        self.lines.append(
            '    {"%s", %s, %d, %d, %d, %s, {%s}, %d, %d, %d, %s, %d, 0x%xull, %g, %g},'
            % (family, op.upper(), *shape, DTYPES[dtype][0], p, *out.shape, kind, at, digest, limit, share)
        )


def resizes(w):
    # PyTorch 2.15 cannot make a single uint8 pixel (an internal assertion), hence (1, 2).
    sizes = [((37, 53), (20, 16)), ((37, 53), (60, 71)), ((24, 31), (24, 9)), ((24, 31), (11, 31)), ((1, 1), (5, 4)),
             ((3, 200), (7, 10)), ((200, 3), (10, 7)), ((50, 41), (1, 2)), ((5, 6), (40, 30))]
    big = [((375, 500), (224, 224)), ((375, 500), (256, 341)), ((100, 120), (224, 224))]
    for i, name in enumerate(INTERPOLATIONS):
        for aa in (1, 0):
            if (name == "lanczos" and not aa) or (i < 2 and not aa):
                continue
            for dtype in ("u8", "f32"):
                for (h, wd), (oh, ow) in sizes + (big if dtype == "u8" else []):
                    if dtype == "f32" and oh * ow > 3000:
                        continue
                    w.add("resize", "resize", (h, wd, 3), dtype, [oh, ow, i, aa],
                          lambda t: F.resize(t, [oh, ow], interpolation=name, antialias=bool(aa)),
                          limit=0 if dtype == "u8" or i < 2 else 5e-6)
    for c in (1,):
        w.add("resize", "resize", (40, 33, c), "u8", [17, 22, 2, 1], lambda t: F.resize(t, [17, 22]))
        w.add("resize", "resize", (9, 8, c), "u8", [30, 25, 3, 1], lambda t: F.resize(t, [30, 25], interpolation="bicubic"))
    for name in ("bilinear", "bicubic"):
        w.add("resize", "resize", (40, 33, 3), "u16", [17, 50, INTERPOLATIONS.index(name), 1],
              lambda t: F.resize(t, [17, 50], interpolation=name), limit=1, share=0.02,  # float32 has hardly more digits than uint16
              compute=lambda o: np.rint(o).clip(0, 65535).astype(np.uint16))
    for top, left, h, wd in ((5, 3, 20, 30), (0, 0, 37, 53), (36, 52, 1, 1), (17, 33, 20, 20), (30, 0, 7, 53)):
        for name in ("bilinear", "bicubic", "nearest"):
            w.add("resize", "resized_crop", (37, 53, 3), "u8", [top, left, h, wd, 20, 20, INTERPOLATIONS.index(name), 1],
                  lambda t: F.resized_crop(t, top, left, h, wd, [20, 20], interpolation=name, antialias=True))


def moves(w):
    for dtype in ("u8", "u16", "f32"):
        for h, wd in ((13, 17), (12, 16), (1, 5), (5, 1)):
            w.add("geometry", "hflip", (h, wd, 3), dtype, [], F.horizontal_flip)
            w.add("geometry", "vflip", (h, wd, 3), dtype, [], F.vertical_flip)
        for top, left, h, wd in ((2, 3, 8, 9), (0, 0, 13, 17), (-2, -3, 9, 9), (10, 12, 9, 11), (5, 20, 4, 4)):
            w.add("geometry", "crop", (13, 17, 3), dtype, [top, left, h, wd], lambda t: F.crop(t, top, left, h, wd))
        for h, wd in ((7, 9), (8, 10), (13, 17), (20, 9), (9, 20), (22, 23), (6, 12)):
            w.add("geometry", "center_crop", (13, 17, 3), dtype, [h, wd], lambda t: F.center_crop(t, [h, wd]))
        for i, mode in enumerate(PAD_MODES):
            for sides in ((1, 2, 3, 4), (0, 5, 0, 0), (12, 12, 12, 12)):
                w.add("geometry", "pad", (13, 17, 3), dtype, [*sides, i, 1, 1.0, 0, 0],
                      lambda t: F.pad(t.float() if dtype == "u16" else t, list(sides), fill=1.0, padding_mode=mode),
                      compute=(lambda o: o.astype(np.uint16)) if dtype == "u16" else None)
    w.add("geometry", "pad", (6, 7, 3), "u8", [1, 2, 3, 4, 0, 3, 10, 200.7, 255],
          lambda t: F.pad(t, [1, 2, 3, 4], fill=[10, 200.7, 255]))
    w.add("geometry", "pad", (6, 7, 1), "u8", [1, 2, 3, 4, 2, 0, 0, 0, 0], lambda t: F.pad(t, [1, 2, 3, 4], padding_mode="reflect"))


FILLS = [None, [0.0], [77.0], [10.0, 200.0, 255.0]]


def fill_params(fill, scale=1.0):
    f = [] if fill is None else [v * scale for v in fill]
    return [len(f), *f, *([0] * (3 - len(f)))]


def warps(w):
    warp_names = ["nearest", "bilinear"]
    for dtype in ("u8", "f32"):
        scale = 1.0 if dtype == "u8" else 1 / 255
        for m, warp in enumerate(warp_names):
            for i, angle in enumerate((0, 33.3, -71.25, 90, 180, 270, 45, 135, 360, 400.5)):
                for expand in (0, 1):
                    fill = FILLS[i % 4]
                    f = None if fill is None else [v * scale for v in fill]
                    size = (19, 24, 3) if i % 2 else (21, 21, 3)
                    w.add("warp", "rotate", size, dtype, [angle, m, expand, 0, 0, 0, *fill_params(fill, scale)],
                          lambda t: F.rotate(t, angle, interpolation=warp, expand=bool(expand), fill=f))
            w.add("warp", "rotate", (19, 24, 3), dtype, [20.5, m, 0, 1, 3.0, 4.5, *fill_params([9.0], scale)],
                  lambda t: F.rotate(t, 20.5, interpolation=warp, center=[3.0, 4.5], fill=[9.0 * scale]))
            w.add("warp", "rotate", (18, 25, 3), dtype, [90, m, 0, 0, 0, 0, *fill_params(None)],
                  lambda t: F.rotate(t, 90, interpolation=warp))
            for angle, tx, ty, sc, shx, shy, center in (
                (12.5, 3, -2, 1.2, 5.0, -7.0, None), (0, 4, 0, 1.0, 0, 0, None), (0, 0, 0, 1.0, 26.5, 0, (0, 0)),
                (0, 0, 0, 1.0, 0, -44.0, (0, 0)), (-170.0, 1, 1, 0.6, 0, 0, (5, 6)), (0, -3, 7, 1.0, 0, 0, None),
                (30, 0, 0, 2.0, 0, 0, None), (0, 0.5, 1.5, 1.0, 0, 0, None)):
                c = [1, *center] if center else [0, 0, 0]
                for fill in (None, [50.0]):
                    f = None if fill is None else [v * scale for v in fill]
                    w.add("warp", "affine", (20, 23, 3), dtype,
                          [angle, tx, ty, sc, shx, shy, m, *c, *fill_params(fill, scale)],
                          lambda t: F.affine(t, angle, [tx, ty], sc, [shx, shy], interpolation=warp, fill=f,
                                             center=list(center) if center else None))
            for end in ((2, 1, 20, 3, 22, 19, 0, 16), (0, 0, 22, 0, 22, 19, 0, 19), (5, 4, 17, 0, 19, 14, 4, 18)):
                start = [[0, 0], [22, 0], [22, 19], [0, 19]]
                w.add("warp", "perspective", (20, 23, 3), dtype, [*end, m, *fill_params([50.0], scale)],
                      lambda t: F.perspective(t, start, [list(end[i:i + 2]) for i in (0, 2, 4, 6)], interpolation=warp,
                                              fill=[50.0 * scale]))


def colours(w):
    for dtype in ("u8", "f32"):
        size = (23, 29, 3) if dtype == "u8" else (13, 12, 3)
        near = 0 if dtype == "u8" else 3e-6
        for n in (1, 3):
            w.add("colour", "grayscale", size, dtype, [n], lambda t: F.rgb_to_grayscale(t, n), near)
            w.add("colour", "grayscale", (5, 6, 1), dtype, [n], lambda t: F.rgb_to_grayscale(t, n), near)
        for shape in (size, (9, 10, 1)):
            for f in (0.0, 0.37, 1.0, 1.4, 2.5):
                w.add("colour", "brightness", shape, dtype, [f], lambda t: F.adjust_brightness(t, f), near)
                w.add("colour", "contrast", shape, dtype, [f], lambda t: F.adjust_contrast(t, f), near)
                w.add("colour", "saturation", shape, dtype, [f], lambda t: F.adjust_saturation(t, f), near)
                w.add("colour", "sharpness", shape, dtype, [f], lambda t: F.adjust_sharpness(t, f), near)
            for f in (-0.5, -0.3, -0.01, 0.0, 0.123, 0.5):
                w.add("colour", "hue", shape, dtype, [f], lambda t: F.adjust_hue(t, f), near)
            w.add("colour", "invert", shape, dtype, [], F.invert, near)
            w.add("colour", "autocontrast", shape, dtype, [], F.autocontrast, near)
            w.add("colour", "equalize", shape, dtype, [], F.equalize, near)
            for b in (0, 1, 3, 8):
                w.add("colour", "posterize", shape, dtype, [b], lambda t: F.posterize(t, b), near)
            for t0 in (0, 0.3, 1):
                t1 = t0 * (255 if dtype == "u8" else 1)
                w.add("colour", "solarize", shape, dtype, [t1], lambda t: F.solarize(t, t1), near)
        w.add("colour", "equalize", (40, 40, 3), dtype, [], F.equalize, near)
        w.add("colour", "sharpness", (2, 9, 3), dtype, [2.0], lambda t: F.adjust_sharpness(t, 2.0), near)
        w.add("colour", "permute", size, dtype, [2, 0, 1], lambda t: F.permute_channels(t, [2, 0, 1]), near)
        # A 2-D convolution in float32 against two 1-D ones: a value at n + 1/2 may round to the other side.
        for kx, ky, sx, sy in ((3, 3, 0.8, 0.8), (5, 7, 1.3, 0.4), (23, 23, 2.0, 2.0), (1, 3, 0.5, 1.1), (9, 1, 3.3, 1.0)):
            w.add("colour", "blur", size, dtype, [kx, ky, sx, sy],
                  lambda t: F.gaussian_blur(t, [kx, ky], [sx, sy]), 1 if dtype == "u8" else 2e-6,
                  0.002 if dtype == "u8" else 0)
    # uint16 follows uint8's rules, which torchvision's float32 kernels give with the range scaled.
    top = np.float32(65535)
    for f in (0.5, 1.5):
        w.add("colour", "brightness", size, "u16", [f], lambda t: F.adjust_brightness(t / top, f) * top, 1,
              compute=lambda o: o.astype(np.uint16))
        w.add("colour", "saturation", size, "u16", [f], lambda t: F.adjust_saturation(t / top, f) * top, 2,
              compute=lambda o: o.astype(np.uint16))
        w.add("colour", "contrast", size, "u16", [f], lambda t: F.adjust_contrast(t / top, f) * top, 2,
              compute=lambda o: o.astype(np.uint16))
        w.add("colour", "sharpness", size, "u16", [f], lambda t: F.adjust_sharpness(t / top, f) * top, 2,
              compute=lambda o: o.astype(np.uint16))
    w.add("colour", "hue", size, "u16", [0.2], lambda t: F.adjust_hue(t / top, 0.2) * np.float32(65535.999), 2,
          compute=lambda o: o.clip(0, 65535).astype(np.uint16))
    w.add("colour", "blur", size, "u16", [5, 5, 1.0, 1.0], lambda t: F.gaussian_blur(t, [5, 5], [1.0, 1.0]), 1,
          compute=lambda o: np.rint(o).astype(np.uint16))
    w.add("colour", "autocontrast", size, "u16", [], lambda t: F.autocontrast(t / top) * top, 2,
          compute=lambda o: o.astype(np.uint16))
    w.add("colour", "invert", size, "u16", [], lambda t: top - t, compute=lambda o: o.astype(np.uint16))


def values(w):
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    for shape in ((17, 19, 3), (7, 9, 1)):
        for m, s in ((mean, std), ([0.5], [0.25])):
            if len(m) > 1 and shape[2] == 1:
                continue
            for dtype in ("u8", "u16", "f32"):
                w.add("values", "normalize", shape, dtype, [len(m), *(m * 3)[:3], *(s * 3)[:3]],
                      lambda t: F.normalize(F.to_dtype(t, torch.float32, scale=True), m, s))
    for a, b in (("u8", "f32"), ("u8", "u16"), ("u16", "f32"), ("u16", "u8"), ("f32", "u8"), ("f32", "f32"),
                 ("f32", "u16")):
        to = {"u8": torch.uint8, "u16": torch.uint16, "f32": torch.float32}[b]
        for scale in (1, 0):
            if (a, b, scale) in (("u16", "u8", 0), ("f32", "u16", 1)):
                continue  # torch wraps around (the latter at 1.0 only); we limit
            w.add("values", "to_dtype", (11, 13, 3), a, [list(DTYPES).index(b), scale],
                  lambda t: F.to_dtype(t, to, scale=bool(scale)))
    for dtype, v in (("u8", [7.0]), ("u8", [1.0, 128.9, 255.0]), ("f32", [0.25, -1.5, 3.0]), ("u16", [40000.0])):
        w.add("values", "erase", (13, 15, 3), dtype, [3, 4, 6, 7, len(v), *(v * 3)[:3]],
              lambda t: F.erase(t.float(), 3, 4, 6, 7, torch.tensor(v)[:, None, None]),
              compute=lambda o: o.astype(DTYPES[dtype][1]))


def batches():
    """MixUp and CutMix of a small batch: picture i is picture(h, w, c) rolled by i in value."""
    n, h, wd, c, classes = 3, 6, 7, 3, 4
    x = np.stack([((picture(h, wd, c, "u8").astype(int) + 37 * i) % 256) for i in range(n)]).astype(np.float32) / 256
    labels = torch.tensor([2, 0, 3])
    t = torch.from_numpy(np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
    out = bytearray()
    for cls, params in ((v2.MixUp, dict(lam=0.3)), (v2.CutMix, dict(box=(1, 2, 5, 6), lam_adjusted=1 - 16 / 42))):
        tr = cls(num_classes=classes)
        tr.make_params = lambda flat: params
        rx, rl = tr(t, labels)
        out += np.ascontiguousarray(rx.numpy().transpose(0, 2, 3, 1)).astype(np.float32).tobytes()
        out += rl.numpy().astype(np.float32).tobytes()
    return bytes(out)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    assert torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
    w = Writer()
    for family in (resizes, moves, warps, colours, values):
        family(w)
    w.blobs["batch"] = batches()
    folder = os.path.join(ROOT, "tests", "data", "transforms")
    os.makedirs(folder, exist_ok=True)
    for name, blob in w.blobs.items():
        with open(os.path.join(folder, name + ".bin"), "wb") as f:
            f.write(blob)
    with open(os.path.join(ROOT, "tests", "transform_cases.inc"), "w") as f:
        f.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by scripts/make_transform_values.py with torch %s, "
                "torchvision %s. */\n" % (torch.__version__.split("+")[0],
                                          __import__("torchvision").__version__.split("+")[0]))
        f.write("\n".join(w.lines) + "\n")
    print(len(w.lines), "cases;", {k: len(v) for k, v in w.blobs.items()})


if __name__ == "__main__":
    main()
