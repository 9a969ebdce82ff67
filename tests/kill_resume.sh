#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/kill_resume.sh - the same bits, whatever happens on the way.
#
# Trains a small ResNet once without interruption; then again, killed with SIGKILL at KILLS random moments and started
# anew each time; then with 1, 2 and 5 loader workers. Every final model.safetensors must be the same file, and so
# must the metrics. Usage: TTRAIN=build/ttrain [KILLS=20] [SEED=n] tests/kill_resume.sh
set -u
: "${TTRAIN:=build/ttrain}" "${KILLS:=20}" "${SEED:=$$}"
TTRAIN=$(realpath "$TTRAIN")
tools=$(dirname "$TTRAIN")/tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
RANDOM=$SEED
echo "seed $SEED"
passed=0 failed=0
verdict() { if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok   $1"; else failed=$((failed + 1)); echo "FAIL $1"; fi; }

"$tools/make_toy_data" "$work/data" 5 60 24 || exit 1
cd "$work" || exit 1
cat >config.yaml <<'Y'
name: kill
output_dir: runs/${name}
seed: 3
device: cpu
model: {name: resnet, num_classes: 5, layers: [1, 1], widths: [8, 16], stem: cifar, dropout: 0.1}
data:
  train: {type: image_folder, path: data/train}
  val: {type: image_folder, path: data/val}
  global_batch_size: 16
  num_workers: 2
  drop_last: false
transforms:
  train: [{RandomCrop: {size: 24, padding: 3}}, {ColorJitter: {brightness: 0.3, hue: 0.1}}, {Normalize: {mean: [0.5, 0.5, 0.5], std: [0.3, 0.3, 0.3]}}, {MixUp: {alpha: 0.2}}]
  val: [{Normalize: {mean: [0.5, 0.5, 0.5], std: [0.3, 0.3, 0.3]}}]
optimizer: {name: adamw, lr: 0.003}
scheduler: {name: cosine, warmup_epochs: 1}
trainer: {epochs: 24, threads: 2, ema_decay: 0.9, grad_accum_steps: 2, clip_grad_norm: 1.0}
checkpoint: {every_n_steps: 3, every_n_epochs: 1}
logging: {interval: 4, progress: false, plots: false}
Y
start=$(date +%s%N)
"$TTRAIN" config.yaml output_dir=runs/whole >whole.log 2>&1 || { cat whole.log; exit 1; }
whole_ms=$((($(date +%s%N) - start) / 1000000))
echo "the uninterrupted run took $whole_ms ms"

kills=0 tries=0
while [ $kills -lt "$KILLS" ] && [ $tries -lt 200 ]; do
    tries=$((tries + 1))
    "$TTRAIN" config.yaml output_dir=runs/killed >killed.log 2>&1 &
    pid=$!
    # between 50 ms and a quarter of a run, so that the kills fall on start-up, steps, checkpoints and validation alike
    ms=$((50 + RANDOM % (whole_ms / 4 + 1)))
    sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
    if kill -9 $pid 2>/dev/null; then
        wait $pid 2>/dev/null
        kills=$((kills + 1))
    else
        wait $pid
        status=$?
        [ $status = 0 ] || { cat killed.log; verdict "run ended with status $status" 1; break; }
        # it finished early: begin again so that all the kills are made
        cmp -s runs/whole/checkpoints/last/model.safetensors runs/killed/checkpoints/last/model.safetensors
        verdict "finished between kills ($kills made): same model" $?
        rm -rf runs/killed
    fi
done
"$TTRAIN" config.yaml output_dir=runs/killed >killed.log 2>&1
verdict "the run killed $kills times ends with status 0" $?
[ $kills = "$KILLS" ]
verdict "all $KILLS kills were made" $?
for f in checkpoints/last/model.safetensors checkpoints/last/optimizer.safetensors; do
    cmp runs/whole/$f runs/killed/$f
    verdict "killed: same $f" $?
done
strip() { grep -oE '"(event|step|epoch|train/loss|val/loss|val/acc1|lr)": ?[^,}]*' "$1"; }
cmp <(strip runs/whole/metrics.jsonl) <(strip runs/killed/metrics.jsonl)
verdict "killed: same losses, rates and accuracies in metrics.jsonl" $?

for workers in 1 5; do
    "$TTRAIN" config.yaml output_dir=runs/workers$workers data.num_workers=$workers >workers.log 2>&1
    verdict "$workers workers: status 0" $?
    cmp runs/whole/checkpoints/last/model.safetensors runs/workers$workers/checkpoints/last/model.safetensors
    verdict "$workers workers: same model as 2" $?
done
"$TTRAIN" config.yaml output_dir=runs/whole >again.log 2>&1
status=$?
[ $status = 0 ] && grep -qi complete again.log
verdict "a second start says that it is complete" $?
echo "$passed passed, $failed failed"
[ $failed = 0 ]
