#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/fetch_festvox_ru.sh [DIR] - 99 minutes of Russian by one speaker (BSD-like licence), for speech recognition and
# vocoders. DIR is datasets/festvox-ru unless given. TTRAIN names the program (default build/ttrain).
set -eu
. "${0%/*}/fetch_debian.sh"
prepare_debian festvox-ru "${1:-datasets/festvox-ru}" '179 MB' festvox-ru
