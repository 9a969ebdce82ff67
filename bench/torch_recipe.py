#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train a sound recipe with PyTorch and torchaudio, to have something to compare ours with.

    bench/torch_recipe.py configs/wav2letter-festvox-ru.yaml [key=value ...] [--steps N] [--seconds S] [--log FILE]

Reads the same config and manifests and does the same steps: model, features, augmentation, batches of the same size drawn
at random, loss, optimizer, schedule, clipping, precision. Prints a JSON line for each validation, with the metrics that
ttrain prints. Needs torch, torchaudio, numpy and pyyaml; the rest is in this file. Weights start from torch's own seed, so
that single numbers differ; what the run reaches is what is compared.
"""
import argparse
import csv
import itertools
import json
import math
import re
import time
import wave
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import torchaudio
import yaml

ENGLISH = "* 'abcdefghijklmnopqrstuvwxyz"


class Loader(yaml.SafeLoader):
    """YAML 1.2's floats: 1e-4 is a number."""


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"), list("-+.0123456789")
)


def read_config(path, overrides):
    config = yaml.load(Path(path).read_text(encoding="utf-8"), Loader)
    for item in overrides:
        key, value = item.split("=", 1)
        *way, last = key.split(".")
        node = config
        for part in way:
            node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
        node[last] = yaml.load(value, Loader)
    return config


# ------------------------------------------------------------------------------------------------ data


def read_wav(path, rate):
    """A 16-bit WAV as one channel of float32 at this rate."""
    with wave.open(str(path)) as f:
        pcm = np.frombuffer(f.readframes(f.getnframes()), "<i2").reshape(-1, f.getnchannels())
        clip = torch.from_numpy(pcm.astype(np.float32) / 32768).mean(1)
        return clip if f.getframerate() == rate else torchaudio.functional.resample(clip, f.getframerate(), rate)


def read_manifest(path):
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    return rows, Path(path).parent


def feature_chain(transforms):
    steps = []
    for item in transforms or []:
        (name, args), = item.items() if isinstance(item, dict) else [(item, {})]
        args = dict(args or {})
        if name == "Log":
            steps.append(lambda x, eps=args.get("eps", 1e-6): torch.log(x + eps))
        elif name == "Normalize":
            mean, std = (torch.tensor(args[k], dtype=torch.float32).reshape(-1, 1) for k in ("mean", "std"))
            steps.append(lambda x, mean=mean, std=std: (x - mean) / std)
        elif name == "NormalizeDB":
            floor = args.get("min_level_db", -100.0)
            steps.append(lambda x, floor=floor: ((floor - 20 * torch.log10(x.clamp(min=1e-5))) / floor).clamp(0, 1))
        else:
            steps.append(getattr(torchaudio.transforms, name)(**args))
    return lambda x: [x := step(x) for step in steps][-1] if steps else x


class Speech:
    def __init__(self, config):
        self.config = config
        data = config["data"]["train"]
        self.labels = data.get("labels", ENGLISH)
        self.blank = config.get("loss", {}).get("blank", 0)

    def load(self, split):
        data = self.config["data"][split]
        rows, folder = read_manifest(data["path"])
        classes = {c: i for i, c in enumerate(self.labels)}
        return [(read_wav(folder / r["path"], data["sample_rate"]), [classes[c] for c in r["text"].lower()]) for r in rows]

    def model(self):
        args = {k: v for k, v in self.config["model"].items() if k in ("num_classes", "input_type", "num_features")}
        model = torchaudio.models.Wav2Letter(**args)
        if self.config["model"].get("init") == "kaiming":
            for m in model.modules():
                if isinstance(m, torch.nn.Conv1d):
                    torch.nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                    torch.nn.init.zeros_(m.bias)
        return model

    def batch(self, samples, features, rng):
        xs = [features(clip[None]) for clip, _ in samples]
        xs = [x[0] if x.dim() == 3 else x for x in xs]  # (bins or 1, time)
        longest = max(x.shape[1] for x in xs)
        return (
            torch.stack([F.pad(x, (0, longest - x.shape[1])) for x in xs]), [y for _, y in samples],
            [self.out_frames(x.shape[1]) for x in xs],
        )

    def out_frames(self, n):
        if self.config["model"].get("input_type", "waveform") == "waveform":
            n = (n + 90 - 250) // 160 + 1
        return n // 2 + 1

    def loss(self, model, batch):
        x, targets, lengths = batch
        log_probs = model(x).float().permute(2, 0, 1)
        zero = self.config.get("loss", {}).get("zero_infinity", False)
        losses = F.ctc_loss(
            log_probs, torch.tensor(list(itertools.chain(*targets))), torch.tensor(lengths),
            torch.tensor([len(y) for y in targets]), blank=self.blank, reduction="none", zero_infinity=zero,
        )
        return losses / torch.tensor([max(len(y), 1) for y in targets]), log_probs

    def start(self):
        self.errors = self.chars = self.word_errors = self.words = 0

    def count(self, batch, out):
        for path, target, n in zip(out.argmax(2).T.tolist(), batch[1], batch[2]):
            heard = "".join(self.labels[k] for k, _ in itertools.groupby(path[:n]) if k != self.blank)
            text = "".join(self.labels[k] for k in target)
            self.errors += edit_distance(heard, text)
            self.chars += len(text)
            self.word_errors += edit_distance(heard.split(), text.split())
            self.words += len(text.split())

    def metrics(self):
        return {"val/cer": self.errors / self.chars, "val/wer": self.word_errors / self.words}


