#!/bin/sh
# kube-scheduler's own integration tests with Bayplan in its place: the tests
# start their API server and make their objects as always; where they run
# their scheduler, a `bayplan run` is started with the same configuration.
#
#   run.sh [BINARY [GO TEST FLAGS…]]
#
# Nothing of Kubernetes is kept here: the tests come from the module that
# ../control-plane/VERSION/go.mod names, for the version of KUBERNETES (1.36
# or 1.37, the default), and are compiled from a copy in which
# `change.go` changed a few lines and to which `peer/` brings two files. Every
# package runs that starts a scheduler; of the tests of devices (`dra`), one
# for each configuration of their API server. What cannot run is in
# `skipped.txt`: one test or subtest a line, with the reason. Called by `make test-upstream`.
#
# PACKAGES and TESTS (a regular expression) choose less than all, as in
# `PACKAGES=scheduler/taint TESTS=TestName run.sh BINARY -v`. With
# BAYPLAN_KEEP_LOGS=1 our logs are kept. TMPDIR on a file system in memory
# makes it faster.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
repository=$(dirname "$(dirname "$here")")
binary=${1:-$repository/target/release/bayplan}
[ $# -eq 0 ] || shift
[ -x "$binary" ] || { echo "upstream: no program at $binary" >&2; exit 2; }
binary=$(CDPATH='' cd -- "$(dirname -- "$binary")" && pwd)/$(basename "$binary")

# The version of Kubernetes whose tests run, which we decide as.
export KUBERNETES="${KUBERNETES:-1.37}"
module=$here/../control-plane/$KUBERNETES
assets=$("$here/../control-plane/build.sh")
# At a place that stays, so that the second run compiles little.
work=$(dirname "$(dirname "$assets")")/upstream-$KUBERNETES
mkdir -p "$work"

# A copy of the module's description, since the tests need more modules than
# the programs do and would otherwise be written into ours.
cp "$module/go.mod" "$module/go.sum" "$work/"
export GOFLAGS='' GOWORK=off
kubernetes=$(cd "$work" && go list -mod=mod -m -f '{{.Dir}}' k8s.io/kubernetes)

# The compiler overlays nothing in the cache of modules: a copy of what the tests use, changed.
rm -rf "$work/kubernetes"
mkdir "$work/kubernetes"
(cd "$kubernetes" && cp -R go.mod go.sum cmd pkg plugin test third_party "$work/kubernetes/")
chmod -R u+w "$work/kubernetes"
go run "$here/change.go" "$work/kubernetes"
cp "$here/peer/peer.go.txt" "$work/kubernetes/pkg/scheduler/peer.go"
cp "$here/peer/testserver.go.txt" "$work/kubernetes/cmd/kube-scheduler/app/testing/testserver.go"
(cd "$work" && go mod edit -replace "k8s.io/kubernetes=./kubernetes")

cd "$work"
packages=${PACKAGES:-$(go list -mod=mod -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' \
    k8s.io/kubernetes/test/integration/scheduler/... k8s.io/kubernetes/test/integration/volumescheduling \
    k8s.io/kubernetes/test/integration/daemonset \
    k8s.io/kubernetes/test/integration/dra/all k8s.io/kubernetes/test/integration/dra/api \
    k8s.io/kubernetes/test/integration/dra/default k8s.io/kubernetes/test/integration/dra/ga |
    sed 's,^k8s.io/kubernetes/test/integration/,,')}

# The lines of `skipped.txt` of this version without comments: package, test, reason.
skipped() {
    sed -e '/^#/d' -e '/^[[:space:]]*$/d' -e 's/ *| */|/g' "$here/skipped.txt" |
        awk -F'|' -v version="$KUBERNETES" '$4 == "" || $4 == version'
}

# A line without a reason, or of a test that is not there, is a mistake.
skipped | while IFS='|' read -r package test reason _; do
    if [ -z "$reason" ] || ! grep -qrs "^func ${test%%/*}(" kubernetes/test/integration/"$package"/*_test.go; then
        echo "upstream: skipped.txt: $package | $test | $reason: no such test, or no reason" >&2
        exit 2
    fi
done

# Go's names have `_` for spaces, and `*` stands for any text; every other character stands for itself. No two packages have
# a test of one name, and of those of devices none has the configuration of another.
skip=$(skipped | awk -F'|' '{
    name = $2
    gsub(/ /, "_", name)
    gsub(/[][\\.*+?^$|(){}]/, "\\\\&", name)
    gsub(/\//, "$/^", name)
    gsub(/\\\*/, ".*", name)
    printf "%s^%s$", separator, name
    separator = "|"
}')
list=
for package in $packages; do list="$list k8s.io/kubernetes/test/integration/$package"; done

# shellcheck disable=SC2086 # a list of words
PATH="$assets:$PATH" BAYPLAN_BINARY="$binary" \
    go test -mod=mod -vet=off -timeout 60m -run "${TESTS:-.}" -skip "${skip:-^$}" "$@" $list
