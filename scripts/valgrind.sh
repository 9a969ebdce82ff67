#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scripts/valgrind.sh BUILD - train, resume, evaluate and predict with a tiny network under memcheck. It sees what the
# sanitizers cannot: values that were never written, in code that the math libraries generate as well.
set -u
build=$(realpath "${1:-build}")
suppressions=$(realpath "$(dirname "$0")/../tests/valgrind.supp")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/tests/make_toy_data" "$work/data" 3 4 16 || exit 1
cd "$work" || exit 1
cat >config.yaml <<'Y'
name: valgrind
output_dir: runs/${name}
seed: 3
device: cpu
model: {name: resnet, num_classes: 3, layers: [1, 1], widths: [8, 16], stem: cifar, dropout: 0.1}
data:
  train: {type: image_folder, path: data/train}
  val: {type: image_folder, path: data/val}
  global_batch_size: 4
  num_workers: 1
transforms:
  train:
    - {RandomCrop: {size: 16, padding: 2}}
    - {ColorJitter: {brightness: 0.3, hue: 0.1}}
    - {Normalize: {mean: [0.5, 0.5, 0.5], std: [0.3, 0.3, 0.3]}}
    - {MixUp: {alpha: 0.2}}
  val: [{Normalize: {mean: [0.5, 0.5, 0.5], std: [0.3, 0.3, 0.3]}}]
optimizer: {name: adamw, lr: 0.003}
scheduler: {name: cosine, warmup_epochs: 1}
trainer: {epochs: 1, threads: 1, ema_decay: 0.9, grad_accum_steps: 2, clip_grad_norm: 1.0}
checkpoint: {every_n_steps: 2}
logging: {interval: 1, progress: false}
Y
passed=0 failed=0
memcheck() {
    echo "== ttrain $*"
    # With GOMP_SPINCOUNT set the program does not start itself anew.
    if GOMP_SPINCOUNT=0 valgrind --quiet --error-exitcode=9 --suppressions="$suppressions" --num-callers=20 \
        --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
        "$build/ttrain" "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: ttrain $*"
    fi
}
memcheck config.yaml
memcheck config.yaml trainer.epochs=2
memcheck eval config.yaml
memcheck predict config.yaml data/val
echo "valgrind: $passed passed, $failed failed"
[ $failed = 0 ]
