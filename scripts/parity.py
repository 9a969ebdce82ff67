#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train the same network with ttrain and with PyTorch and compare; then read everything that ttrain wrote with the
packages that people use: torch, safetensors, tensorboard.

    parity.py [--ttrain build/ttrain] [--sensitivity] [CASE ...]

Both sides get the same initial weights, the same PNG files in the same order and the same hyper-parameters. Compared are
the loss and the learning rate of every step, every tensor of the final state dict, and the evaluation of the final weights.
Rates are low on purpose: batch norm on small batches amplifies rounding, and updates are compared relative to their size.
Options are strong on purpose: a case must notice when one is not applied. --sensitivity proves it: it leaves each option of
a case out of the PyTorch side in turn, and counts it as a failure when the comparison still passes.
Needs torch, torchvision, safetensors, tensorboard, numpy, pillow, pyyaml.
"""
import argparse
import copy
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import torchvision
import yaml
from PIL import Image
from safetensors.torch import load_file, save_file

MEAN, STD = [0.5, 0.45, 0.4], [0.25, 0.25, 0.3]
CLASSES = ["a", "b", "c"]
MODEL = "run/checkpoints/last/model.safetensors"
SGD = {"name": "sgd", "lr": 2e-5, "momentum": 0.9}

# name, model, optimizer, extra config, batch, steps, limit on the update's relative error
CASES = {
    "resnet18": ({"name": "resnet18"}, SGD, {}, 8, 6, 0.1),
    "resnet50": ({"name": "resnet50"}, {"name": "adamw", "lr": 1e-6, "eps": 0.01, "weight_decay": 10.0}, {}, 6, 4, 0.25),
    # A smaller rate and a larger batch: at the others' PyTorch's float32 differs from its float64 by more than the limit.
    "resnext50": ({"name": "resnext50_32x4d"}, dict(SGD, lr=2e-7), {}, 13, 4, 0.2),
    "nesterov-cosine": ({"name": "resnet18"}, dict(SGD, nesterov=True, weight_decay=0.05),
                        {"scheduler": {"name": "cosine", "warmup_steps": 2}}, 8, 6, 0.1),
    "rmsprop": ({"name": "resnet18"}, {"name": "rmsprop", "lr": 1e-6, "eps": 0.03, "momentum": 0.9}, {}, 8, 5, 0.2),
    "accumulate-clip": ({"name": "resnet18"}, dict(SGD, lr=1e-3),
                        {"trainer": {"grad_accum_steps": 2, "clip_grad_norm": 1.0}}, 8, 5, 0.1),
    "smoothing-adam": ({"name": "resnet18"}, {"name": "adam", "lr": 5e-6, "betas": [0.5, 0.3], "amsgrad": True},
                       {"loss": {"name": "cross_entropy", "label_smoothing": 0.3}}, 8, 5, 0.1),
}


def write_pictures(folder, count, seed):
    rng = np.random.default_rng(seed)
    for i in range(count):
        label = i % len(CLASSES)
        coarse = rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)
        picture = np.asarray(Image.fromarray(coarse).resize((64, 64), Image.BICUBIC)).astype(int)
        picture[:, :, label] = np.clip(picture[:, :, label] + 60, 0, 255)
        (folder / CLASSES[label]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture.astype(np.uint8)).save(folder / CLASSES[label] / f"{i:03}.png")


def read_pictures(folder):
    mean, std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)
    pairs = []
    for path, label in torchvision.datasets.ImageFolder(str(folder)).samples:
        x = torch.from_numpy(np.array(Image.open(path).convert("RGB"))).permute(2, 0, 1).float() / 255
        pairs.append(((x - mean) / std, label))
    return torch.stack([x for x, _ in pairs]), torch.tensor([y for _, y in pairs])


def build(model):
    torch.manual_seed(0)
    args = dict(model, num_classes=len(CLASSES))
    return getattr(torchvision.models, args.pop("name"))(weights=None, **args)


def make_optimizer(net, spec):
    spec = dict(spec)
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}
    return kinds[spec.pop("name")](net.parameters(), **spec)


def train_torch(net, x, y, case):
    _, spec, extra, batch, steps, _ = case
    optimizer = make_optimizer(net, spec)
    trainer, smoothing = extra.get("trainer", {}), extra.get("loss", {}).get("label_smoothing", 0.0)
    accum, warm = trainer.get("grad_accum_steps", 1), extra.get("scheduler", {}).get("warmup_steps", 0)
    per_epoch, losses, rates = len(x) // batch, [], []
    net.train()
    for t in range(steps):
        lr = spec["lr"]
        if "scheduler" in extra:
            lr = lr * (t + 1) / warm if t < warm else lr * (1 + math.cos(math.pi * (t - warm) / (steps - warm))) / 2
        optimizer.param_groups[0]["lr"] = lr
        optimizer.zero_grad()
        start, micro, total = t % per_epoch * batch, batch // accum, 0.0
        for first in range(start, start + batch, micro):
            loss = F.cross_entropy(net(x[first : first + micro]), y[first : first + micro], label_smoothing=smoothing)
            (loss / accum).backward()
            total += loss.item() / accum
        if "clip_grad_norm" in trainer:
            torch.nn.utils.clip_grad_norm_(net.parameters(), trainer["clip_grad_norm"])
        optimizer.step()
        losses.append(total)
        rates.append(lr)
    return losses, rates


def run(ttrain, *args, cwd):
    p = subprocess.run([ttrain, *map(str, args)], cwd=cwd, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(f"ttrain {' '.join(map(str, args))}: status {p.returncode}\n{p.stderr[-2000:]}")
    return p.stdout


def write_config(folder, case, samples):
    model, spec, extra, batch, steps, _ = case
    normalize = [{"Normalize": {"mean": MEAN, "std": STD}}]
    config = {
        "name": "parity", "output_dir": "run", "seed": 0, "device": "cpu", "resume": "never",
        "model": dict(model, num_classes=len(CLASSES), weights="init.safetensors"),
        "data": {"train": {"type": "image_folder", "path": "train"}, "val": {"type": "image_folder", "path": "val"},
                 "global_batch_size": batch, "num_workers": 2, "shuffle": False},
        "transforms": {"train": normalize, "val": normalize},
        "loss": extra.get("loss", {"name": "cross_entropy"}), "optimizer": spec, "scheduler": extra.get("scheduler"),
        "trainer": dict(extra.get("trainer", {}), epochs=math.ceil(steps / (samples // batch)), max_steps=steps),
        "checkpoint": {"monitor": "val/loss", "mode": "min"}, "logging": {"interval": 1},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def train_ttrain(case, folder, ttrain):
    for split, count, seed in (("train", 26, 1), ("val", 9, 2)):
        write_pictures(folder / split, count, seed)
    save_file(build(case[0]).state_dict(), folder / "init.safetensors")
    write_config(folder, case, len(list((folder / "train").glob("*/*.png"))))
    run(ttrain, "train", "config.yaml", cwd=folder)


def compare_training(case, folder):
    """Train CASE with PyTorch and hold it against what ttrain left in FOLDER: problems, errors, PyTorch's network."""
    start = load_file(folder / "init.safetensors")
    net = build(case[0])
    net.load_state_dict(start)
    losses, rates = train_torch(net, *read_pictures(folder / "train"), case)
    events = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    train = [e for e in events if e["event"] == "train"]
    if [e["step"] for e in train] != list(range(1, case[4] + 1)):
        return [f"steps {[e['step'] for e in train]}"], {}, net
    problems, update_err, state = [], 0.0, load_file(folder / MODEL)
    for key, want in net.state_dict().items():
        if key not in state or state[key].shape != want.shape:
            problems.append(f"{key} is missing or has another shape")
        elif not want.is_floating_point():
            if not torch.equal(state[key], want):
                problems.append(f"{key} is {state[key]}, expected {want}")
        else:
            floor = 1e-5 * want.norm() + 1e-6 * math.sqrt(want.numel())
            update_err = max(update_err, ((state[key] - want).norm() / max((want - start[key]).norm(), floor)).item())
    loss_err = max(abs(e["train/loss"] - l) / abs(l) for e, l in zip(train, losses))
    lr_err = max(abs(e["lr"] - r) / r for e, r in zip(train, rates))
    errors = {"loss": (loss_err, 2e-3), "lr": (lr_err, 1e-5), "update": (update_err, case[5])}
    return problems + judge(errors), errors, net


