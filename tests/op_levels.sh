#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/op_levels.sh - every op's test with the kernels of each instruction set; test_ops alone runs the best one only.
set -eu
tests=$(dirname "${TTRAIN:?path of the built ttrain}")/tests
for level in c avx2; do
    echo "TT_CPU=$level"
    TT_CPU=$level "$tests/test_ops" >"$tests/op_levels.log" 2>&1 || { cat "$tests/op_levels.log"; exit 1; }
    tail -n 1 "$tests/op_levels.log"
done
