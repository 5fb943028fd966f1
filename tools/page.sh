#!/bin/sh
# Builds the page, checks its types and tests it in a browser:
#   tools/page.sh build FILE    joins `ui/src` to one file
#   tools/page.sh types         checks the types
#   tools/page.sh node ARG...   runs node with BAYPLAN_NODE, the folder whose node_modules has the packages of ui/package.json
#
# The packages come from npm, once per machine, outside of the checkout, and none of their scripts runs:
#   ${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/page-KEY
# `cargo build` needs none of it: `src/page/page.html` is checked in. The status is 3 where node or npm is missing.
#
# Called by the Makefile and `tests/page/test.sh`.
set -eu

cd "$(dirname -- "$0")/.."
command -v node >/dev/null && command -v npm >/dev/null || { echo 'page: needs node 20 and npm' >&2; exit 3; }
if command -v sha256sum >/dev/null; then sha256=sha256sum; else sha256='shasum -a 256'; fi
key=$(cat ui/package.json ui/package-lock.json | $sha256 | cut -c1-16)
folder=${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/page-$key

if ! [ -e "$folder/ready" ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    cp ui/package.json ui/package-lock.json "$folder"
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
    touch "$folder/ready"
fi
export BAYPLAN_NODE="$folder"

case ${1-} in
    build) exec node ui/build.mjs "$2" ;;
    types) exec "$folder/node_modules/.bin/tsc" --project ui ;;
    node) shift; exec node "$@" ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
