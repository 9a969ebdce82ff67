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
kind=mnist
prepare() { "$TTRAIN" prepare $kind "$@" >out 2>err; }
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
kind=''
refused 'no kind' 2 'say what: mnist, festvox-ru'
refused 'an unknown kind' 2 "'imagenet' is not known; there are mnist" imagenet
refused 'a misspelt kind' 2 "did you mean 'fillets'?" filets
refused "another kind's flag" 2 '--labels is only for mnist' fillets . --labels x --output c
refused 'a folder for MNIST' 2 "'x' is one word too many" mnist "$@" x --output c
refused 'no folder' 2 'name the folder' asterisk --output c
refused 'a folder without the package' 3 'unpack the Debian package festvox-ru' festvox-ru . --output c

# ---- sound

le() { for ((i = 0; i < $1; i++)); do printf "\\x$(printf %x $(($2 >> 8 * i & 255)))"; done; }
# FILE RATE FRAMES SEED: a 16-bit WAV file of noise, the same each time
wav() {
    mkdir -p "$(dirname "$1")"
    { printf RIFF; le 4 $((36 + 2 * $3)); printf WAVEfmt\ ; le 4 16; le 2 1; le 2 1; le 4 "$2"; le 4 $((2 * $2)); le 2 2
      le 2 16; printf data; le 4 $((2 * $3))
      awk -v n=$((2 * $3)) -v x=$((7919 * $4 + 1)) 'BEGIN { for (i = 0; i < n; i++) { x = (x * 16807) % 2147483647
          printf "%c", i % 2 ? 33 + x % 4 : 33 + x % 90 } }'; } >"$1"
}
# the 16-bit samples of a WAV file that we wrote, one a line
samples() { tail -c +45 "$1" | od -An -v -w2 -td2; }

# -- festvox-ru
kind=festvox-ru voice=fest/usr/share/festival/voices/russian/msu_ru_nsh_clunits
mkdir -p $voice/etc
for n in {1..12}; do
    wav $voice/wav/ru_$n.wav 16000 $((1000 + n)) "$n"
    echo "( ru_$n \"Сл+ово, abc «ЁЖ» - \"$n\" да.\" )"
done >good
{ cat good; echo; } >$voice/etc/txt.done.data
prepare fest --output ru
[ $? = 0 ] && [ "$(ls -A ru)" = "$(printf '%s\n' .prepared.json test.tsv train.tsv vocoder_test.tsv vocoder_train.tsv wav)" ] &&
    [ "$(cat ru/test.tsv)" = "$(printf 'path\ttext\tframes\nwav/ru_10.wav\tслово ёж да\t1010')" ] &&
    [ "$(cat ru/vocoder_test.tsv)" = "$(printf 'path\tframes\nwav/ru_10.wav\t1010')" ] &&
    [ "$(wc -l <ru/train.tsv)" = 12 ] && [ "$(tail -n 1 ru/vocoder_train.tsv)" = "$(printf 'wav/ru_12.wav\t1012')" ] &&
    diff -r $voice/wav ru/wav
verdict 'festvox-ru: texts, split and recordings' $?
prepare fest --output ru && grep -q 'complete already' err
verdict 'festvox-ru: a second time does nothing' $?
wav $voice/wav/ru_3.wav 16000 1003 99
refused 'festvox-ru: another recording is another set' 2 'was not made from these' fest --output ru
list=$voice/etc/txt.done.data
bad() { # name, text that stderr must hold, a last line, as printf takes it
    { cat good; printf "$3"; } >$list
    refused "festvox-ru: $1" 3 "$2" fest --output c
}
bad 'no parentheses' 'txt.done.data:13: no line of the form' 'ru_1 "да"'
bad 'no text' 'txt.done.data:13: no line of the form' '( ru_1 )'
bad 'one quote' 'txt.done.data:13: no line of the form' '( ru_1 " )'
bad 'nothing but Latin' 'txt.done.data:13: there is no Russian word' '( ru_13 "yes" )'
bad 'a name that leads elsewhere' "txt.done.data:13: '../../x' cannot" '( ../../x "да" )'
bad 'a hidden name' "txt.done.data:13: '.x' cannot" '( .x "да" )'
bad 'a recording that is not there' 'txt.done.data:13: the recording wav/ru_13.wav is missing' '( ru_13 "да" )'
bad 'a name twice' 'txt.done.data:13: wav/ru_1.wav is there already, of line 1' '( ru_1 "да" )'
bad 'a broken letter' 'txt.done.data:13: at byte' '( ru_1 "\320" )'
bad 'a zero byte' 'txt.done.data:13: at byte' '( ru_1 "\0" )'
head -n 9 good >$list
refused 'festvox-ru: too few' 3 'so 10 are needed' fest --output c
cp good $list
head -c 500 $voice/wav/ru_5.wav >cut && cp cut $voice/wav/ru_5.wav
refused 'festvox-ru: a cut recording' 3 'txt.done.data:5)' fest --output c
wav $voice/wav/ru_5.wav 8000 1000 5
refused 'festvox-ru: another rate' 3 'at 8000 Hz' fest --output c

