#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/training.sh - what a run decides by itself: rates by a plateau, folds, averaged weights, steps that are not finite,
# early stopping, being told to stop at an awkward moment. Usage: TTRAIN=build/ttrain tests/training.sh
set -u
: "${TTRAIN:=build/ttrain}"
TTRAIN=$(realpath "$TTRAIN")
tools=$(dirname "$TTRAIN")/tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
verdict() { if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok   $1"; else failed=$((failed + 1)); echo "FAIL $1"; fi; }
run() { timeout 100 "$TTRAIN" "$@" >out 2>err; }
# name, expected status, arguments
status() {
    run "${@:3}"
    local s=$?
    [ $s = "$2" ]
    verdict "$1" $?
    [ $s = "$2" ] || { echo "     status $s"; tail -n 3 err; }
}
# values of a key in a run's metrics.jsonl, one a line: run, event, key
values() { grep "\"event\":\"$2\"" "runs/$1/metrics.jsonl" | grep -o "\"$3\":[^,}]*" | cut -d: -f2; }
final() { sha256sum <"runs/$1/checkpoints/last/$2"; }

"$tools/make_toy_data" "$work/data" 4 40 16 || exit 1
cd "$work" || exit 1
cat >config.yaml <<'Y'
name: toy
output_dir: runs/${name}
seed: 5
model: {name: resnet, num_classes: 4, layers: [1], widths: [8], stem: cifar}
data:
  train: {type: image_folder, path: data/train}
  val: {type: image_folder, path: data/val}
  global_batch_size: 16
  num_workers: 2
transforms:
  train: [{Normalize: {mean: [0.5, 0.5, 0.5], std: [0.3, 0.3, 0.3]}}]
  val: [{Normalize: {mean: [0.5, 0.5, 0.5], std: [0.3, 0.3, 0.3]}}]
optimizer: {name: sgd, lr: 0.05, momentum: 0.9}
trainer: {epochs: 3, threads: 1}
logging: {interval: 1, progress: false, plots: false, tensorboard: false}
Y

# ---- the plateau schedule watches its own metric, by default val/loss
frozen='model.freeze=["*"]'
status 'plateau' 0 config.yaml name=plateau 'scheduler={name: plateau, patience: 0, factor: 0.5, monitor: val/loss}' \
    "$frozen" trainer.epochs=4 optimizer.weight_decay=0
last=$(values plateau train lr | tail -n 1)
[ "$(values plateau train lr | head -n 1)" = 0.05 ] && awk "BEGIN{exit !($last < 0.02)}"
verdict 'a loss that stands still lowers the rate' $?
status 'plateau of a falling loss' 0 config.yaml name=falling trainer.epochs=4 optimizer.lr=0.01 optimizer.momentum=0 \
    'scheduler={name: plateau, patience: 0, factor: 0.5}' checkpoint.monitor=val/acc1
awk -v losses="$(values falling val val/loss | tr '\n' ' ')" -v rates="$(values falling train lr | sort -u | wc -l)" \
    'BEGIN{n=split(losses,l," "); fall=1; for(i=2;i<=n;i++) if(l[i]>=l[i-1]) fall=0; exit !(fall ? rates==1 : rates>1)}'
verdict 'the rate falls only when the loss does not' $?
status 'a metric that plateau cannot watch' 2 config.yaml name=nothing 'scheduler={name: plateau, monitor: val/nonsense}'

# ---- metrics that decide something are checked before an epoch is spent
status 'an unknown metric' 2 config.yaml name=nothing checkpoint.monitor=val/acc2
head -n 1 err | grep -q "did you mean 'val/acc1'" && [ ! -e runs/nothing ]
verdict 'and what was meant' $?

# ---- folds
status 'folds' 0 config.yaml name=fold0 data.val=null data.folds=4 data.fold=0 trainer.epochs=1
[ "$(values fold0 val val/samples)" = 40 ]
verdict 'a fourth of the training set validates' $?
status 'eval of a fold' 0 eval config.yaml name=fold0 data.val=null data.folds=4 data.fold=0
grep -q '"val/samples":40' out
verdict 'eval takes the same part' $?

# ---- the moving average is what was validated, and what eval takes
status 'moving average' 0 config.yaml name=ema trainer.ema_decay=0.9
best=$(values ema val val/loss | tail -n 1)
status 'eval of it' 0 eval config.yaml name=ema --weights runs/ema/checkpoints/last/model_ema.safetensors
grep -q "\"val/loss\":$best," out
verdict 'the averaged weights give the validated loss' $?
run eval config.yaml name=ema --weights runs/ema/checkpoints/last/model.safetensors
! grep -q "\"val/loss\":$best," out
verdict 'the others another' $?
status 'eval finds the averaged weights' 0 eval config.yaml name=ema checkpoint.monitor=val/loss
status 'moving average, in two parts' 75 config.yaml name=ema2 trainer.ema_decay=0.9 trainer.max_time=0.000001
while [ "$(run config.yaml name=ema2 trainer.ema_decay=0.9; echo $?)" = 75 ]; do :; done
[ "$(final ema model_ema.safetensors)" = "$(final ema2 model_ema.safetensors)" ]
verdict 'the same average' $?

# ---- a step that is not finite leaves no trace
status 'overflow' 0 config.yaml name=overflow optimizer.lr=1e30 trainer.max_steps=3 trainer.nonfinite_patience=100 \
    data.val=null
status 'without it' 0 config.yaml name=first optimizer.lr=1e30 trainer.max_steps=1 data.val=null
if cmp -s runs/overflow/checkpoints/last/model.safetensors runs/first/checkpoints/last/model.safetensors; then
    verdict 'skipped steps change neither weights nor statistics' 0
else
    verdict 'skipped steps change neither weights nor statistics' 1
fi

# ---- early stopping counts validations without improvement
status 'early stopping' 0 config.yaml name=early trainer.epochs=9 \
    'trainer.early_stopping={patience: 2, min_delta: 100}' checkpoint.monitor=val/loss
[ "$(values early val val/loss | wc -l)" = 3 ] # the first, and two that are no better
verdict 'it stops behind the second that is no better' $?

# ---- what this build cannot do is refused
status 'device: cuda' 2 config.yaml name=nothing device=cuda
status 'virtual ranks' 2 config.yaml name=nothing distributed.virtual_ranks=2
status 'another backend' 2 config.yaml name=nothing distributed.backend=nccl

# ---- weighted sampling with weights of its own making
status 'weighted by class sizes' 0 config.yaml name=weighted data.sampler=weighted trainer.epochs=1

# ---- a bad picture is left out of validation, not replaced
mkdir -p bad/val
cp -r data/val/. bad/val/
one=$(find bad/val -name '*.png' | sort | head -n 1)
head -c 40 "$one" >cut && mv cut "$one"
status 'validation with a cut picture' 0 config.yaml name=skip trainer.epochs=1 data.val.path=bad/val data.on_error=skip
all=$(find data/val -name '*.png' | wc -l)
[ "$(values skip val val/samples)" = $((all - 1)) ]
verdict 'one sample less' $?
good=$(find data/val -name '*.png' | sort | sed -n 2p)
status 'predict with a cut picture' 0 predict config.yaml name=skip data.on_error=skip "$good" "$one" "$good"
[ "$(wc -l <out)" = 2 ] && ! grep -qF "$one" out
verdict 'no result for it' $?

# ---- --overwrite
before=$(final ema model.safetensors)
status 'overwrite without data' 3 train config.yaml name=ema data.train.path=nowhere --overwrite
[ "$(final ema model.safetensors)" = "$before" ]
verdict 'nothing is lost' $?
mkdir -p own/plots && cp config.yaml own/ && echo thesis >own/plots/thesis.png
(cd own && timeout 60 "$TTRAIN" train config.yaml output_dir=. data.train.path=../data/train data.val.path=../data/val \
    trainer.epochs=1 --overwrite 2>err)
[ -s own/plots/thesis.png ] && [ -s own/config.yaml ]
verdict 'a folder that is no run keeps its files' $?

# ---- a checkpoint that is not what was written
cp -r runs/ema runs/flipped
for f in runs/flipped/checkpoints/step_*/model_ema.safetensors; do
    printf '\377' | dd of="$f" bs=1 seek=4000 conv=notrunc 2>/dev/null
done
status 'eval of a damaged checkpoint' 4 eval config.yaml name=flipped
mkdir -p fewer/val && cp -r data/val/. fewer/val && rm -r "$(find fewer/val -mindepth 1 -maxdepth 1 | sort | head -n 1)"
status 'eval on other classes' 3 eval config.yaml name=ema data.val.path=fewer/val

# ---- told to stop in the middle of a validation
for d in data/val/*; do
    mkdir -p "many/$(basename "$d")"
    for f in "$d"/*; do
        for i in 1 2 3 4 5; do cp "$f" "many/$(basename "$d")/$i$(basename "$f")"; done
    done
done
slow="data.val.path=many model.layers=[6] model.widths=[96] trainer.epochs=2 data.val_batch_size=1"
# shellcheck disable=SC2086
status 'uninterrupted' 0 config.yaml name=whole $slow
# shellcheck disable=SC2086
timeout 100 "$TTRAIN" config.yaml name=stopped $slow logging.progress=true 2>err >out &
pid=$!
for _ in $(seq 2000); do grep -q 'val 0 \[' err && break; sleep 0.01; done
kill -TERM $pid
wait $pid
[ $? = 75 ]
verdict 'stopped within a validation' $?
[ -d runs/stopped/checkpoints/last ] && [ ! -s runs/stopped/summary.csv ]
verdict 'with a checkpoint, and without its result' $?
# shellcheck disable=SC2086
status 'going on' 0 config.yaml name=stopped $slow
[ "$(final whole model.safetensors)" = "$(final stopped model.safetensors)" ] &&
    [ "$(values whole val val/loss)" = "$(values stopped val val/loss)" ]
verdict 'same weights, same validations' $?

# ---- closed streams, files that never end
timeout 60 "$TTRAIN" config.yaml name=closed trainer.epochs=1 <&- >&- 2>&-
[ $? = 0 ] && ! grep -q '^train 0' runs/closed/metrics.jsonl
verdict 'closed streams do not end up in the logs' $?
mkfifo pipe
run eval config.yaml name=ema --weights pipe
[ $? = 4 ]
verdict 'a pipe for weights' $?
run eval config.yaml name=ema --weights /dev/zero
[ $? = 4 ]
verdict 'a device for weights' $?
for what in --version --help; do
    "$TTRAIN" $what >/dev/full 2>/dev/null
    [ $? = 1 ]
    verdict "a full disk under $what" $?
done
status 'resume must, and nothing there' 4 train config.yaml name=never-made --resume must
[ ! -e runs/never-made ]
verdict 'leaves no folder' $?

echo "$passed passed, $failed failed"
[ $failed = 0 ]
