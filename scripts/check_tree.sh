#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/check_tree.sh - rules of the tree that no compiler knows: includes point one way, every source names its
# licence, nothing large is committed. Prints what is wrong and exits with 1.
set -u
bad=0
say() { echo "$*" >&2; bad=1; }

# folder: folders (and single headers) it may include from
check() {
    dir=$1; shift
    allowed=$(echo "$dir $*" | tr ' ' '|')
    for f in $(git ls-files "$dir/*.c" "$dir/*.h"); do
        grep -nE '^#include "' "$f" | grep -vE "^[0-9]+:#include \"($allowed)[/.]" | grep -v 'kernels/ops\.def"' |
            while read -r line; do echo "$f:$line"; done
    done
}
for rule in "tensor" "kernels tensor" "vision tensor audio/audio data/transform" "audio tensor data/transform data/paths" "data tensor vision audio" \
            "models tensor kernels/ops" "pipeline tensor kernels vision audio data models" \
            "bin tensor kernels vision audio data models pipeline"; do
    # shellcheck disable=SC2086
    out=$(check $rule)
    [ -z "$out" ] || say "includes that point the wrong way:
$out"
done

for f in $(git ls-files '*.c' '*.h' '*.def' '*.proto' '*.sh' '*.py' '*.yaml' Makefile .ci/run | grep -v '^tests/'); do
    head -n 5 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || say "$f: no SPDX line"
done

for f in $(git ls-files); do
    [ -f "$f" ] || continue
    size=$(wc -c <"$f")
    [ "$size" -le 1048576 ] || say "$f: $size bytes; nothing over 1 MB belongs in the repository"
done
exit $bad
