#!/bin/sh
# Runs go vet for macOS and Windows, so programs and their tests compile there: cross-vet.sh MODULE...
# Left out are the packages below test/ of the root module, which start clusters and processes of Linux.
set -eu
cd "$(dirname "$0")/.."
if [ $# = 0 ]; then
	echo "usage: $0 MODULE..." >&2
	exit 2
fi
export GOWORK=off CGO_ENABLED=0
for at in darwin/arm64 windows/amd64; do
	export GOOS="${at%/*}" GOARCH="${at#*/}"
	for module; do
		echo "vet $module for $at"
		packages=./...
		if [ "$module" = . ]; then
			packages=$(go list ./... | grep -v '^github.com/kopf-wasm/kopf/test')
		fi
		# shellcheck disable=SC2086 # no spaces in the names of packages
		(cd "$module" && go vet $packages)
	done
done