# -- asterisk: the content decides what a file is, so the recordings may be WAV files
kind=asterisk sounds=ast/usr/share/asterisk/sounds/en_US_f_Allison list=ast/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz
mkdir -p "$(dirname $list)"
for n in {1..6}; do wav $sounds/p$n.g722 16000 $((200 + n)) "$n"; wav $sounds/digits/$n.g722 8000 100 "$n"; done
wav $sounds/silence/1.g722 16000 100 1
cat >good <<'END'
; a comment

p1: Don't -- press 1-2 [beep] NOW, <x> please.
p2: call 42
p3: [a tone]
p4: (quiet)
p5: version2
gone: Gone.
silence/1: One second.
p6: 7
digits/1: one
digits/2: two
digits/3: three
digits/4: four
digits/5: five
digits/6: six
END
for n in {10..13}; do wav $sounds/q$n.g722 16000 $((200 + n)) "$n"; echo "q$n: a [b"; done >>good
gzip <good >$list
prepare ast --output en
[ $? = 0 ] && grep -q 'texts without a recording: 1, the first in line 8' err &&
    [ "$(cat en/test.tsv)" = "$(printf 'path\ttext\tframes\nwav/q11.wav\ta b\t211')" ] &&
    [ "$(head -n 4 en/train.tsv)" = "$(printf 'path\ttext\tframes\nwav/p1.wav\t%s\t201\nwav/p6.wav\tseven\t206\nwav/digits_1.wav\tone\t200' \
        "don't press one two now please")" ] && [ "$(wc -l <en/train.tsv)" = 12 ]
verdict 'asterisk: texts, split and rates' $?
samples $sounds/p6.g722 >a && samples en/wav/p6.wav | cmp - a
verdict 'asterisk: samples' $?
bad() {
    { cat good; printf "$3"; } | gzip >$list
    refused "asterisk: $1" 3 "$2" ast --output c
}
bad 'no colon' 'core-sounds-en.txt.gz:21: no line of the form' 'hello'
bad 'a name that leads elsewhere' "core-sounds-en.txt.gz:21: 'a/../../b' cannot" 'a/../../b: Hello.'
bad 'an absolute name' "core-sounds-en.txt.gz:21: '/a' cannot" '/a: Hello.'
bad 'a name twice' 'core-sounds-en.txt.gz:21: wav/digits_1.wav is there already, of line 11' 'digits/1: One.'
bad 'odd bytes' 'core-sounds-en.txt.gz:21: at byte' 'p1: \377'
gzip <good | head -c 100 >$list
refused 'asterisk: a cut list' 3 'core-sounds-en.txt.gz: at byte' ast --output c
cp good $list
prepare ast --output plain && diff -r -x .prepared.json en plain
verdict 'asterisk: a list that is not compressed' $?

# -- fillets
tab=$(printf '\t')
kind=fillets game=usr/share/games/fillets-ng
mkdir -p text/$game/script/{a,b,none}
cat >good <<'END'
-- comments "are left out
dialogId("m-1", "font_small", "English \"and so on\" \\")
dialogStr("Text")
dialogId("v-1", "font_big",
"On the next line")
dialogStr(
"As well") dialogId("x", "font_crab", "") -- behind
dialogId("v-silent", "font_big", "Not recorded")
dialogStr("")
END
for l in cs nl; do
    cp good text/$game/script/a/dialogs_$l.lua
    cp good text/$game/script/b/dialogs_$l.lua
    for id in m-1 v-1 x; do
        wav $l/$game/sound/a/$l/$id.ogg 8000 33000 "$(cksum <<<$l$id | cut -c 1-3)"
        wav $l/$game/sound/b/$l/$id.ogg 11025 4000 7
    done
done
wav nl/$game/sound/b/nl/m-1.ogg 8000 0 1
prepare text cs nl --output fish
[ $? = 0 ] && [ "$(cat fish/cs.tsv)" = "$(printf 'path\tspeaker\tseconds
cs/small/a_m-1.wav\tsmall\t4.125000\ncs/big/a_v-1.wav\tbig\t4.125000
cs/small/b_m-1.wav\tsmall\t0.362875\ncs/big/b_v-1.wav\tbig\t0.362875')" ] &&
    [ "$(cut -f 1 fish/nl.tsv | tr '\n' ' ')" = 'path nl/small/a_m-1.wav nl/big/a_v-1.wav nl/big/b_v-1.wav ' ] &&
    [ "$(find fish -name '*.wav' | wc -l)" = 607 ]
verdict 'fillets: speakers, fonts and rates' $?
grep -q 'b/nl/m-1.ogg: there are no samples in this file (listed at text/.*/b/dialogs_nl.lua:2); left out' err
verdict 'fillets: an empty recording is warned of' $?
[ "$(wc -l <fish/test.tsv)" = 201 ] && [ "$(head -n 1 fish/test.tsv)" = "mixture${tab}source1${tab}source2${tab}snr" ] &&
    for k in 000 007 199; do
        paste <(samples fish/test/mixture/$k.wav) <(samples fish/test/source1/$k.wav) <(samples fish/test/source2/$k.wav)
    done >a && grep "${tab}test/source2/007" fish/test.tsv | cut -f 4 >snr &&
    awk -v want="$(cat snr)" '$1 != $2 + $3 { exit 1 } { for (i = 1; i < 4; i++) if ($i > m || -$i > m) m = $i > 0 ? $i : -$i }
        NR > 32000 && NR <= 64000 { a += $2 * $2; b += $3 * $3 }
        END { d = 10 * log(a / b) / log(10) - want; exit !(NR == 96000 && m > 29400 && m < 29600 && d < 0.01 && d > -0.01) }' a
verdict 'fillets: a mixture is the sum of its sources at their ratio' $?
cut -f 4 fish/test.tsv | awk 'NR > 1 && ($1 < -5 || $1 > 5) { exit 1 } $1 < -4 { l = 1 } $1 > 4 { h = 1 } END { exit !(l && h) }'
verdict 'fillets: ratios from -5 to 5 dB' $?
prepare --threads 1 nl text cs --output fish1 && prepare --threads 5 nl text cs --output fish5 && diff -r fish fish1 && diff -r fish fish5
verdict 'fillets: the same bytes with any number of threads' $?
for t in 0.02 0.1 0.3; do
    rm -rf killed
    { timeout -s KILL $t "$TTRAIN" prepare fillets text cs nl --output killed >/dev/null; } 2>/dev/null
    [ ! -e killed ] || diff -r fish killed || echo "after $t seconds" >>incomplete
done
rm -rf killed
mkdir -p killed.part && cp fish/.prepared.json killed.part
[ ! -e incomplete ] && prepare text cs nl --output killed && diff -r fish killed && [ ! -e killed.part ] && [ ! -e killed.part.lock ]
verdict 'fillets: a kill leaves nothing that looks complete' $?
for i in 1 2 3; do "$TTRAIN" prepare fillets text cs nl --output race >/dev/null 2>race$i & done
wait
diff -r fish race && [ "$(cat race[123] | grep -c '200 mixtures')" = 1 ] &&
    [ "$(cat race[123] | grep -cE 'complete already|in use by process')" = 2 ]
verdict 'fillets: of several at a time one does it' $?
bad() {
    { cat good; printf "$3"; } >text/$game/script/b/dialogs_nl.lua
    refused "fillets: $1" 3 "$2" text cs nl --output c
}
bad 'another call' 'b/dialogs_nl.lua:10: a call was expected' 'os.execute("x")'
bad 'a number' 'b/dialogs_nl.lua:10: a text in double quotes was expected' 'dialogId("a", 7, "")'
bad 'no comma' "b/dialogs_nl.lua:10: ',' was expected" 'dialogId("a" "font_big", "")'
bad 'an open call' "b/dialogs_nl.lua:11: ')' was expected" 'dialogStr("a"\n'
bad 'an open quote' 'b/dialogs_nl.lua:10: the quote that opens here' 'dialogStr("a\nb\\'
bad 'a name that leads elsewhere' "b/dialogs_nl.lua:10: '../../a/nl/v-1' cannot" 'dialogId("../../a/nl/v-1", "font_big", "")'
bad 'a line twice' 'b/dialogs_nl.lua:11: nl/big/b_v-1.wav is there already, of line 4' '\ndialogId("v-1", "font_big", "")'
bad 'odd bytes' 'b/dialogs_nl.lua:10: at byte' 'dialogStr("\377")'
cp good text/$game/script/b/dialogs_nl.lua
refused 'fillets: a package that is missing' 3 'unpack the Debian package fillets-ng-data-nl' text cs --output c
cp nl/$game/sound/a/nl/m-1.ogg nl/$game/sound/b/nl/ # the error is the first line then
cp nl/$game/sound/a/nl/v-1.ogg whole && head -c 3000 whole >nl/$game/sound/a/nl/v-1.ogg
refused 'fillets: a cut recording' 3 'a/dialogs_nl.lua:4)' text cs nl --output c
wav nl/$game/sound/a/nl/v-1.ogg 8000 31999 1
refused 'fillets: nothing of four seconds' 3 'and the big fish has none' text cs nl --output c
{ head -c 44 whole; head -c 66000 /dev/zero; } >nl/$game/sound/a/nl/v-1.ogg
refused 'fillets: silence' 3 'silent for 4 seconds' text cs nl --output c
[ ! -e c ] && [ ! -e c.part.lock ]
verdict 'failures leave no folder' $?

echo "$passed passed, $failed failed"
[ $failed = 0 ]
