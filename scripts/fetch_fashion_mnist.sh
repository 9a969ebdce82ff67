#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/fetch_fashion_mnist.sh [DIR] - Fashion-MNIST (Zalando, MIT licence) as folders of PNG files: DIR/train/CLASS and
# DIR/val/CLASS, 60,000 and 10,000 pictures of 28x28. DIR is datasets/fashion-mnist unless given. What is there already
# stays; run it again after a failure. TTRAIN names the program (default build/ttrain).
#
# The four files come from Debian's package dataset-fashion-mnist, which is downloaded and unpacked, not installed. Where
# that cannot be had, put them into DIR/idx by hand.
set -eu
dir=${1:-datasets/fashion-mnist}
ttrain=${TTRAIN:-build/ttrain}
names=tshirt,trouser,pullover,dress,coat,sandal,shirt,sneaker,bag,boot
files="train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz"

[ -x "$ttrain" ] || { echo "fetch: $ttrain is not there; run make first, or set TTRAIN" >&2; exit 2; }
mkdir -p "$dir/idx"

have_all() {
    for f in $files; do [ -s "$dir/idx/$f" ] || return 1; done
}

from_debian() {
    command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
    tmp=$(mktemp -d "$dir/download.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT INT TERM
    chmod 755 "$tmp" # apt downloads as a user of its own
    echo "fetch: downloading the Debian package dataset-fashion-mnist (31 MB)" >&2
    (cd "$tmp" && { apt-get download dataset-fashion-mnist >log 2>&1 ||
                    { apt-get update >log 2>&1 && apt-get download dataset-fashion-mnist >log 2>&1; }; }) || {
        tail -n 3 "$tmp/log" >&2
        return 1
    }
    dpkg-deb -x "$tmp"/dataset-fashion-mnist_*.deb "$tmp"
    for f in $files; do mv "$tmp/usr/share/datasets/fashion-mnist/$f" "$dir/idx/$f"; done
    rm -rf "$tmp"
    trap - EXIT INT TERM
}

if ! have_all && ! { from_debian && have_all; }; then
    {
        echo "fetch: Fashion-MNIST could not be downloaded here. Put these four files into $dir/idx and run this again:"
        for f in $files; do echo "    $f"; done
        echo "They are in https://github.com/zalandoresearch/fashion-mnist under data/fashion, and in Debian's and Ubuntu's"
        echo "package dataset-fashion-mnist under usr/share/datasets/fashion-mnist."
    } >&2
    exit 3
fi
"$ttrain" prepare mnist --images "$dir/idx/train-images-idx3-ubyte.gz" --labels "$dir/idx/train-labels-idx1-ubyte.gz" \
    --output "$dir/train" --class-names "$names"
"$ttrain" prepare mnist --images "$dir/idx/t10k-images-idx3-ubyte.gz" --labels "$dir/idx/t10k-labels-idx1-ubyte.gz" \
    --output "$dir/val" --class-names "$names"
