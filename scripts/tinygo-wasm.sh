#!/bin/sh
# Builds a guest module from Go with TinyGo: tinygo-wasm.sh OUT FOLDER
# Where there is no tinygo in PATH, it says so and succeeds without a module.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 OUT FOLDER" >&2
	exit 2
fi
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
if ! command -v tinygo >/dev/null 2>&1; then
	echo "SKIPPED: $(basename "$out") needs TinyGo: https://tinygo.org/getting-started/install/" >&2
	rm -f "$out"
	exit
fi
cd "$2"
tinygo build -target=wasip1 -buildmode=c-shared -opt=z -no-debug -o "$out" .
