#!/bin/sh
# Runs `mdbook` with the given arguments. A machine without it gets it once, built from source by cargo (some three
# minutes on two cores), into
#   ${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/mdbook-VERSION
#
# Called by tools/site_pages.py.
set -eu

version=0.5.4
folder=${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/mdbook-$version

if ! [ -x "$folder/bin/mdbook" ]; then
    echo "mdbook: building version $version, once on this machine, into $folder" >&2
    # It runs for some seconds.
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_TARGET_DIR="$folder/build" \
        cargo install mdbook --locked --version "$version" --no-default-features --features search --root "$folder"
    rm -rf "$folder/build"
fi
exec "$folder/bin/mdbook" "$@"
