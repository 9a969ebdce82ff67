#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/fetch_fillets.sh [DIR] - the dialogues of the game Fish Fillets (GPL-2), Czech and Dutch, two speakers each, for
# separation. DIR is datasets/fillets unless given. TTRAIN names the program (default build/ttrain).
set -eu
. "${0%/*}/fetch_debian.sh"
prepare_debian fillets "${1:-datasets/fillets}" '143 MB' fillets-ng-data fillets-ng-data-cs fillets-ng-data-nl
