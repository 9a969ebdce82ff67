#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# scripts/check_tensorboard.py - read a run's event files with TensorBoard's own package and compare.
"""Usage: check_tensorboard.py RUN_DIR [--expect TAG=STEP:VALUE,STEP:VALUE,...] ...

RUN_DIR is a run directory (its tb/ is read, and metrics.jsonl when it is there) or a folder of event files. Checks that
  - every file's records are whole (a torn last one in a file that is not the newest is what a killed process leaves),
  - no scalar has a step twice or out of order: a resumed run must void what it writes again,
  - each scalar's value is the one in metrics.jsonl, to float32's last digit, and none of those is missing,
  - pictures decode at the size that is stated, sounds are WAV, histograms' buckets add up.
Prints a summary; exit 0 if all is well, 1 with a list of faults, 2 for wrong usage."""
import argparse
import io
import json
import math
import os
import struct
import sys
import wave

from tensorboard.backend.event_processing import event_accumulator, plugin_event_multiplexer

faults = []


def fault(text):
    faults.append(text)


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def same(a, b):
    """Nine digits of a double, rounded to float32, may be the neighbour of the double's own rounding."""
    return a == b or abs(a - b) <= 1.2e-7 * abs(b) or (math.isnan(a) and math.isnan(b))


def check_records(folder):
    """Walk the framing of every file without TensorBoard's help."""
    files = sorted(f for f in os.listdir(folder) if f.startswith("events.out.tfevents."))
    if not files:
        fault(f"{folder}: no event files")
    for f in files:
        data = open(os.path.join(folder, f), "rb").read()
        at = 0
        while at + 12 <= len(data):
            n = struct.unpack_from("<Q", data, at)[0]
            if at + 16 + n > len(data):
                break
            at += 16 + n
        if at != len(data) and f == files[-1]:
            fault(f"{f}: ends inside a record at byte {at}")
    return files


def load(folder):
    keep = {k: 0 for k in ("scalars", "images", "audio", "histograms", "tensors", "compressedHistograms")}
    # Both of TensorBoard's readers: the older keeps kinds apart, the newer is what the server uses.
    old = event_accumulator.EventAccumulator(folder, size_guidance=keep, purge_orphaned_data=True)
    old.Reload()
    new = plugin_event_multiplexer.EventMultiplexer(size_guidance=keep, tensor_size_guidance={"scalars": 0})
    new.AddRun(folder, name="run")
    new.Reload()
    return old, new


def scalars(old, new):
    out = {}
    for tag in old.Tags()["scalars"]:
        points = [(e.step, e.value) for e in old.Scalars(tag)]
        steps = [s for s, _ in points]
        if any(b <= a for a, b in zip(steps, steps[1:])):
            fault(f"{tag}: steps repeat or go back: {steps}")
        if steps != [e.step for e in new.Tensors("run", tag)]:
            fault(f"{tag}: TensorBoard's two readers see different steps")
        out[tag] = dict(points)
    return out


def compare_jsonl(path, values):
    """Keys with a slash, and lr, are what goes to TensorBoard."""
    count = 0
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        row = json.loads(line)
        for key, value in row.items():
            if key not in values or isinstance(value, (str, bool, dict, list)):
                continue
            step = row["step"]
            if step not in values[key]:
                fault(f"{path}:{number}: {key} of step {step} is not in the event files")
                continue
            want = float32(math.nan if value is None else value)
            got = values[key][step]
            count += 1
            finite = math.isfinite(got)
            if (value is None and finite) or (value is not None and not same(got, want)):
                fault(f"{path}:{number}: {key} of step {step} is {value!r} here and {got!r} in the event files")
    return count


def check_media(old):
    for tag in old.Tags()["images"]:
        from PIL import Image
        for e in old.Images(tag):
            image = Image.open(io.BytesIO(e.encoded_image_string))
            image.load()
            if image.size != (e.width, e.height):
                fault(f"{tag} step {e.step}: says {(e.width, e.height)}, is {image.size}")
    for tag in old.Tags()["audio"]:
        for e in old.Audio(tag):
            w = wave.open(io.BytesIO(e.encoded_audio_string))
            if w.getnframes() != e.length_frames or w.getframerate() != e.sample_rate:
                fault(f"{tag} step {e.step}: the sound is not as stated")
    for tag in old.Tags()["histograms"]:
        for e in old.Histograms(tag):
            h = e.histogram_value
            if sum(h.bucket) != h.num or len(h.bucket) != len(h.bucket_limit):
                fault(f"{tag} step {e.step}: buckets do not add up")
            if sorted(set(h.bucket_limit)) != list(h.bucket_limit):
                fault(f"{tag} step {e.step}: limits are not in order")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("run")
    p.add_argument("--expect", action="append", default=[], metavar="TAG=STEP:VALUE,...")
    a = p.parse_args()
    folder = os.path.join(a.run, "tb") if os.path.isdir(os.path.join(a.run, "tb")) else a.run
    if not os.path.isdir(folder):
        p.error(f"{folder}: no such folder")
    files = check_records(folder)
    old, new = load(folder)
    values = scalars(old, new)
    check_media(old)
    compared = 0
    jsonl = os.path.join(a.run, "metrics.jsonl")
    if os.path.exists(jsonl):
        compared = compare_jsonl(jsonl, values)
        if not compared:
            fault(f"{jsonl}: nothing in common with the event files")
    for e in a.expect:
        tag, _, points = e.partition("=")
        want = {int(s): float32(float(v)) for s, v in (q.split(":") for q in points.split(","))}
        found = values.get(tag) or {}
        if found.keys() != want.keys() or not all(same(found[k], want[k]) for k in want):
            fault(f"{tag}: expected {want}, found {values.get(tag)}")
    tags = old.Tags()
    print(f"{len(files)} files, " + ", ".join(f"{len(tags[k])} {k}" for k in ("scalars", "images", "audio", "histograms", "tensors"))
          + f", {compared} values compared with metrics.jsonl")
    for f in faults:
        print(f"FAULT {f}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
