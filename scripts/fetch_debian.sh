# SPDX-License-Identifier: Apache-2.0
# scripts/fetch_debian.sh - what the fetch_*.sh scripts share: each reads this file. Debian packages are downloaded and
# unpacked into a folder that goes when the script ends; nothing is installed. TTRAIN names the program.
# shellcheck shell=sh
ttrain=${TTRAIN:-build/ttrain}
[ -x "$ttrain" ] || { echo "fetch: $ttrain is not there; run make first, or set TTRAIN" >&2; exit 2; }

# unpack_debian FOLDER SIZE PACKAGE...: unpack the packages into $unpacked, a new folder in FOLDER. Fails where they cannot
# be had. SIZE is what all of them take to download, for the eyes.
unpack_debian() {
    command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
    unpacked=$(mktemp -d "$1/.download.XXXXXX")
    trap 'rm -rf "$unpacked"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    chmod 755 "$unpacked" # apt downloads as a user of its own
    echo "fetch: downloading from Debian ($2):$(shift 2; printf ' %s' "$@")" >&2
    shift 2
    (cd "$unpacked" && { apt-get download "$@" >log 2>&1 ||
                         { apt-get update >log 2>&1 && apt-get download "$@" >log 2>&1; }; }) || {
        tail -n 3 "$unpacked/log" >&2
        return 1
    }
    for package in "$unpacked"/*.deb; do
        dpkg-deb -x "$package" "$unpacked" || return 1
        rm -f "$package"
    done
}

# prepare_debian KIND DIR SIZE PACKAGE...: make DIR with `ttrain prepare KIND` of what the packages hold, unless it is there.
prepare_debian() {
    kind=$1 dir=$2 size=$3
    shift 3
    if [ -e "$dir/.prepared.json" ]; then
        echo "fetch: $dir is complete already" >&2
        return 0
    fi
    mkdir -p "$(dirname "$dir")"
    unpack_debian "$(dirname "$dir")" "$size" "$@" || {
        {
            echo "fetch: these Debian packages could not be downloaded here: $*"
            echo "Get them from https://packages.debian.org, unpack each with dpkg-deb -x FILE.deb FOLDER, and run:"
            echo "    $ttrain prepare $kind FOLDER --output $dir"
        } >&2
        exit 3
    }
    "$ttrain" prepare "$kind" "$unpacked" --output "$dir"
}
