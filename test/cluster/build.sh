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
hash=$({ cat go.mod go.sum build.sh $sources; go env GOVERSION GOOS GOARCH CGO_ENABLED; } | sha256sum | cut -d' ' -f1)
if [ -x "$out" ] && [ "$(cat "$out.hash" 2>/dev/null || true)" = "$hash" ]; then
	exit 0
fi

echo "building the embedded control plane, a real kube-apiserver with etcd (first time: 3-5 minutes)..." >&2
start=$(date +%s)
trap 'rm -rf "$out.$$" "$out.$$.failed" "$out.$$.modules"' EXIT
trap 'exit 130' INT TERM # with the trap above
export GOWORK=off # outside of any workspace: the replacements of this module are its own
echo "  downloading its sources..." >&2
go mod download k8s.io/kubernetes k8s.io/apiserver k8s.io/client-go # and what else the build needs when it is needed: less than all

# Two imports bring 230 packages and a fifth of all compilation, but nothing that the cluster does. The collector of ended
# pods, which is not among the controllers, calls one function of the kubelet, whose package imports the scheduler. And a
# file with helpers for tests, whose name is not that of a test, imports a fake of each client. The compiler gets copies of
# the two modules without them. TestSameAsInKubernetes compares that function.
#
# And informers have a second form since 1.37, whose methods have the type of their objects. Each package that mentions the
# factory of informers is compiled with these forms of all types: another tenth of all compilation. Kubernetes uses two of
# them, those of resource/v1. In a copy of client-go, the others have the types of the first form.
kubernetes=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)
apiserver=$(go list -m -f '{{.Dir}}' k8s.io/apiserver)
clients=$(go list -m -f '{{.Dir}}' k8s.io/client-go)
modules=$out.$$.modules
mkdir -p "$modules/kubernetes"
for part in go.mod cmd pkg plugin third_party; do
	cp -R "$kubernetes/$part" "$modules/kubernetes"
done
cp -R "$apiserver" "$modules/apiserver"
cp -R "$clients" "$modules/client-go"
chmod -R u+w "$modules" # the cache of modules is read-only
rm -f "$modules"/kubernetes/pkg/kubelet/eviction/*.go "$modules/apiserver/pkg/admission/plugin/policy/generic/policy_test_context.go"
cp internal/eviction/eviction.go "$modules/kubernetes/pkg/kubelet/eviction"
find "$modules/client-go/informers" -name '*.go' ! -path '*/resource/v1/*' -exec sed -i.bak -E '
	s/^type ([A-Za-z0-9]+IndexInformer) cache\.TypedSharedIndexInformer\[.*\]$/type \1 = cache.SharedIndexInformer/
	/^type [A-Za-z0-9]+ = cache\.(TypedResourceEventHandlerFuncs|TypedResourceEventHandlerDetailedFuncs|TypedFilteringResourceEventHandler|DeletedObject)\[.*\]$/d
	s/^type ([A-Za-z0-9]+Indexers) = cache\.TypedIndexers\[.*\]$/type \1 = cache.Indexers/
	s/cache\.TypedIndexersToIndexers\(indexers\)/indexers/g
	s/cache\.NewTypedSharedIndexInformer\[[^]]*\]\(/(/g' {} +
cp go.mod go.sum "$modules"
go mod edit -replace "k8s.io/kubernetes=$modules/kubernetes" -replace "k8s.io/apiserver=$modules/apiserver" \
	-replace "k8s.io/client-go=$modules/client-go" "$modules/go.mod"

# Names of compiled packages become a progress; everything else is a message of the compiler.
total=$(go list -modfile "$modules/go.mod" -deps . | wc -l)
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
	go build -modfile "$modules/go.mod" -v -buildvcs=false -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$out.$$" . 2>&1 || : >"$out.$$.failed"
} | progress >&2
[ ! -e "$out.$$.failed" ]
mv "$out.$$" "$out" # a running cluster keeps the old file
echo "$hash" > "$out.hash"
echo "built $out in $(($(date +%s) - start)) s" >&2
