#!/bin/sh
# Makes copies of modules of Kubernetes that are compiled in less time, and a workspace of this module with them: modules.sh FOLDER
# The build has FOLDER/go.work, and so have `make vet` and `make lint`: what depends on the copies would be compiled once more.
# Does nothing if they were made from the same sources; FOLDER/hash tells.
set -eu
if [ $# -ne 1 ]; then
	echo "usage: $0 FOLDER" >&2
	exit 2
fi
mkdir -p "$(dirname "$1")"
folder=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")"
export GOWORK=off # no other workspace: the replacements of this module are its own
hash=$({ cat go.mod go.sum modules.sh internal/eviction/eviction.go; echo "$folder $PWD"; } | sha256sum | cut -d' ' -f1)
if [ "$(cat "$folder/hash" 2>/dev/null || true)" = "$hash" ]; then
	exit 0
fi
if [ -e "$folder" ] && [ ! -e "$folder/hash" ]; then
	echo "$0: $folder: it exists, and was not made by this script" >&2
	exit 1
fi
modules=$folder.$$ # renamed when it is complete
trap 'rm -rf "$modules"' EXIT
trap 'exit 130' INT TERM # with the trap above
mkdir "$modules"
go mod download k8s.io/kubernetes k8s.io/apiserver k8s.io/client-go # and what else the build needs when it is needed: less than all

# Two imports bring 230 packages and a fifth of all compilation, but nothing that the cluster does. The collector of ended
# pods, which is not among the controllers, calls one function of the kubelet, whose package imports the scheduler. And a
# file with helpers for tests, whose name is not that of a test, imports a fake of each client. The copies are without
# them. TestSameAsInKubernetes compares that function.
kubernetes=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)
apiserver=$(go list -m -f '{{.Dir}}' k8s.io/apiserver)
clients=$(go list -m -f '{{.Dir}}' k8s.io/client-go)
mkdir "$modules/kubernetes"
for part in go.mod cmd pkg plugin third_party; do
	cp -R "$kubernetes/$part" "$modules/kubernetes"
done
cp -R "$apiserver" "$modules/apiserver"
cp -R "$clients" "$modules/client-go"
chmod -R u+w "$modules" # the cache of modules is read-only
rm -f "$modules"/kubernetes/pkg/kubelet/eviction/*.go "$modules/apiserver/pkg/admission/plugin/policy/generic/policy_test_context.go"
cp internal/eviction/eviction.go "$modules/kubernetes/pkg/kubelet/eviction"

# And informers have a second form since 1.37, whose methods have the type of their objects. Each package that mentions the
# factory of informers is compiled with these forms of all types: another tenth of all compilation. Kubernetes uses two of
# them, those of resource/v1. In the copy of client-go, the others have the types of the first form.
find "$modules/client-go/informers" -name '*.go' ! -path '*/resource/v1/*' -exec sed -i.bak -E '
	s/^type ([A-Za-z0-9]+IndexInformer) cache\.TypedSharedIndexInformer\[.*\]$/type \1 = cache.SharedIndexInformer/
	/^type [A-Za-z0-9]+ = cache\.(TypedResourceEventHandlerFuncs|TypedResourceEventHandlerDetailedFuncs|TypedFilteringResourceEventHandler|DeletedObject)\[.*\]$/d
	s/^type ([A-Za-z0-9]+Indexers) = cache\.TypedIndexers\[.*\]$/type \1 = cache.Indexers/
	s/cache\.TypedIndexersToIndexers\(indexers\)/indexers/g
	s/cache\.NewTypedSharedIndexInformer\[[^]]*\]\(/(/g' {} +

# What a module says about GODEBUG holds outside of workspaces only.
{
	awk '/^go / || /^godebug / { print } /^godebug \(/ { block = 1; next } block { print } /^\)/ { block = 0 }' go.mod
	printf '\nuse "%s"\n\n' "$PWD"
	for name in kubernetes apiserver client-go; do
		printf 'replace k8s.io/%s => "%s"\n' "$name" "$folder/$name"
	done
} >"$modules/go.work"
echo "$hash" >"$modules/hash"
rm -rf "$folder"
mv "$modules" "$folder"
