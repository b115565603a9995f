#!/bin/sh
# Builds the embedded control plane with another version of Kubernetes: build-version.sh OUT VERSION
# It builds a copy of this folder in OUT.src, whose go.mod requires what k8s.io/kubernetes of that
# version requires. So the dependencies are those that Kubernetes is tested with. The checksums are
# those of the public database.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 OUT VERSION" >&2
	exit 2
fi
case $2 in
v1.[0-9]*.[0-9]*) ;;
*)
	echo "$0: $2: want a version of Kubernetes, like v1.35.4" >&2
	exit 2
	;;
esac
mkdir -p "$1.src"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")"
export GOWORK=off
if [ ! -s "$out.src/go.sum" ]; then
	original=$(cd / && GOFLAGS= go list -m -f '{{.GoMod}}' "k8s.io/kubernetes@$2")
	# The staging modules of Kubernetes are in its repository; their releases have 0 as the first number.
	awk -v version="$2" -v staging="v0.${2#v1.}" '
		/^\/\// { next }
		$1 == "module" { print "module github.com/kopf-wasm/kopf/test/cluster"; next }
		$2 == "v0.0.0" { $2 = staging; print "\t" $0; next }
		$2 == "=>" { print "\t" $1, "=>", $1, staging; next }
		{ print }
		END { print "\nrequire (\n\tk8s.io/kubernetes " version "\n)" }
	' "$original" >"$out.src/go.mod"
fi
rm -rf "$out.src/internal"
cp -R ./*.go build.sh modules.sh internal "$out.src"
cd "$out.src"
GOFLAGS=-mod=mod go list -deps . >/dev/null # completes go.mod and go.sum
./build.sh "$out"
