#!/bin/sh
# Runs the tests of what ships (`make test-ship`): chart, manifests and alerts, on a real API server. Arguments go to
# pytest. `--if-changed`, alone, runs nothing when all tests have passed on this machine and what they read is the same.
#
# Tools and Python packages are installed once per machine, outside of the checkout: by tools.sh, and in a virtual
# environment of requirements.txt. BAYPLAN_BINARY is the program, by default the debug build, which is built first.
# BAYPLAN_GOLDEN=write writes the generated manifests of `deploy` anew.
set -eu

cd "$(dirname -- "$0")/../.."
cache=${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/ship
if command -v sha256sum >/dev/null; then sha256=sha256sum; else sha256='shasum -a 256'; fi

passed=
if [ "${1-}" = --if-changed ]; then
    shift
    inputs='README.md deploy tests/ship docs/pictures docs/runbooks docs/install.md docs/ways.md docs/release.md docs/metrics.md tools action.yml src/cli/rbac.rs src/cluster/rights
        .pre-commit-hooks.yaml examples/ci examples/first Containerfile Cargo.lock src/cli/run_args.rs src/cli/extender.rs src/cli/explain'
    # shellcheck disable=SC2086 # a list of words
    passed=$cache/passed-$(git ls-tree -r HEAD -- $inputs | $sha256 | cut -c1-16)
    if [ -e "$passed" ]; then
        echo 'test-ship: nothing that these tests read has changed since they passed on this machine'
        exit 0
    fi
fi

assets=$(tests/control-plane/build.sh)
tools=$(tests/ship/tools.sh)
python=${PYTHON:-python3}
key=$({ cat tests/ship/requirements.txt; $python -VV; } | $sha256 | cut -c1-16)
packages=$cache/python-$key
if [ ! -e "$packages/ready" ]; then
    rm -rf "$packages"
    $python -m venv "$packages"
    "$packages/bin/pip" install --quiet --disable-pip-version-check -r tests/ship/requirements.txt
    touch "$packages/ready"
fi

if [ -z "${BAYPLAN_BINARY-}" ]; then
    cargo build --quiet
    BAYPLAN_BINARY=${CARGO_TARGET_DIR:-target}/debug/bayplan
fi
export BAYPLAN_BINARY PATH="$tools:$PATH:$assets" PYTHONDONTWRITEBYTECODE=1
"$packages/bin/pytest" -p no:cacheprovider tests/ship "$@"
[ -z "$passed" ] || touch "$passed"
