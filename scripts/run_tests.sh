#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scripts/run_tests.sh BUILD PROGRAM ... - run test programs and shell tests one after the other, each with a limit of
# time (TEST_TIMEOUT seconds). All run even after one has failed; the last line says how many passed.
set -u
build=$(realpath "$1")
shift
export TTRAIN=$build/ttrain
passed=0 failed=()
for t in "$@"; do
    echo "== $t"
    start=$(date +%s)
    timeout --kill-after=10 "${TEST_TIMEOUT:-900}" "$t" </dev/null
    status=$?
    if [ $status = 0 ]; then
        passed=$((passed + 1))
    else
        failed+=("$t")
        [ $status = 124 ] && echo "timed out after ${TEST_TIMEOUT:-900} s"
        echo "FAILED: $t (status $status)"
    fi
    took=$(($(date +%s) - start))
    [ $took -lt 10 ] || echo "took $took s"
done
if [ ${#failed[@]} = 0 ]; then
    echo "tests: all $passed programs passed"
else
    echo "tests: $passed programs passed, ${#failed[@]} failed: ${failed[*]}"
    exit 1
fi
