#!/bin/sh
# Builds a plugin from AssemblyScript: as-wasm.sh OUT FOLDER
# It needs npm, and the packages of the folder's lock file. As root on Debian it installs
# npm. Otherwise it says that npm is missing, and succeeds without a module: in CI it fails.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 OUT FOLDER" >&2
	exit 2
fi
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing npm..." >&2
	scripts/apt.sh npm || true # other systems do not have it
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "SKIPPED: $(basename "$out") needs npm: sudo apt-get install -y npm" >&2
	rm -f "$out"
	[ "${CI:-}" != true ]
	exit
fi
# A copy is built: the folder of the sources stays as it is.
work=$PWD/.cache/npm/$(basename "$folder")
mkdir -p "$work"
cp "$folder"/*.ts "$folder"/package*.json "$work"
cd "$work"
hash=$(cksum <package-lock.json)
if [ "$(cat installed 2>/dev/null || true)" != "$hash" ]; then
	echo "installing the packages of $(basename "$out")..." >&2
	npm ci --silent --no-audit --no-fund </dev/null >&2
	echo "$hash" >installed
fi
npm run --silent build </dev/null >&2
mv operator.wasm "$out"
