#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/sound.sh - training on sound from end to end, on clips made for it: every kind of job learns, goes on after a kill
# with the same bits, and says what is wrong with its files. Usage: TTRAIN=build/ttrain tests/sound.sh
set -u
: "${TTRAIN:=build/ttrain}"
TTRAIN=$(realpath "$TTRAIN")
tools=$(realpath "$(dirname "$TTRAIN")/tests")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
verdict() { if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok   $1"; else failed=$((failed + 1)); echo "FAIL $1"; fi; }
run() { timeout 200 "$TTRAIN" "$@" >out 2>err; }
# name, expected status, text that stderr must hold, arguments
ends() {
    run "${@:4}"
    local s=$?
    [ $s = "$2" ] && grep -qF -- "$3" err
    verdict "$1" $?
    [ $s = "$2" ] && grep -qF -- "$3" err || { echo "     status $s"; tail -n 3 err; }
}
values() { grep "\"event\":\"$2\"" "runs/$1/metrics.jsonl" | grep -o "\"$3\":[^,}]*" | cut -d: -f2; }
final() { sha256sum <"runs/$1/checkpoints/last/model.safetensors"; }
# The last value of a metric is below a bound: run, key, bound
below() { awk -v v="$(values "$1" val "$2" | tail -n 1)" -v b="$3" 'BEGIN{exit !(v != "" && v < b)}'; }

cd "$work" || exit 1
"$tools/make_toy_sound" data train 48 1 && "$tools/make_toy_sound" data val 12 2 || exit 1
features='[{MelSpectrogram: {sample_rate: 8000, n_fft: 256, hop_length: 80, n_mels: 20}}, {Log: {}}, {Normalize: {mean: [-2], std: [4]}}]'
common="output_dir: runs/\${name}
optimizer: {name: adam, lr: 3e-3}
trainer: {epochs: 6, clip_grad_norm: 5, threads: 1}
logging: {interval: 1, plots: false, tensorboard: false}"
cat >speech.yaml <<Y
name: speech
model: {name: wav2letter, num_classes: 6, input_type: mfcc, num_features: 20}
data:
  train: {type: audio_manifest, path: data/train_speech.tsv, sample_rate: 8000, labels: "*abcde"}
  val: {type: audio_manifest, path: data/val_speech.tsv, sample_rate: 8000, labels: "*abcde"}
  global_batch_size: 6
transforms: {train: $features, val: $features}
$common
Y
cat >separation.yaml <<Y
name: separation
model: {name: conv_tasnet, enc_num_feats: 32, msk_num_feats: 16, msk_num_hidden_feats: 32, msk_num_layers: 3, msk_num_stacks: 1}
data:
  train: {type: separation_manifest, path: data/train_mixtures.tsv, sample_rate: 8000, segment: 0.3}
  val: {type: separation_manifest, path: data/val_mixtures.tsv, sample_rate: 8000}
  global_batch_size: 6
$common
Y
cat >vocoder.yaml <<Y
name: vocoder
model: {name: wavernn, upsample_scales: [8, 10], hop_length: 80, n_classes: 64, n_rnn: 32, n_fc: 32, n_res_block: 1, n_freq: 20, n_hidden: 16, n_output: 16}
data:
  train: {type: vocoder_manifest, path: data/train_speech.tsv, sample_rate: 8000}
  val: {type: vocoder_manifest, path: data/val_speech.tsv, sample_rate: 8000}
  global_batch_size: 6
transforms: {train: $features, val: $features}
$common
Y

# ---- each learns, and is the same after kills and with other numbers of workers
# config, metric, bound
learns() {
    ends "$1 trains" 0 'done:' "$1.yaml"
    below "$1" "$2" "$3"
    verdict "$1: $2 falls below $3" $?
    [ "$(values "$1" val val/loss | head -n 1)" != "$(values "$1" val val/loss | tail -n 1)" ]
    verdict "$1: the loss moves" $?
    run "$1.yaml" name="$1-parts" checkpoint.every_n_steps=5 data.num_workers=3 trainer.max_time=0.3
    while [ $? = 75 ]; do run "$1.yaml" name="$1-parts" checkpoint.every_n_steps=5 data.num_workers=1 trainer.max_time=0.3; done
    [ "$(final "$1")" = "$(final "$1-parts")" ]
    verdict "$1: the same bits in parts" $?
    run eval "$1.yaml"
    [ $? = 0 ] && grep -q "\"$2\":" out
    verdict "$1: eval" $?
    run train "$1.yaml" --check
    [ $? = 0 ] && grep -q '^memory: about' out
    verdict "$1: check" $?
    ends "$1: dry run" 0 'dry run: ok' train "$1.yaml" --dry-run
    ends "$1: bench step" 0 'step:' bench step "$1.yaml" --steps 3
    ends "$1: bench data" 0 'data:' bench data "$1.yaml" --steps 3
}
learns separation val/loss -2
learns vocoder val/loss 3.9
sed -i 's/lr: 3e-3/lr: 3e-4/' speech.yaml
learns speech val/loss 2.6

# Mixtures made while training are the same whatever the number of workers.
mix='data.train={type: separation_mix, path: data/train_voices.tsv, sample_rate: 8000, segment: 0.3}'
ends 'mixing while training' 0 'done:' separation.yaml name=mix1 "$mix" trainer.epochs=2 data.num_workers=1
below mix1 val/loss -2
verdict 'mixing: val/loss falls below -2' $?
ends 'mixing by three workers' 0 'done:' separation.yaml name=mix3 "$mix" trainer.epochs=2 data.num_workers=3
[ "$(final mix1)" = "$(final mix3)" ]
verdict 'mixing: the same bits with other workers' $?

# ---- kinds of job do not mix
ends 'pictures for a speech model' 2 'image_folder is no data set for wav2letter; it takes audio_manifest' speech.yaml \
    name=x 'data.train={type: image_folder, path: data}'
ends 'a loss of another job' 2 'the loss cross_entropy does not fit the model; it takes ctc' speech.yaml name=x \
    'loss={name: cross_entropy}'
ends 'a transform of pictures' 2 'CenterCrop works on pictures' speech.yaml name=x \
    'transforms.train=[{CenterCrop: {size: 8}}]'
ends 'a metric of another job' 2 "there is no metric 'val/acc1'" speech.yaml name=x checkpoint.monitor=val/acc1
ends 'another number of features' 2 'model.num_features is 13' speech.yaml name=x model.num_features=13
ends 'another hop' 2 'they must agree' vocoder.yaml name=x 'transforms.train.0.MelSpectrogram.hop_length=100'
ends 'another number of classes' 2 'data.train has 6 classes but model.num_classes is 4' speech.yaml name=x \
    model.num_classes=4
ends 'another number of sources' 2 'data.train has 2 sources a mixture' separation.yaml name=x model.num_sources=3

# ---- files that are wrong
printf 'path\ttext\nnone.wav\tab\n' >data/missing.tsv
ends 'a missing file' 3 'listed at data/missing.tsv:2' speech.yaml name=x data.train.path=data/missing.tsv \
    data.global_batch_size=1
printf 'path\ttext\ntrain_speech_0.wav\taXbc\n' >data/letters.tsv
ends 'a letter that is no class' 3 'data/letters.tsv:2' speech.yaml name=x data.train.path=data/letters.tsv \
    data.global_batch_size=1
printf 'file\ttext\nx.wav\tab\n' >data/columns.tsv
ends 'a missing column' 3 "no column 'path'" speech.yaml name=x data.train.path=data/columns.tsv
printf 'path\ttext\nx.wav\n' >data/fields.tsv
ends 'a missing field' 3 'data/fields.tsv:2: 1 fields where the header has 2' speech.yaml name=x \
    data.train.path=data/fields.tsv
printf 'path\ttext\n' >data/empty.tsv
ends 'no lines' 3 'no lines below the header' speech.yaml name=x data.train.path=data/empty.tsv
printf 'mixture\tsource1\tsource2\ntrain_mix_0.wav\ttrain_mix_0_1.wav\ttrain_speech_0.wav\n' >data/lengths.tsv
ends 'sources of another length' 3 'they must be of one length' separation.yaml name=x data.train.path=data/lengths.tsv \
    data.global_batch_size=1
head -c 3000 data/train_speech_3.wav >data/cut.wav
{ cat data/train_speech.tsv && printf 'cut.wav\tabc\t3000\n'; } >data/with_cut.tsv
ends 'a cut file' 3 'data/cut.wav' speech.yaml name=x data.train.path=data/with_cut.tsv data.shuffle=false trainer.epochs=2 data.drop_last=false
ends 'a cut file left out' 0 'done:' speech.yaml name=skip data.val.path=data/with_cut.tsv data.on_error=skip \
    trainer.epochs=1
[ "$(values skip val val/samples)" = 48 ]
verdict 'and not counted' $?

echo "$passed passed, $failed failed"
[ $failed = 0 ]
