#!/bin/sh
# Builds the embedded control plane: build.sh OUT
# Does nothing if OUT was built from the same sources; OUT.hash tells.
set -eu
if [ $# -ne 1 ]; then
	echo "usage: $0 OUT" >&2
	exit 2
fi
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")"

# The version that the API server reports; without it, its own feature gates
# refuse to start. It is that of k8s.io/kubernetes in go.mod.
version=$(sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[^ ]*\)$|\1|p' go.mod)

# As in the tests of this module: what they compile is the same, and most of the time goes into that.
export CGO_ENABLED=0

# Tests do not end up in the binary; the tool chain and this script do.
sources=$(find . -name '*.go' ! -name '*_test.go' | LC_ALL=C sort)
# shellcheck disable=SC2086 # no spaces in the names of the sources
hash=$({ cat go.mod go.sum build.sh modules.sh $sources; go env GOVERSION GOOS GOARCH CGO_ENABLED; } | sha256sum | cut -d' ' -f1)
if [ -x "$out" ] && [ "$(cat "$out.hash" 2>/dev/null || true)" = "$hash" ]; then
	exit 0
fi

echo "building the embedded control plane, a real kube-apiserver with etcd (first time: 3-5 minutes)..." >&2
start=$(date +%s)
trap 'rm -f "$out.$$" "$out.$$.failed"' EXIT
trap 'exit 130' INT TERM # with the trap above
echo "  downloading its sources..." >&2
./modules.sh "$out.modules"
export GOWORK="$out.modules/go.work"

# Names of compiled packages become a progress; everything else is a message of the compiler.
total=$(go list -deps . | wc -l)
progress() {
	awk -v total="$total" '
		/^[A-Za-z0-9][A-Za-z0-9_.~\/-]*$/ {
			if (++n % 100 == 0) { printf "  compiled %d of %d packages\n", n, total; fflush() }
			if ($0 ~ /test\/cluster$/) { print "  linking (half a minute)..."; fflush() }
			next
		}
		{ print; fflush() }'
}
{
	go build -v -buildvcs=false -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$out.$$" . 2>&1 || : >"$out.$$.failed"
} | progress >&2
[ ! -e "$out.$$.failed" ]
mv "$out.$$" "$out" # a running cluster keeps the old file
echo "$hash" > "$out.hash"
echo "built $out in $(($(date +%s) - start)) s" >&2