def judge(errors):
    return [f"{what} error {e:.2e}, limit {limit:.0e}" for what, (e, limit) in errors.items() if not e <= limit]


def compare_eval(case, folder, ttrain, net):
    """ttrain's evaluation of its weights, from its own file and from torch's, against PyTorch's."""
    net.load_state_dict(load_file(folder / MODEL), strict=True)
    vx, vy = read_pictures(folder / "val")
    with torch.no_grad():
        smoothing = case[2].get("loss", {}).get("label_smoothing", 0.0)
        want = F.cross_entropy(net.eval()(vx), vy, label_smoothing=smoothing).item()
    torch.save(net.state_dict(), folder / "torch.pth")
    got = [json.loads(run(ttrain, "eval", "config.yaml", "--weights", w, cwd=folder))["val/loss"] for w in (MODEL, "torch.pth")]
    errors = {"eval": (max(abs(g - want) for g in got) / want, 1e-3)}
    return judge(errors), errors


def without_each_option(case):
    """CASE once for each option that it sets, without it: (the option's name, the case)."""
    for at, section, key in [(1, None, k) for k in case[1] if k not in ("name", "lr")] + [
            (2, s, k) for s in case[2] for k in case[2][s] if k != "name"]:
        less = copy.deepcopy(case)
        del (less[at][section] if section else less[at])[key]
        if key == "momentum":
            less[1].pop("nesterov", None)  # PyTorch refuses one without the other
        yield f"{section or 'optimizer'}.{key}", less


