#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train the sound models with ttrain and with torchaudio on the same clips and compare losses, weights and metrics.

    parity_sound.py [--build build] [CASE ...]

The clips are made by BUILD/tests/make_toy_sound. Both sides start from the same weights and take the same clips in the same
order. Needs torch, torchaudio, safetensors, numpy, pyyaml.
"""
import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import yaml
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import torch_recipe  # noqa: E402

MEL = {"MelSpectrogram": {"sample_rate": 8000, "n_fft": 256, "hop_length": 80, "n_mels": 20}}
TRANSFORMS = [MEL, {"Log": {"eps": 1e-6}}, {"Normalize": {"mean": [-2.0], "std": [4.0]}}]
ADAM = {"name": "adam", "lr": 1e-6}

# name: model, data (type, list, more), transforms, loss, optimizer, limits on the relative errors of losses and updates
CASES = {
    "wav2letter": (
        {"name": "wav2letter", "num_classes": 6, "input_type": "mfcc", "num_features": 20},
        {"type": "audio_manifest", "path": "speech", "labels": "*abcde"}, TRANSFORMS, {"name": "ctc"}, ADAM, 1e-4, 0.02),
    "wav2letter-waveform": (
        {"name": "wav2letter", "num_classes": 6},
        {"type": "audio_manifest", "path": "speech", "labels": "*abcde"}, [], {"name": "ctc", "zero_infinity": True}, ADAM,
        1e-4, 0.02),
    "conv_tasnet": (
        {"name": "conv_tasnet", "enc_num_feats": 32, "msk_num_feats": 16, "msk_num_hidden_feats": 32, "msk_num_layers": 3,
         "msk_num_stacks": 2},
        {"type": "separation_manifest", "path": "mixtures"}, [], {"name": "si_snr"}, dict(ADAM, lr=1e-3), 1e-3, 0.05),
    "wavernn": (
        {"name": "wavernn", "upsample_scales": [8, 10], "hop_length": 80, "n_classes": 64, "n_rnn": 32, "n_fc": 32,
         "n_res_block": 2, "n_freq": 20, "n_hidden": 16, "n_output": 16},
        {"type": "vocoder_manifest", "path": "voices", "segment_frames": 33}, TRANSFORMS, {"name": "cross_entropy"},
        {"name": "sgd", "lr": 0.05, "momentum": 0.9}, 1e-4, 0.05),
}
BATCH, STEPS = 4, 5


def write_config(folder, name):
    model, data, transforms, loss, optimizer, *_ = CASES[name]
    sets = {s: dict(data, path=f"data/{s}_{data['path']}.tsv", sample_rate=8000) for s in ("train", "val")}
    config = {
        "name": "parity", "output_dir": "run", "seed": 0, "resume": "never",
        "model": dict(model, weights="init.safetensors"),
        "data": dict(sets, global_batch_size=BATCH, num_workers=2, shuffle=False),
        "transforms": {"train": transforms, "val": transforms}, "loss": loss, "optimizer": optimizer,
        "trainer": {"epochs": 2, "max_steps": STEPS, "clip_grad_norm": 5.0},
        "checkpoint": {"monitor": "val/loss"}, "logging": {"interval": 1},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return config


def run(*args, cwd):
    p = subprocess.run([str(a) for a in args], cwd=cwd, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(f"{' '.join(map(str, args))}: status {p.returncode}\n{p.stderr[-2000:]}")
    return p.stdout


def torch_task(config):
    config = dict(config, model={k: v for k, v in config["model"].items() if k != "weights"})
    kind = {"wav2letter": torch_recipe.Speech, "wavernn": torch_recipe.Vocoder}
    return kind.get(config["model"]["name"], torch_recipe.Separation)(config)


def train_torch(task, model, config, train, features):
    args = {k: v for k, v in config["optimizer"].items() if k != "name"}
    optimizer = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[config["optimizer"]["name"]](model.parameters(), **args)
    losses = []
    model.train()
    for step in range(STEPS):
        at = step % (len(train) // BATCH) * BATCH
        loss = task.loss(model, task.batch(train[at : at + BATCH], features, "train"))[0].mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def evaluate(task, model, val, features):
    task.start()
    loss = 0.0
    model.eval()
    with torch.no_grad():
        for at in range(0, len(val), BATCH):
            batch = task.batch(val[at : at + BATCH], features, "val")
            losses, out = task.loss(model, batch)
            loss += losses.sum().item()
            task.count(batch, out)
    return {"val/loss": loss / len(val), **task.metrics()}


def compare(name, build, folder):
    for split, count, seed in (("train", 12, 1), ("val", 6, 2)):
        run(build / "tests/make_toy_sound", "data", split, count, seed, cwd=folder)
    config = write_config(folder, name)
    for split in ("train", "val"):
        config["data"][split]["path"] = str(folder / config["data"][split]["path"])
    task = torch_task(config)
    torch.manual_seed(0)
    model = task.model()
    if name.startswith("wav2letter"):  # with the default start hardly anything comes through eleven layers
        for m in model.modules():
            if isinstance(m, torch.nn.Conv1d):
                torch.nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
    start = {k: v.clone() for k, v in model.state_dict().items()}
    save_file(start, folder / "init.safetensors")
    run(build / "ttrain", "train", "config.yaml", cwd=folder)
    features = torch_recipe.feature_chain(config["transforms"]["train"])
    losses = train_torch(task, model, config, task.load("train"), features)
    events = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    got = [e["train/loss"] for e in events if e["event"] == "train"]
    state = load_file(folder / "run/checkpoints/last/model.safetensors")
    update_err = 0.0
    for key, want in model.state_dict().items():
        if want.is_floating_point():
            floor = 1e-5 * want.norm() + 1e-6 * math.sqrt(want.numel())
            update_err = max(update_err, ((state[key] - want).norm() / max((want - start[key]).norm(), floor)).item())
    model.load_state_dict(state, strict=True)
    want = evaluate(task, model, task.load("val"), features)
    seen = json.loads(run(build / "ttrain", "eval", "config.yaml", "--weights", "run/checkpoints/last/model.safetensors",
                          cwd=folder))
    *_, loss_limit, update_limit = CASES[name]
    errors = {
        "loss": (max(abs(a - b) / max(abs(b), 1.0) for a, b in zip(got, losses)) if len(got) == STEPS else math.inf,
                 loss_limit),
        "update": (update_err, update_limit),
        "eval": (max(abs(seen[k] - v) / max(abs(v), 1.0) for k, v in want.items()), 1e-3),
    }
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("cases", nargs="*", default=list(CASES))
    options = parser.parse_args()
    build, failed = Path(options.build).resolve(), 0
    for name in options.cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                errors = compare(name, build, Path(folder))
                bad = [f"{what} error {e:.2e}, limit {limit:.0e}" for what, (e, limit) in errors.items() if not e <= limit]
            except RuntimeError as error:
                errors, bad = {}, [str(error)]
        failed += bool(bad)
        print(name, "FAIL" if bad else "ok", " ".join(f"{w}_err={e:.1e}" for w, (e, _) in errors.items()), flush=True)
        for problem in bad:
            print("  " + problem, file=sys.stderr)
    print(f"{len(options.cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