class Separation:
    def __init__(self, config):
        self.config = config
        self.rng = np.random.default_rng(1)

    def load(self, split):
        data = self.config["data"][split]
        rows, folder = read_manifest(data["path"])
        rate = data["sample_rate"]
        self.dynamic = getattr(self, "dynamic", {})
        self.dynamic[split] = data["type"] == "separation_mix"
        if self.dynamic[split]:
            return [(read_wav(folder / r["path"], rate), r["speaker"]) for r in rows]
        names = ["mixture"] + sorted(k for k in rows[0] if k.startswith("source"))
        return [torch.stack([read_wav(folder / r[k], rate) for k in names]) for r in rows]

    def model(self):
        args = {k: v for k, v in self.config["model"].items() if k not in ("name", "weights", "norm")}
        if self.config["model"]["name"] == "conv_tasnet_base":
            args.setdefault("msk_activate", "relu")
        return torchaudio.models.ConvTasNet(**args)

    def crop(self, clip, n, random):
        spare = clip.shape[-1] - n
        at = int(self.rng.integers(spare + 1)) if random and spare > 0 else 0
        clip = clip[..., at : at + n]
        return F.pad(clip, (0, n - clip.shape[-1]))

    def mix(self, one, all_samples, data):
        n = int(data["segment"] * data["sample_rate"] + 0.5)
        low, high = data.get("snr", [-5, 5])
        while True:
            other = all_samples[int(self.rng.integers(len(all_samples)))]
            if other[1] != one[1]:
                break
        a, b = self.crop(one[0], n, True), self.crop(other[0], n, True)
        gain = torch.sqrt(a.square().sum() / (b.square().sum() + 1e-9)) * 10 ** (-self.rng.uniform(low, high) / 20)
        parts = torch.stack([a + gain * b, a, gain * b])
        return parts / max(1.0, float(parts[0].abs().max()))

    def batch(self, samples, features, rng):
        data = self.config["data"][rng]
        if isinstance(samples[0], tuple):
            parts = torch.stack([self.mix(s, self.all, data) for s in samples])
        else:
            segment = data.get("segment")
            n = int(segment * data["sample_rate"] + 0.5) if segment else samples[0].shape[-1]
            parts = torch.stack([self.crop(s, n, rng == "train") for s in samples])
        return parts[:, :1], parts[:, 1:]

    @staticmethod
    def si_snr(e, r):
        e, r = e - e.mean(-1, keepdim=True), r - r.mean(-1, keepdim=True)
        t = (e * r).mean(-1, keepdim=True) / (r.square().mean(-1, keepdim=True) + 1e-8) * r
        return 10 * torch.log10(t.square().mean(-1) + 1e-12) - 10 * torch.log10((e - t).square().mean(-1) + 1e-12)

    def best(self, e, r):
        orders = itertools.permutations(range(r.shape[1]))
        return torch.stack([self.si_snr(e, r[:, list(o)]).mean(1) for o in orders]).amax(0)

    def loss(self, model, batch):
        out = model(batch[0]).float()
        return -self.best(out, batch[1]), out

    def start(self):
        self.gain = self.n = 0

    def count(self, batch, out):
        self.gain += (self.best(out, batch[1]) - self.si_snr(batch[0], batch[1]).mean(1)).sum().item()
        self.n += len(out)

    def metrics(self):
        return {"val/si_snri": self.gain / self.n}


