#!/bin/bash
# Makes dist/bayplan-VERSION-linux-ARCH.tar.gz of static binaries for Linux, with completions, man pages, the licences of all
# dependencies and a list of them (CycloneDX), and dist/SHA256SUMS. Two runs on one commit give equal lists; the archive
# of equal binaries is equal.
#
#   tools/dist.sh [amd64|arm64]...     both, without arguments
#
# BAYPLAN_BINARY_amd64 and BAYPLAN_BINARY_arm64 are binaries that exist, instead of a build. A build needs rustup, and
# gets zig, which compiles and links the C code for either architecture, from the Python registry, once per machine, into
#   ${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/zig-VERSIONS
#
# Called by `make dist`.
set -euo pipefail
cd "$(dirname "$0")/.."

zig=0.17.1 zigbuild=0.24.1
cache=${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}
tools=$cache/zig-$zig-$zigbuild
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
# Every file has the time of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

say() { printf 'dist: %s\n' "$*" >&2; }

target_of() {
    case $1 in
        amd64) echo x86_64-unknown-linux-musl ;;
        arm64) echo aarch64-unknown-linux-musl ;;
        *) say "unknown architecture \`$1\`; amd64 and arm64 are built"; exit 2 ;;
    esac
}

# The path of the binary.
built() {
    local target
    target=$(target_of "$1")
    if ! [ -x "$tools/bin/cargo-zigbuild" ]; then
        say "fetching zig $zig, once on this machine, into $tools"
        python3 -m venv "$tools" >&2
        "$tools/bin/pip" install --quiet "ziglang==$zig" "cargo-zigbuild==$zigbuild" >&2
    fi
    rustup target add "$target" >&2
    PATH="$tools/bin:$PATH" cargo zigbuild --locked --profile dist --bin bayplan --target "$target" >&2
    echo "${CARGO_TARGET_DIR:-target}/$target/dist/bayplan"
}

[ $# -gt 0 ] || set -- amd64 arm64
mkdir -p dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for arch in "$@"; do
    target=$(target_of "$arch")
    given=BAYPLAN_BINARY_$arch
    binary=${!given:-$(built "$arch")}
    name=bayplan-$version-linux-$arch
    folder=$work/$name
    mkdir -p "$folder/completions"
    install -m 755 "$binary" "$folder/bayplan"
    install -m 644 LICENSE README.md CHANGELOG.md "$folder"
    tools/dependencies.py --target "$target" --licences "$folder/THIRD-PARTY.txt" --sbom "$folder/sbom.cdx.json"
    # Of the machine's own architecture, or by qemu-user.
    runs=("$folder/bayplan")
    case $arch-$(uname -m) in
        amd64-x86_64 | arm64-aarch64) ;;
        amd64-*) runs=(qemu-x86_64 "$folder/bayplan") ;;
        arm64-*) runs=(qemu-aarch64 "$folder/bayplan") ;;
    esac
    if command -v "${runs[0]}" >/dev/null; then
        "${runs[@]}" version >&2
        for shell in bash elvish fish powershell zsh; do
            "${runs[@]}" completions "$shell" >"$folder/completions/bayplan.$shell"
        done
        "${runs[@]}" man "$folder/man"
    else
        say "${runs[0]} is not on this machine (Debian: qemu-user): $name was not run and has neither completions nor man pages"
    fi
    cp "$folder/sbom.cdx.json" "dist/$name.sbom.cdx.json"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$work" -cf - "$name" |
        gzip -9n >"dist/$name.tar.gz"
    say "dist/$name.tar.gz: $(stat -c %s "dist/$name.tar.gz") bytes, the binary $(stat -c %s "$folder/bayplan")"
done
(cd dist && sha256sum bayplan-"$version"-* >SHA256SUMS)
