#!/bin/sh
# Runs the tests of what ships (`make test-ship`): chart, manifests and alerts, on a real API server. Arguments go to
# pytest, after these:
#
#   --quick        leave out the way of an operator, releases, archives, image, site and progress lines, which take long or
#                  depend on the speed of the machine. A machine that cannot have the tools runs none of the tests: the last
#                  lines say how many did not run. With CI set that is a failure
#   --if-changed   run nothing when the tests have passed on this machine and what they read is the same
#
# Tools and Python packages are installed once per machine, outside of the checkout: by tools.sh, and in a virtual
# environment of requirements.txt; as root on Debian, the package skopeo. BAYPLAN_BINARY is the program, by default the
# debug build, which is built first. BAYPLAN_GOLDEN=write writes the generated manifests of `deploy` anew.
set -eu

cd "$(dirname -- "$0")/../.."
cache=${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/ship
if command -v sha256sum >/dev/null; then sha256=sha256sum; else sha256='shasum -a 256'; fi

quick=false if_changed=false
while :; do
    case "${1-}" in
        --quick) quick=true ;;
        --if-changed) if_changed=true ;;
        *) break ;;
    esac
    shift
done

files=tests/ship
if $quick; then
    files=$(ls tests/ship/test_*.py | grep -v -e path -e lifecycle -e dist -e site -e progress)
fi

in_ci() { case "${CI-}" in '' | 0 | false) false ;; *) true ;; esac }

# The machine cannot have the tools: $1 says which.
unavailable() {
    $quick || exit 3
    echo
    # shellcheck disable=SC2086 # a list of words
    echo "NOT RUN: $(grep -hE -c '^ *def test_' $files | awk '{sum += $1} END {print sum}') tests of what ships, because $1."
    echo 'To run them: put Go 1.26 and Python 3.11 with venv on the PATH; the tools are then built once, in some ten minutes.'
    if in_ci; then exit 1; fi
    exit 0
}

passed=
if $if_changed; then
    inputs='README.md Cargo.lock Containerfile action.yml .pre-commit-hooks.yaml deploy tests/ship tests/control-plane
        docs/pictures docs/runbooks docs/install.md docs/ways.md docs/release.md docs/metrics.md tools examples/ci examples/first
        src/cluster/rights src/cli/rbac.rs src/cli/run.rs src/cli/run_args.rs src/cli/webhook.rs src/cli/extender.rs src/cli/explain'
    # shellcheck disable=SC2086 # a list of words
    if [ -z "$(git status --porcelain -- $inputs)" ]; then
        passed=$cache/passed-$({ echo $quick; git ls-tree -r HEAD -- $inputs; } | $sha256 | cut -c1-16)
    fi
    if [ -n "$passed" ] && [ -e "$passed" ]; then
        echo 'test-ship: nothing that these tests read has changed since they passed on this machine'
        exit 0
    fi
fi

# A tool's script ends with 3 where the machine cannot have the tool.
status=0
assets=$(tests/control-plane/build.sh) || status=$?
case $status in 0) ;; 3) unavailable 'this machine has no kube-apiserver and etcd' ;; *) exit "$status" ;; esac
tools=$(tests/ship/tools.sh) || status=$?
case $status in 0) ;; 3) unavailable 'this machine has no helm, kubeconform and promtool' ;; *) exit "$status" ;; esac
python=${PYTHON:-python3}
key=$({ cat tests/ship/requirements.txt; $python -VV; } | $sha256 | cut -c1-16)
packages=$cache/python-$key
if [ ! -e "$packages/ready" ]; then
    rm -rf "$packages"
    $python -m venv "$packages" &&
        "$packages/bin/pip" install --quiet --disable-pip-version-check -r tests/ship/requirements.txt &&
        touch "$packages/ready" ||
        unavailable 'this machine cannot install the packages of tests/ship/requirements.txt'
fi

# Reads the image; without it one test is skipped, and the last lines say so.
if ! $quick && ! command -v skopeo >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo 'test-ship: installing skopeo, once on this machine' >&2
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends skopeo; } >/dev/null 2>&1 || true
fi

if [ -z "${BAYPLAN_BINARY-}" ]; then
    cargo build --quiet
    BAYPLAN_BINARY=${CARGO_TARGET_DIR:-target}/debug/bayplan
fi
export BAYPLAN_BINARY PATH="$tools:$PATH:$assets" PYTHONDONTWRITEBYTECODE=1
# shellcheck disable=SC2086 # a list of words
"$packages/bin/pytest" -p no:cacheprovider -rs $files "$@"
[ -z "$passed" ] || [ $# -gt 0 ] || touch "$passed"
