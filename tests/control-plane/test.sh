#!/bin/sh
# Runs the cluster tests (`make test-cluster`). Arguments go to the test binary.
#
# A machine that cannot have the control plane runs none of them: the last lines say how many did not run and how
# to get them. With CI set that is a failure. KUBEBUILDER_ASSETS without a kube-scheduler, as `setup-envtest`
# makes it, leaves out the tests that compare Bayplan with kube-scheduler; the last line counts them.
set -eu

cd "$(dirname -- "$0")/../.."

# The number of tests that run without `--ignored`, of those that the arguments select.
count() {
    all=$(cargo test --quiet --test cluster -- --list "$@" | grep -c ': test$' || true)
    ignored=$(cargo test --quiet --test cluster -- --list --ignored "$@" | grep -c ': test$' || true)
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

if [ -x "$folder/kube-scheduler" ]; then
    exec cargo test --test cluster -- "$@"
fi
cargo test --test cluster -- --skip kube_scheduler "$@"
echo
echo "NOT RUN: $(count kube_scheduler) cluster tests, because \`$folder\` has no kube-scheduler."
if in_ci; then exit 1; fi
