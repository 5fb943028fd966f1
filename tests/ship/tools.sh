#!/bin/sh
# Prints the folder with the tools of `make test-ship`: `helm`, `helm-unittest`, `kubeconform` and `promtool`.
# Builds missing ones from Go modules, of the versions below, once per machine.
#
#   tools.sh            print the folder, after building missing tools
#   tools.sh --cached   print the folder, never build
#
# The folder is ${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/ship/KEY, where KEY is a hash of this
# script. kustomize is a part of kubectl, which tests/control-plane/build.sh finds or builds.
#
# Only the folder goes to stdout. Exit status: 0 printed; 1 a build failed; 2 wrong use; 3 this machine cannot
# have the tools.
set -eu

tools='
helm           helm.sh/helm/v4@v4.3.1
helm-unittest  github.com/helm-unittest/helm-unittest@v1.1.2
kubeconform    github.com/yannh/kubeconform@v0.8.0
promtool       github.com/prometheus/prometheus@v0.316.0
'

say() { printf 'tools: %s\n' "$*" >&2; }

build=true
case "${1-}" in
    '') ;;
    --cached) build=false ;;
    *) say "unknown argument \`$1\`; the only one is --cached"; exit 2 ;;
esac
[ $# -le 1 ] || { say 'too many arguments; the only one is --cached'; exit 2; }

if command -v sha256sum >/dev/null; then sha256=sha256sum; else sha256='shasum -a 256'; fi
key=$({ printf '%s\n' "$tools" "$(uname -sm)"; } | $sha256 | cut -c1-16)
folder=${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/ship/$key

missing() {
    printf '%s' "$tools" | while read -r name module; do
        [ -z "$name" ] || [ -x "$folder/$name" ] || printf '%s %s\n' "$name" "$module"
    done
}

if [ -z "$(missing)" ]; then
    printf '%s\n' "$folder"
    exit 0
fi

not_available() {
    say "$1"
    say "put Go 1.26 or newer on the PATH, with a reachable module proxy (see \`go env GOPROXY\`), or copy"
    say "  $folder"
    say 'from a machine that has it'
    exit 3
}

$build || not_available "not built yet: $(missing | cut -d' ' -f1 | tr '\n' ' ')"
command -v go >/dev/null || not_available 'the tools are built from Go modules, and there is no Go'

mkdir -p "$folder"
# One build at a time: a second one waits and then finds everything built.
if command -v flock >/dev/null; then
    exec 9>"$folder/.lock"
    if ! flock -n 9; then
        say 'waiting for the build of another process'
        flock 9
    fi
fi

partial=$folder/.partial.$$
trap 'rm -rf "$partial"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir -p "$partial"

missing >"$partial/todo"
while read -r name module; do
    say "building $name, once on this machine"
    since=$(date +%s)
    # Flags and modules do not depend on the Go settings of this machine or on a module around it. Each is built in its
    # own source, so that the replacements of its go.mod hold, which \`go install\` refuses.
    (
        export GOFLAGS='' GOWORK=off CGO_ENABLED=0
        source=$(cd "$partial" && go mod download -json "$module" | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
        cd "$source" && go build -mod=readonly -trimpath -buildvcs=false -ldflags='-s -w' -o "$partial/$name" "./cmd/$name"
    ) >&2 </dev/null || { say "building $name failed"; exit 1; }
    mv "$partial/$name" "$folder/$name"
    say "built $name in $(($(date +%s) - since)) s"
done <"$partial/todo"

printf '%s\n' "$folder"