class Vocoder:
    def __init__(self, config):
        self.config = config
        m = config["model"]
        self.hop, self.pad = m["hop_length"], (m.get("kernel_size", 5) - 1) // 2
        self.classes = m["n_classes"]
        self.rng = np.random.default_rng(1)

    def load(self, split):
        data = self.config["data"][split]
        rows, folder = read_manifest(data["path"])
        return [(read_wav(folder / r["path"], data["sample_rate"]),) for r in rows]

    def model(self):
        return torchaudio.models.WaveRNN(**{k: v for k, v in self.config["model"].items() if k not in ("name", "weights")})

    def batch(self, samples, features, rng):
        segment = self.config["data"][rng].get("segment_frames", 5)
        xs, specs, ys = [], [], []
        for (clip,) in samples:
            spec = features(clip[None])
            places = spec.shape[-1] - (segment + 4 * self.pad) + 1
            at = int(self.rng.integers(places)) if rng == "train" else 0
            first = (at + self.pad) * self.hop
            codes = torchaudio.functional.mu_law_encoding(clip[first : first + segment * self.hop + 1], self.classes)
            xs.append(2 * codes[:-1].float() / (self.classes - 1.0) - 1.0)
            ys.append(codes[1:])
            specs.append(spec[:, :, at : at + segment + 2 * self.pad])
        return torch.stack(xs)[:, None], torch.stack(specs), torch.stack(ys)

    def loss(self, model, batch):
        logits = model(batch[0], batch[1]).squeeze(1).float()
        return F.cross_entropy(logits.transpose(1, 2), batch[2], reduction="none").mean(1), logits

    def start(self):
        pass

    def count(self, batch, out):
        pass

    def metrics(self):
        return {}


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
    return row[-1]


# ------------------------------------------------------------------------------------------------ training


def rate_at(config, step, total, per_epoch):
    """The learning rate as a factor; constant, or cosine behind a warm-up."""
    s = config.get("scheduler") or {}
    if s.get("name") not in (None, "cosine"):
        raise SystemExit(f"no schedule {s['name']} here")
    warm = s.get("warmup_steps") or int(s.get("warmup_epochs", 0) * per_epoch)
    if step < warm:
        return (step + 1) / warm
    if not s:
        return 1.0
    low = s.get("min_lr", 0.0) / config["optimizer"]["lr"]
    return low + (1 - low) * (1 + math.cos(math.pi * (step - warm) / max(total - warm, 1))) / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--steps", type=int, help="stop after so many steps (the schedule stays)")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds of training")
    parser.add_argument("--log", help="append the JSON lines to this file too")
    options = parser.parse_args()
    config = read_config(options.config, options.overrides)
    torch.manual_seed(config.get("seed", 0))
    kinds = {"wav2letter": Speech, "wavernn": Vocoder, "conv_tasnet": Separation, "conv_tasnet_base": Separation}
    task = kinds[config["model"]["name"]](config)
    train, val = task.load("train"), task.load("val")
    task.all = train
    model = task.model()
    args = {k: tuple(v) if isinstance(v, list) else v for k, v in config["optimizer"].items() if k != "name"}
    args.pop("no_decay_norm_bias", None)
    optimizer = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[config["optimizer"]["name"]](
        model.parameters(), **args
    )
    trainer, size = config.get("trainer", {}), config["data"]["global_batch_size"]
    per_epoch = len(train) // size
    total = min(trainer.get("max_steps") or 1 << 60, (trainer.get("epochs") or 1 << 40) * per_epoch)
    bf16 = trainer.get("precision") == "bf16"
    chains = {s: feature_chain((config.get("transforms") or {}).get(s)) for s in ("train", "val")}
    rng, step, spent = np.random.default_rng(config.get("seed", 0)), 0, 0.0
    while step < total:
        order = rng.permutation(len(train))
        model.train()
        started = time.time()
        for k in range(per_epoch):
            lr = config["optimizer"]["lr"] * rate_at(config, step, total, per_epoch)
            for group in optimizer.param_groups:
                group["lr"] = lr
            batch = task.batch([train[i] for i in order[k * size : (k + 1) * size]], chains["train"], "train")
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                losses, _ = task.loss(model, batch)
            optimizer.zero_grad()
            losses.mean().backward()
            if trainer.get("clip_grad_norm"):
                torch.nn.utils.clip_grad_norm_(model.parameters(), trainer["clip_grad_norm"])
            optimizer.step()
            step += 1
            if step >= total or step == options.steps:
                break
        spent += time.time() - started
        model.eval()
        task.start()
        loss = 0.0
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            for at in range(0, len(val), size):
                batch = task.batch(val[at : at + size], chains["val"], "val")
                losses, out = task.loss(model, batch)
                loss += losses.sum().item()
                task.count(batch, out)
        line = json.dumps({"step": step, "seconds": round(spent, 1), "val/loss": loss / len(val), **task.metrics()})
        print(line, flush=True)
        if options.log:
            with open(options.log, "a", encoding="utf-8") as f:
                f.write(line + "\n")
        if step == options.steps or (options.seconds and spent >= options.seconds):
            break


if __name__ == "__main__":
    main()
