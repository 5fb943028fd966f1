#!/bin/sh
# Runs `cargo deny` with the given arguments. A machine without it gets it once, built from source by cargo (some
# six minutes on two cores), into
#   ${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/cargo-deny-VERSION
#
# Called by `make deny` and `make deny-local`.
set -eu

version=0.20.2
folder=${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/cargo-deny-$version

if command -v cargo-deny >/dev/null; then
    exec cargo deny "$@"
fi
if ! [ -x "$folder/bin/cargo-deny" ]; then
    echo "cargo-deny: building version $version, once on this machine, into $folder" >&2
    # Link-time optimization would double the time, for a tool that runs a second.
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_TARGET_DIR="$folder/build" \
        cargo install cargo-deny --locked --version "$version" --root "$folder"
    rm -rf "$folder/build"
fi
exec "$folder/bin/cargo-deny" "$@"
