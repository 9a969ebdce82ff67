#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/decode.sh - the decode command and the program's first words: exit codes, what is printed where, no leftovers.
# Usage: TTRAIN=build/ttrain tests/decode.sh
set -u
: "${TTRAIN:=build/ttrain}"
TTRAIN=$(realpath "$TTRAIN")
images=$(realpath tests/data/images)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/in" "$work/out"
cd "$work" || exit 1
passed=0 failed=0
verdict() { if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok   $1"; else failed=$((failed + 1)); echo "FAIL $1"; fi; }
run() { "$TTRAIN" "$@" >stdout 2>stderr; }
# what, expected exit code, text in the first line of stderr, arguments: nothing on stdout, nothing written
refused() {
    run "${@:4}"
    [ $? = "$2" ] && head -n 1 stderr | grep -qF -- "$3" && [ ! -s stdout ] && [ -z "$(ls -A out)" ]
    verdict "$1" $?
}

run decode "$images/png_rgb16_trns.png" --output out/a.npy
[ $? = 0 ] && [ ! -s stderr ] && [ "$(ls -A out)" = a.npy ] && cmp -s out/a.npy "$images/expected/png_rgb16_trns.png.npy" &&
    [ "$(cat stdout)" = '{"kind":"image","format":"png","shape":[16,23,3],"dtype":"uint16"}' ]
verdict 'a PNG, its array as NumPy would save it' $?
rm -f out/*
run decode --output=out/b.npy "$images/jpeg_exif_6_le.jpg"
[ $? = 0 ] && [ "$(cat stdout)" = '{"kind":"image","format":"jpeg","shape":[35,21,3],"dtype":"uint8"}' ] &&
    [ "$(stat -c %s out/b.npy)" = $((128 + 35 * 21 * 3)) ]
verdict 'a JPEG, upright; --output=FILE before the name' $?
rm -f out/*
run decode "$images/png_bad_crc_ancillary.png"
[ $? = 0 ] && grep -q 'warning: .*png_bad_crc_ancillary.png' stderr && grep -q '"kind":"image"' stdout && [ -z "$(ls -A out)" ]
verdict 'an irregular file warns by name' $?
for name in a=b.png -b.png 'c d.png'; do
    cp "$images/png_rgb8.png" "in/$name"
    (cd in && "$TTRAIN" decode -- "$name" >/dev/null 2>&1)
    verdict "a file called $name" $?
done

# 8000 Hz, two channels of 16 bits, two frames
printf 'RIFF....WAVEfmt \20\0\0\0\1\0\2\0\100\37\0\0\0\175\0\0\4\0\20\0data\10\0\0\0\0\100\0\300\0\40\0\340' >in/a.wav
run decode in/a.wav --output out/a.npy
[ $? = 0 ] && [ ! -s stderr ] && [ "$(cat stdout)" = '{"kind":"audio","format":"wav","codec":"pcm_s16le","sample_rate":8000,"shape":[2,2],"dtype":"float32"}' ] &&
    [ "$(tail -c 16 out/a.npy | od -An -tf4 | tr -s ' ')" = ' 0.5 0.25 -0.5 -0.25' ]
verdict 'sound: channels, frames' $?
rm -f out/*
head -c 46 in/a.wav >in/cut.wav
refused 'cut sound' 3 'in/cut.wav: at byte 46' decode in/cut.wav --output out/a.npy
head -c 700 "$images/png_rgb8.png" >in/cut.png
: >in/empty.jpg
mkdir in/folder.png
mkfifo in/pipe.png
printf 'not a picture\n' >in/text.png
refused 'a cut file' 3 'in/cut.png: at byte 700' decode in/cut.png --output out/a.npy
refused 'an empty file' 3 'in/empty.jpg: the file is empty' decode in/empty.jpg --output out/a.npy
refused 'text' 3 'in/text.png: unknown format' decode in/text.png --output out/a.npy
refused 'a missing file' 3 'in/none.png' decode in/none.png --output out/a.npy
refused 'a folder' 3 'in/folder.png' decode in/folder.png --output out/a.npy
refused 'a pipe does not hang' 3 'in/pipe.png' decode in/pipe.png --output out/a.npy
refused 'no file' 2 'one file' decode
refused 'two files' 2 'one file' decode in/cut.png in/text.png
refused 'an unknown option' 2 "'--output'" decode in/cut.png --outptu out/a.npy
refused 'an option without its value' 2 '--output needs a value' decode in/cut.png --output
refused 'nowhere to write' 1 'nowhere/a.npy' decode "$images/png_rgb8.png" --output nowhere/a.npy
(ulimit -f 1 && "$TTRAIN" decode "$images/png_rgba16.png" --output out/a.npy >stdout 2>stderr)
[ $? = 1 ] && head -n 1 stderr | grep -q 'out/a.npy: .*File too large' && [ -z "$(ls -A out)" ]
verdict 'a limit on file sizes leaves nothing behind' $?
if [ -e /dev/full ]; then
    "$TTRAIN" decode "$images/png_rgb8.png" >/dev/full 2>stderr
    [ $? = 1 ] && grep -q 'standard output' stderr
    verdict 'a full disk under stdout is an error' $?
fi

run --version
[ $? = 0 ] && [ "$(cat stdout)" = 'ttrain 0.1.0' ]
verdict 'the version' $?
run --help
[ $? = 0 ] && grep -q '^  decode ' stdout
verdict 'help lists the commands' $?
run
[ $? = 2 ] && grep -q usage stderr && [ ! -s stdout ]
verdict 'nothing at all is a usage error' $?
refused 'a misspelt command' 2 "did you mean 'decode'?" decoed in/cut.png
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
