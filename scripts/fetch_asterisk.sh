#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/fetch_asterisk.sh [DIR] - 23 minutes of English telephone prompts (CC-BY-SA-3.0), for speech recognition. DIR is
# datasets/asterisk unless given. TTRAIN names the program (default build/ttrain).
set -eu
. "${0%/*}/fetch_debian.sh"
prepare_debian asterisk "${1:-datasets/asterisk}" '11 MB' asterisk-core-sounds-en asterisk-core-sounds-en-g722
