#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read a run's event files with the real TensorBoard and print what it shows: check_tensorboard.py DIR [TAG=STEPS ...]

With TAG=STEPS (train/loss=1-8) the tag must hold exactly these steps, once each.
"""
import sys

from tensorboard.backend.event_processing import event_accumulator


def main():
    folder, checks = sys.argv[1], sys.argv[2:]
    acc = event_accumulator.EventAccumulator(folder, size_guidance={"scalars": 0, "images": 0, "histograms": 0, "tensors": 0})
    acc.Reload()
    tags = acc.Tags()
    for kind in ("scalars", "images", "histograms", "tensors"):
        print(kind + ":", ", ".join(tags[kind]) or "none")
    bad = 0
    for check in checks:
        tag, steps = check.rsplit("=", 1)
        first, last = map(int, steps.split("-"))
        seen = [e.step for e in acc.Scalars(tag)]
        if seen != list(range(first, last + 1)):
            print(f"FAIL {tag}: steps {seen}, expected {first} to {last}", file=sys.stderr)
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
