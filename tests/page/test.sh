#!/bin/sh
# Tests the page in Chromium (`make test-page`). Arguments go to node's test runner; BAYPLAN_PAGE_TESTS names some files.
#
# BAYPLAN_BINARY is the program, by default the debug build, which is built first; BAYPLAN_CHROMIUM the browser. Without a
# browser, as root on Debian, its package is installed. A machine that cannot have node, npm or a browser runs none of the
# tests: the last lines say how many did not run. With CI set that is a failure. So it is for the tests of a live cluster on a
# machine without the control plane of the cluster tests, which `make control-plane` builds.
set -eu

cd "$(dirname -- "$0")/../.."

in_ci() { case "${CI-}" in '' | 0 | false) false ;; *) true ;; esac }

skipped() {
    echo
    echo "NOT RUN: $(grep -hc '^test(' tests/page/*.test.mjs | awk '{sum += $1} END {print sum}') tests of the page, because $1."
    echo 'To run them: put node 20 with npm and Chromium on the PATH (Debian: apt-get install chromium).'
    if in_ci; then exit 1; fi
    exit 0
}

browser() {
    for name in "${BAYPLAN_CHROMIUM-}" chromium chromium-browser google-chrome; do
        if [ -n "$name" ] && command -v "$name"; then return; fi
    done
    return 1
}

if ! BAYPLAN_CHROMIUM=$(browser); then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo 'page: installing chromium, once on this machine' >&2
        { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 || true
    fi
    BAYPLAN_CHROMIUM=$(browser) || skipped 'this machine has no Chromium'
fi
status=0
tools/page.sh types || status=$?
case $status in
    0) ;;
    3) skipped 'this machine has no node or npm' ;;
    *) exit "$status" ;;
esac
if [ -z "${BAYPLAN_BINARY-}" ]; then
    # With the features of the other tests, which compiled it already.
    cargo test --quiet --workspace --test tests --no-run
    BAYPLAN_BINARY=${CARGO_TARGET_DIR:-target}/debug/bayplan
fi
BAYPLAN_BINARY=$(realpath "$BAYPLAN_BINARY")
export BAYPLAN_BINARY BAYPLAN_CHROMIUM
tools/page.sh node --test --test-reporter=spec "$@" ${BAYPLAN_PAGE_TESTS:-tests/page/*.test.mjs}
control_plane=$(tests/control-plane/build.sh --cached 2>/dev/null) || control_plane=
if ! [ -x "$control_plane/kube-apiserver" ]; then
    echo
    echo "NOT RUN: $(grep -c '{ skip }' tests/page/live.test.mjs) tests of the page, because this machine has no kube-apiserver: \`make control-plane\`"
    if in_ci; then exit 1; fi
fi
