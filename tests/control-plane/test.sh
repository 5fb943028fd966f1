#!/bin/sh
# Runs the cluster tests (`make test-cluster`). Arguments go to the test binary.
#
# A machine that cannot have the control plane runs none of them: the last lines say how many did not run and how
# to get them. With CI set that is a failure. KUBEBUILDER_ASSETS without a kube-scheduler, as `setup-envtest`
# makes it, leaves out the tests that compare Bayplan with kube-scheduler; the last line counts them.
set -eu

cd "$(dirname -- "$0")/../.."

# `--workspace` as for the other tests: without it features differ, and every crate is compiled again.

# The number of tests that run without `--ignored`, of those that the arguments select.
count() {
    all=$(cargo test --quiet --workspace --test cluster -- --list "$@" | grep -c ': test$' || true)
    ignored=$(cargo test --quiet --workspace --test cluster -- --list --ignored "$@" | grep -c ': test$' || true)
    echo $((all - ignored))
}

in_ci() { case "${CI-}" in '' | 0 | false) false ;; *) true ;; esac }

status=0
folder=$(tests/control-plane/build.sh) || status=$?
case $status in
    0) ;;
    3)
        number=$(count "$@")
        echo
        echo "NOT RUN: $number cluster tests, because this machine has no kube-apiserver and etcd."
        echo 'To run them: put Go 1.26 on the PATH (the control plane is then built, once, in some seven minutes),'
        echo 'or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-scheduler and kubectl.'
        if in_ci; then exit 1; fi
        exit 0
        ;;
    *) exit "$status" ;;
esac

# Tests wait more than they compute.
: "${RUST_TEST_THREADS:=$(($(getconf _NPROCESSORS_ONLN) + 1))}"
export RUST_TEST_THREADS

# Those whose tests ask `kubernetes()` or `as_said` of tests/cluster/support/binaries.rs, but for slow scenarios.
versioned='control_plane_checks::the_client tutorial:: upstream_metrics:: manifests:: scenarios::affinity
    scenarios::configurations scenarios::devices scenarios::filters scenarios::preemption'

if [ -x "$folder/kube-scheduler" ]; then
    cargo test --workspace --test cluster -- "$@"
    [ $# -eq 0 ] && [ -z "${KUBERNETES-}${KUBEBUILDER_ASSETS-}" ] || exit 0
    echo
    echo 'Again with Kubernetes 1.36:'
    KUBERNETES=1.36
    export KUBERNETES
    tests/control-plane/build.sh >/dev/null || {
        echo "NOT RUN: the cluster tests of Kubernetes 1.36, because this machine has no control plane of it."
        if in_ci; then exit 1; fi
        exit 0
    }
    # shellcheck disable=SC2086 # a list of words
    exec cargo test --workspace --test cluster -- $versioned
fi
cargo test --workspace --test cluster -- --skip kube_scheduler "$@"
echo
echo "NOT RUN: $(count kube_scheduler) cluster tests, because \`$folder\` has no kube-scheduler."
if in_ci; then exit 1; fi
