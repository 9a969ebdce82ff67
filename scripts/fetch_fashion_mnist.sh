#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/fetch_fashion_mnist.sh [DIR] - Fashion-MNIST (Zalando, MIT licence) as folders of PNG files: DIR/train/CLASS and
# DIR/val/CLASS, 60,000 and 10,000 pictures of 28x28. DIR is datasets/fashion-mnist unless given. What is there already
# stays; run it again after a failure. TTRAIN names the program (default build/ttrain).
#
# The four files come from Debian's package dataset-fashion-mnist, which is downloaded and unpacked, not installed. Where
# that cannot be had, put them into DIR/idx by hand.
set -eu
. "${0%/*}/fetch_debian.sh"
dir=${1:-datasets/fashion-mnist}
names=tshirt,trouser,pullover,dress,coat,sandal,shirt,sneaker,bag,boot
files="train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz"
mkdir -p "$dir/idx"

have_all() {
    for f in $files; do [ -s "$dir/idx/$f" ] || return 1; done
}

from_debian() {
    unpack_debian "$dir" '31 MB' dataset-fashion-mnist || return 1
    for f in $files; do mv "$unpacked/usr/share/datasets/fashion-mnist/$f" "$dir/idx/$f"; done
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
