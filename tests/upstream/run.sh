#!/bin/sh
# kube-scheduler's own integration tests with Bayplan in its place: the tests
# start their API server and make their objects as always; where they run
# their scheduler, a `bayplan run` is started with the same configuration.
#
#   run.sh [BINARY [GO TEST FLAGS…]]
#
# Nothing of Kubernetes is kept here: the tests come from the module that
# ../control-plane/go.mod names, and are compiled from a copy in which
# `change.go` changed one file and to which `peer/` adds one. What the tests
# look up inside of their scheduler (its queue, plugins written in Go) is not
# ours; `TESTS` are those that judge by what the API server says, `SKIP` the
# cases of them that need plugins which are not built yet: InterPodAffinity,
# VolumeBinding and VolumeRestrictions. Called by `make test-upstream`.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
repository=$(dirname "$(dirname "$here")")
binary=${1:-$repository/target/release/bayplan}
[ $# -eq 0 ] || shift
[ -x "$binary" ] || { echo "upstream: no program at $binary" >&2; exit 2; }
binary=$(CDPATH='' cd -- "$(dirname -- "$binary")" && pwd)/$(basename "$binary")

assets=$("$here/../control-plane/build.sh")
# At a place that stays, so that the second run compiles little.
work=$(dirname "$(dirname "$assets")")/upstream
mkdir -p "$work"

# A copy of the module's description, since the tests need more modules than
# the programs do and would otherwise be written into ours.
cp "$here/../control-plane/go.mod" "$here/../control-plane/go.sum" "$work/"
export GOFLAGS='' GOWORK=off
kubernetes=$(cd "$work" && go list -mod=mod -m -f '{{.Dir}}' k8s.io/kubernetes)

# The compiler overlays nothing in the cache of modules: a copy of what the tests use, changed.
rm -rf "$work/kubernetes"
mkdir "$work/kubernetes"
(cd "$kubernetes" && cp -R go.mod go.sum cmd pkg plugin test third_party "$work/kubernetes/")
chmod -R u+w "$work/kubernetes"
go run "$here/change.go" "$work/kubernetes"
cp "$here/peer/peer.go.txt" "$work/kubernetes/pkg/scheduler/peer.go"
(cd "$work" && go mod edit -replace "k8s.io/kubernetes=./kubernetes")

packages='scheduler scheduler/filters scheduler/scoring scheduler/taint'
TESTS=${TESTS:-'^(TestTaintTolerationFilter|TestNodePortsFilter|TestNodeResourcesFilter|TestNodeAffinityFilter|TestUnschedulablePodBecomesSchedulable|TestNodeResourcesScoring|TestNodeAffinityScoring|TestTaintTolerationScoring|TestImageLocalityScoring|TestTaintNodeByCondition|TestUnschedulableNodes|TestMultipleSchedulers|TestMultipleSchedulingProfiles|TestAllocatable|TestSchedulerInformers|TestNodeEvents|TestHostPorts|TestTaintTolerationGtLtIntegration)$'}
# A plugin that comes takes its cases out of here.
SKIP=${SKIP:-'^TestUnschedulablePodBecomesSchedulable$/^(pod_with_pod-affinity_gets_added|scheduled_pod_gets_updated_to_match_affinity|scheduled_pod_uses_read-write-once-pod_pvc|pod_with_pvc_got_scheduled_after_node_updated_it.s_label)$'}
list=
for package in $packages; do list="$list k8s.io/kubernetes/test/integration/$package"; done

# shellcheck disable=SC2086 # a list of words
cd "$work" && PATH="$assets:$PATH" BAYPLAN_BINARY="$binary" \
    go test -mod=mod -vet=off -p 1 -timeout 30m -run "$TESTS" -skip "$SKIP" "$@" $list
