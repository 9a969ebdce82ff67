#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/prepare.sh - ttrain prepare: whole trees or none, and nothing done twice. Usage: TTRAIN=build/ttrain tests/prepare.sh
set -u
: "${TTRAIN:=build/ttrain}"
TTRAIN=$(realpath "$TTRAIN")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
verdict() { if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok   $1"; else failed=$((failed + 1)); echo "FAIL $1"; fi; }
prepare() { "$TTRAIN" prepare mnist "$@" >out 2>err; }
# name, expected exit code, text that stderr must hold, arguments
refused() {
    prepare "${@:4}"
    [ $? = "$2" ] && head -n 1 err | grep -qF -- "$3"
    verdict "$1" $?
}

# three pictures of 2x2 with labels 2, 0, 2
printf '\0\0\10\3\0\0\0\3\0\0\0\2\0\0\0\2\1\2\3\4\5\6\7\10\11\12\13\14' | gzip >images.gz
printf '\0\0\10\1\0\0\0\3\2\0\2' >labels
set -- --images images.gz --labels labels

prepare "$@" --output deep/down/a/ --class-names x,y,z
[ $? = 0 ] && [ "$(cd deep/down/a && find . -name '*.png' | sort | tr '\n' ' ')" = './x/00001.png ./z/00000.png ./z/00002.png ' ] &&
    [ -d deep/down/a/y ] && [ "$(ls -A deep/down)" = a ]
verdict 'the tree is written' $?
"$TTRAIN" decode deep/down/a/z/00002.png --output a.npy >/dev/null &&
    [ "$(tail -c 12 a.npy | od -An -tu1 | tr -s ' ')" = ' 9 9 9 10 10 10 11 11 11 12 12 12' ]
verdict 'pictures have their pixels' $?
before=$(stat -c %Y%i deep/down/a/x/00001.png)
prepare "$@" --output deep/down/a --class-names x,y,z
[ $? = 0 ] && grep -q 'complete already' err && [ "$before" = "$(stat -c %Y%i deep/down/a/x/00001.png)" ]
verdict 'a second time does nothing' $?
refused 'other names are not mixed in' 2 'was not made from these' "$@" --output deep/down/a --class-names x,y,w
mkdir -p mine && touch mine/file
refused 'a folder of another making is left alone' 2 'was not made from these' "$@" --output mine
[ -f mine/file ]
verdict 'and keeps its files' $?
mkdir -p b.part/0 && touch b.part/0/stale.png
prepare "$@" --output b && [ -d b/0 ] && [ ! -e b/0/stale.png ] && [ ! -e b.part ]
verdict 'what a killed run left is replaced' $?
refused 'a label without a name' 3 'label 2, but --class-names lists 2' "$@" --output c --class-names x,y
refused 'a name that leads elsewhere' 2 "'../x'" "$@" --output c --class-names ../x,y,z
refused 'a hidden name' 2 "'.x'" "$@" --output c --class-names .x,y,z
refused 'a name twice' 2 'twice' "$@" --output c --class-names x,x,z
refused 'labels for pictures' 3 'labels: ' --images labels --labels labels --output c
refused 'another number of labels' 3 'one label for each' --images images.gz --labels images.gz --output c
refused 'a missing file' 3 'none.gz: ' --images none.gz --labels labels --output c
refused 'a missing argument' 2 '--output' "$@"
head -c 30 images.gz >cut.gz
refused 'a cut file' 3 'cut.gz: ' --images cut.gz --labels labels --output c
[ ! -e c ] && [ ! -e c.part ]
verdict 'failures leave nothing' $?
"$TTRAIN" prepare imagenet >out 2>err
[ $? = 2 ] && grep -q 'mnist' err
verdict 'an unknown kind' $?

echo "$passed passed, $failed failed"
[ $failed = 0 ]
