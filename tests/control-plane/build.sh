#!/bin/sh
# Prints the folder with the control plane of the cluster tests: `etcd`,
# `kube-apiserver` and `kube-scheduler`, and `kubectl` if the machine has none.
# Builds missing programs from the Go modules of a version of Kubernetes, in the folder beside this script that
# KUBERNETES names: 1.36 or 1.37, the default.
#
#   build.sh            print the folder, after building missing programs
#   build.sh --cached   print the folder, never build
#
# If KUBEBUILDER_ASSETS is set, as for the tests of other projects, it is the
# folder. Otherwise the folder is
#   ${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/control-plane/KEY
# where KEY is a hash of everything that the binaries depend on.
#
# Only the folder goes to stdout. Exit status: 0 printed; 1 a build failed;
# 2 wrong use; 3 this machine cannot have the binaries.
#
# Called by test.sh, `make bench-cluster` and tests/cluster/support/binaries.rs.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
module=$here/${KUBERNETES:-1.37}

say() { printf 'control-plane: %s\n' "$*" >&2; }

not_available() {
    cat >&2 <<END
control-plane: $1

The tests against a real API server need etcd, kube-apiserver and
kube-scheduler $version. Any one of these provides them:

  - Go 1.26 or newer (https://go.dev/dl) on the PATH and a reachable module
    proxy (see \`go env GOPROXY\`): the binaries are then built from Go
    modules, once, in some seven minutes on two cores;
  - KUBEBUILDER_ASSETS=DIR, a folder with \`etcd\`, \`kube-apiserver\`,
    \`kubectl\` and \`kube-scheduler\` in it;
  - a copy of
    $folder
    from a machine with these programs.

END
    exit 3
}

build=true
case "${1-}" in
    '') ;;
    --cached) build=false ;;
    *) say "unknown argument \`$1\`; the only one is --cached"; exit 2 ;;
esac
[ -f "$module/go.mod" ] || { say "KUBERNETES is \`${KUBERNETES-}\`; write 1.36 or 1.37"; exit 2; }
[ $# -le 1 ] || { say 'too many arguments; the only one is --cached'; exit 2; }

if [ -n "${KUBEBUILDER_ASSETS-}" ]; then
    for tool in etcd kube-apiserver; do
        [ -x "$KUBEBUILDER_ASSETS/$tool" ] || {
            say "KUBEBUILDER_ASSETS is \`$KUBEBUILDER_ASSETS\`, which has no program \`$tool\`"
            exit 2
        }
    done
    printf '%s\n' "$KUBEBUILDER_ASSETS"
    exit 0
fi

version=$(sed -n 's/^.*k8s.io\/kubernetes \(v[0-9.]*\).*$/\1/p' "$module/go.mod")
[ -n "$version" ] || { say "no version of k8s.io/kubernetes in $module/go.mod"; exit 2; }
minor=${version#v1.}
minor=${minor%%.*}

# Without the stamps the server has version v0.0.0 and refuses to emulate others.
stamp=k8s.io/component-base/version
ldflags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=$minor"

if command -v sha256sum >/dev/null; then sha256=sha256sum; else sha256='shasum -a 256'; fi
key=$({ grep -v '^//' "$module/go.mod"; cat "$module/go.sum"; printf '%s\n' "$ldflags" "$(uname -sm)"; } | $sha256 | cut -c1-16)
folder=${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/control-plane/$version-$key

tools='etcd kube-apiserver kube-scheduler'
command -v kubectl >/dev/null || tools="$tools kubectl"

missing() {
    for tool in $tools; do
        [ -x "$folder/$tool" ] || printf '%s ' "$tool"
    done
}

if [ -z "$(missing)" ]; then
    printf '%s\n' "$folder"
    exit 0
fi
$build || not_available "not built yet: $(missing)"
command -v go >/dev/null || not_available "cannot build $(missing)without Go"

mkdir -p "$folder"

# One build at a time: a second one waits and then finds everything built. Without
# flock, two builds cost time but do no harm, because each has its own file names.
if command -v flock >/dev/null; then
    exec 9>"$folder/.lock"
    if ! flock -n 9; then
        say 'waiting for the build of another process'
        flock 9
    fi
    rm -f "$folder"/.*.partial
fi

partial=
trap '[ -z "$partial" ] || rm -f "$partial"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

package_of() {
    case $1 in
        etcd) echo go.etcd.io/etcd/server/v3 ;;
        *) echo "k8s.io/kubernetes/cmd/$1" ;;
    esac
}

# Flags and modules do not depend on the Go settings of this machine.
in_module() { (cd "$module" && env GOFLAGS='' GOWORK=off CGO_ENABLED=0 "$@" >&2); }

todo=$(missing)
if [ -n "$todo" ]; then
    say "building ${todo}of Kubernetes $version, once on this machine, into"
    say "  $folder"
    say '(some seven minutes on two cores, up to 2 GB of memory)'
    packages=
    for tool in $todo; do packages="$packages $(package_of "$tool")"; done
    say 'fetching modules'
    # shellcheck disable=SC2086 # a list of words
    in_module go list -mod=readonly -deps -f '{{/**/}}' $packages ||
        not_available 'Go could not load the modules (its message is above)'
fi

for tool in $todo; do
    since=$(date +%s)
    say "building $tool"
    partial=$folder/.$tool.$$.partial
    in_module go build -mod=readonly -trimpath -buildvcs=false -ldflags "$ldflags" \
        -o "$partial" "$(package_of "$tool")" || { say "building $tool failed"; exit 1; }
    mv "$partial" "$folder/$tool"
    partial=
    say "built $tool in $(($(date +%s) - since)) s"
done

printf '%s\n' "$folder"
