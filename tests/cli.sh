#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli.sh - the command line as a scheduler sees it: exit codes and the first line of stderr, for every way a run
# can be refused, stopped and taken up again; and the files that a run leaves. Usage: TTRAIN=build/ttrain tests/cli.sh
set -u
: "${TTRAIN:=build/ttrain}"
TTRAIN=$(realpath "$TTRAIN")
tools=$(dirname "$TTRAIN")/tests
tree=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
verdict() { if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok   $1"; else failed=$((failed + 1)); echo "FAIL $1"; fi; }
run() { timeout 300 "$TTRAIN" "$@" >out 2>err; }
# name, expected exit code, text that the first line of stderr must hold, arguments
exits() {
    run "${@:4}"
    local status=$?
    [ $status = "$2" ] && head -n 1 err | grep -qF -- "$3"
    verdict "$1" $?
    [ $status = "$2" ] || { echo "     status $status"; head -n 3 err; }
}
# The same of a run that began, so that the message is the last line.
ends() {
    run "${@:4}"
    local status=$?
    [ $status = "$2" ] && tail -n 1 err | grep -qE -- "$3"
    verdict "$1" $?
    [ $status = "$2" ] || { echo "     status $status"; tail -n 3 err; }
}
# name, text that stdout must hold, arguments; exit code 0
prints() {
    run "${@:3}" && grep -qF -- "$2" out
    verdict "$1" $?
}

"$tools/make_toy_data" "$work/data" 5 60 24 || exit 1
cd "$work" || exit 1
cat >config.yaml <<'Y'
name: toy
output_dir: runs/${name}
seed: 3
model: {name: resnet, num_classes: 5, layers: [1, 1], widths: [8, 16], stem: cifar}
data:
  train: {type: image_folder, path: data/train}
  val: {type: image_folder, path: data/val}
  global_batch_size: 16
  num_workers: 2
transforms:
  train: [{RandomCrop: {size: 24, padding: 3}}, {Normalize: {mean: [0.5, 0.5, 0.5], std: [0.3, 0.3, 0.3]}}]
  val: [{Normalize: {mean: [0.5, 0.5, 0.5], std: [0.3, 0.3, 0.3]}}]
optimizer: {name: sgd, lr: 0.05, momentum: 0.9}
trainer: {epochs: 3, threads: 2}
logging: {interval: 4, progress: false}
Y

# ---- words
exits 'no word at all' 2 'ttrain 0'
exits 'a misspelt command' 2 "no command 'trian' and no file of that name; did you mean 'train'?" trian
exits 'an unknown command' 2 "no command 'foo' and no file of that name; \`ttrain --help\` lists the commands" foo
cp config.yaml trian
prints 'a file that is called nearly as a command' 'output_dir' trian --print-config
exits 'an unknown option' 2 "unknown option '--nonsense'" train --nonsense config.yaml
exits 'a config that is not there' 2 'nothing.yaml: cannot open the configuration' nothing.yaml
exits 'a word that is no override' 2 "argument 'junk'" config.yaml junk
prints '--version' 'ttrain 0.' --version
prints '--help' 'usage: ttrain CONFIG.yaml' --help
for command in train eval predict decode bench prepare list; do
    prints "$command --help" "usage: ttrain" $command --help
    for flag in $(grep -oE -- '--[a-z-]+' out | sort -u); do
        sed 's/\\-/-/g' "$tree/docs/ttrain.1" | grep -qF -- "$flag"
        verdict "docs/ttrain.1 has $command $flag" $?
    done
done

# ---- configs
sed 's/^optimizer:/optimzer:/' config.yaml >typo.yaml
exits 'a misspelt key' 2 "typo.yaml:13:1: unknown key 'optimzer'; did you mean 'optimizer'?" typo.yaml
exits 'a misspelt key in an override' 2 "argument 'optimzer.lr=1': unknown key 'optimzer'" config.yaml optimzer.lr=1
exits 'a value of another type' 2 'epochs must be an integer' config.yaml trainer.epochs=many
printf 'model: {name: resnet\n' >broken.yaml
exits 'broken YAML' 2 'broken.yaml:2:1:' broken.yaml
exits 'a model that there is not' 2 "did you mean 'resnet'" config.yaml model.name=resnets
[ ! -e runs ]
verdict 'a refused config leaves no run directory' $?

# ---- lists
for kind in models layers transforms datasets optimizers schedulers losses ops; do
    run list $kind --options && [ "$(wc -l <out)" -ge 3 ]
    verdict "list $kind" $?
done
for layer in $(sed -nE 's/^[A-Za-z].*[ *]tt_(nn_)?([a-z0-9_]+)\(TtGraph .*/\2/p' "$tree/models/nn.h"); do
    "$TTRAIN" list layers | grep -q "^$layer "
    verdict "list layers has $layer of models/nn.h; else: a line in bin/list.c" $?
done
prints 'list names transforms' 'RandomResizedCrop' list transforms
prints 'list --options has defaults' '0.9, 0.999' list optimizers --options
exits 'list of what there is no list of' 2 "there is no list of 'modles'; did you mean 'models'?" list modles
exits 'list of nothing' 2 'list what?' list
run list --markdown && cmp out "$tree/docs/config.md"
verdict 'docs/config.md is what list --markdown prints; else: build/ttrain list --markdown >docs/config.md' $?
for words in 'list ops' 'list --markdown'; do
    # shellcheck disable=SC2086
    "$TTRAIN" $words >/dev/full 2>err
    [ $? = 1 ] && grep -q 'standard output: cannot be written' err
    verdict "$words to a full disk" $?
done

# ---- what a run needs
exits 'data that is not there' 3 'data/none: cannot open the folder' config.yaml data.train.path=data/none
exits 'weights that are not there' 4 'none.pth: cannot open' config.yaml model.weights=none.pth
exits 'weights of eval that are not there' 4 'none.pth: cannot open' eval config.yaml --weights none.pth
exits 'no checkpoint where one must be' 4 'no checkpoint to resume from' config.yaml --resume must
rm -rf runs
prints '--check' '5 classes' config.yaml --check
[ ! -e runs ]
verdict '--check leaves nothing' $?
run config.yaml --dry-run && ! ls runs/* >/dev/null 2>&1
verdict '--dry-run leaves nothing' $?

# ---- a run and its files
run config.yaml && grep -q '^done: 54 steps' out err
verdict 'a run' $?
side() { od -An -tu1 -j"$2" -N4 "$1" | { read -r a b c d; echo $((a << 24 | b << 16 | c << 8 | d)); }; }
for plot in first_batch loss accuracy lr grad_norm speed confusion_matrix class_accuracy worst_mistakes; do
    file=runs/toy/plots/$plot.png
    [ "$(head -c 4 $file | tail -c 3)" = PNG ] && [ "$(wc -c <$file)" -ge 4000 ] && [ "$(side $file 16)" -ge 800 ] &&
        [ "$(side $file 16)" -le 4000 ] && [ "$(side $file 20)" -ge 240 ] && [ "$(side $file 20)" -le 4000 ]
    verdict "plots/$plot.png" $?
done
[ "$(find runs/toy/plots -type f | wc -l)" = 9 ]
verdict 'no other file in plots' $?
for tag in first_batch confusion_matrix class_accuracy worst_mistakes; do
    grep -qa "pictures/$tag" runs/toy/tb/*
    verdict "pictures/$tag in TensorBoard's file" $?
done
run config.yaml output_dir=runs/bare logging.plots=false logging.images=false && [ ! -e runs/bare/plots ] &&
    ! grep -qa 'pictures/' runs/bare/tb/*
verdict 'no pictures when they are switched off' $?
cmp runs/toy/checkpoints/last/model.safetensors runs/bare/checkpoints/last/model.safetensors
verdict 'and the same model' $?
prints 'eval of the run' '"val/acc1":' eval config.yaml
run predict config.yaml --weights runs/toy/checkpoints/last/model.safetensors "$(find data/val -name '*.png' | sort | head -n 1)" &&
    [ "$(wc -l <out)" = 1 ]
verdict 'predict with its weights' $?

# ---- a run that is there already
before=$(stat -c %Y%s runs/toy/metrics.jsonl)
exits 'a complete run' 0 'runs/toy is complete: 54 of 54 steps done' config.yaml
[ "$before" = "$(stat -c %Y%s runs/toy/metrics.jsonl)" ]
verdict 'nothing is done to it' $?
exits 'resume never' 2 'runs/toy holds a run already' config.yaml --resume never
exits 'another config' 2 'the config differs from the one this run was started with' config.yaml optimizer.lr=0.01
exits '--overwrite with a config that is refused' 2 "unknown model 'resnets'" config.yaml --overwrite model.name=resnets
[ "$before" = "$(stat -c %Y%s runs/toy/metrics.jsonl)" ]
verdict 'removes nothing' $?
run config.yaml --overwrite trainer.epochs=1 && grep -q '^done: 18 steps' out err && [ "$(grep -c '"val"' runs/toy/metrics.jsonl)" = 1 ]
verdict '--overwrite begins anew' $?

# ---- stopped, and taken up again
stopped=(config.yaml output_dir=runs/stopped trainer.epochs=60 trainer.ema_decay=0.9)
run "${stopped[@]}" output_dir=runs/whole
verdict 'an uninterrupted run' $?
rows() { if [ -f runs/stopped/summary.csv ]; then wc -l <runs/stopped/summary.csv; else echo 1; fi; }
# name, signal, expected exit code: sent after two more validations, of which the first is drawn at once
stops() {
    local before
    before=$(rows)
    # a shell without a terminal starts background jobs deaf to SIGINT
    env --default-signal=INT "$TTRAIN" "${stopped[@]}" >run.out 2>run.err &
    local pid=$!
    for _ in $(seq 1000); do
        [ "$(rows)" -ge $((before + 2)) ] && break
        sleep 0.01
    done
    exits "$1: a second start meanwhile" 2 'runs/stopped' "${stopped[@]}"
    kill -s "$2" $pid
    wait $pid
    local status=$?
    [ $status = "$3" ] && grep -q "stopped by SIG$2 at step .*run again to go on" run.err
    verdict "$1: exit code $3" $?
    [ $status = "$3" ] || { echo "     status $status"; tail -n 3 run.err; }
    grep -q '"state": "stopped"' runs/stopped/status.json
    verdict "$1: status.json says stopped" $?
    [ runs/stopped/plots/loss.png -nt runs/stopped/summary.csv ]
    verdict "$1: the last validation is drawn" $?
}
stops SIGTERM TERM 75
stops SIGINT INT 130
ends 'max_time' 75 '^stopped by trainer.max_time at step .*run again to go on' "${stopped[@]}" trainer.max_time=0.05
run "${stopped[@]}"
verdict 'the stopped run goes on to its end' $?
cmp runs/whole/checkpoints/last/model.safetensors runs/stopped/checkpoints/last/model.safetensors
verdict 'with the same model' $?
numbers() { grep -oE '"(event|step|epoch|train/loss|val/loss|val/acc1|lr)": ?[^,}]*' "$1"; }
cmp <(numbers runs/whole/metrics.jsonl) <(numbers runs/stopped/metrics.jsonl)
verdict 'and the same metrics' $?

# ---- a run that goes wrong
ends 'not finite' 5 '^diverged: .* was not finite at .*lower optimizer.lr' config.yaml output_dir=runs/diverged optimizer.lr=1e30
grep -q '"state": "failed"' runs/diverged/status.json && grep -q 'exit 5: diverged' runs/diverged/train.log
verdict 'not finite: status.json and train.log say so' $?
echo "$passed passed, $failed failed"
[ $failed = 0 ]