def compare(case, folder, ttrain, sensitivity):
    train_ttrain(case, folder, ttrain)
    problems, errors, net = compare_training(case, folder)
    more = compare_eval(case, folder, ttrain, net)
    problems += more[0] + check_tensorboard(folder)
    errors.update(more[1])
    for option, less in without_each_option(case) if sensitivity else ():
        noticed, by, _ = compare_training(less, folder)
        print(f"  without {option}:", noticed[-1] if noticed else "NOT NOTICED " + show(by), flush=True)
        if not noticed:
            problems.append(f"the comparison does not notice that PyTorch lacks {option}")
    return problems, errors


def show(errors):
    return " ".join(f"{what}_err={e:.1e}" for what, (e, _) in errors.items())


def check_tensorboard(folder):
    """The real TensorBoard must show every value of metrics.jsonl at its step, once."""
    checker = Path(__file__).resolve().parent / "check_tensorboard.py"
    p = subprocess.run([sys.executable, checker, folder / "run"], capture_output=True, text=True)
    return [] if p.returncode == 0 else [f"tensorboard: {(p.stdout + p.stderr)[-300:]}"]


def main():
    parser = argparse.ArgumentParser(description="Compare ttrain with PyTorch.")
    parser.add_argument("--ttrain", default="build/ttrain")
    parser.add_argument("--sensitivity", action="store_true", help="prove that each option of a case matters")
    parser.add_argument("cases", nargs="*", default=list(CASES))
    options = parser.parse_args()
    ttrain, failed = str(Path(options.ttrain).resolve()), 0
    for name in options.cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                problems, errors = compare(CASES[name], Path(folder), ttrain, options.sensitivity)
            except RuntimeError as error:
                problems, errors = [str(error)], {}
        failed += bool(problems)
        print(name, "FAIL" if problems else "ok", show(errors), flush=True)
        for problem in problems:
            print("  " + problem, file=sys.stderr)
    print(f"{len(options.cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
