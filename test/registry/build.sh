#!/bin/sh
# Builds the registry of the tests: build.sh OUT
# Does nothing if OUT was built from the same sources; OUT.hash tells.
set -eu
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")"
export CGO_ENABLED=0 # as everything else that the tests compile
hash=$({ cat go.mod go.sum build.sh main.go; go env GOVERSION GOOS GOARCH CGO_ENABLED; } | sha256sum | cut -d' ' -f1)
if [ -x "$out" ] && [ "$(cat "$out.hash" 2>/dev/null || true)" = "$hash" ]; then
	exit 0
fi
echo "building the registry of the tests (about a minute at the first time)..." >&2
trap 'rm -f "$out.$$"' EXIT
GOWORK=off go build -buildvcs=false -ldflags "-s -w" -o "$out.$$" .
mv "$out.$$" "$out"
echo "$hash" > "$out.hash"
