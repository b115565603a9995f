#!/bin/sh
# Builds a guest module from Go: go-guest.sh OUT FOLDER
# The names of functions stay in the module, so that traps can show them.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 OUT FOLDER" >&2
	exit 2
fi
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$2"
[ -f "$out" ] || echo "building $(basename "$1")..." >&2 # the first time takes longest
GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -o "$out" .
