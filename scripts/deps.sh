#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/deps.sh - install what the build needs from the system's packages (Debian, Ubuntu).
# `deps.sh build` is enough to build and run; `deps.sh test` adds what make test, lint, san and fuzz need.
set -eu
build="gcc make pkg-config libc6-dev libdnnl-dev libyaml-dev libjpeg-dev libpng-dev zlib1g-dev libjansson-dev libxxhash-dev
libarchive-dev libzip-dev protobuf-c-compiler libprotobuf-c-dev libcairo2-dev libavformat-dev
libavcodec-dev libavutil-dev fonts-dejavu-core"
test="libcmocka-dev clang clang-format cppcheck valgrind"
want="$build"
[ "${1:-build}" = test ] && want="$build $test"

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "deps: no dpkg here. Install these, under the names your system gives them, then run make:" >&2
    echo "$want" >&2
    exit 1
fi
missing=""
for p in $want; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
echo "deps: installing$missing" >&2
run=""
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "deps: run as root: apt-get install$missing" >&2; exit 1; }
    run=sudo
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
$run apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 || {
    $run apt-get update >/dev/null
    $run apt-get install -y --no-install-recommends $missing >/dev/null
}
