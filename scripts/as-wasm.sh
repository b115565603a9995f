#!/bin/sh
# Builds a plugin from AssemblyScript: as-wasm.sh OUT FOLDER [SOURCE]
# The file SOURCE takes the place of main.ts.
# It needs npm, and the packages of the folder's lock file: see npm.sh. Without npm it says so,
# and succeeds without a module: in CI it fails.
set -eu
if [ $# -lt 2 ]; then
	echo "usage: $0 OUT FOLDER [SOURCE]" >&2
	exit 2
fi
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(cd "$2" && pwd)
source=$(realpath "${3:-$2/main.ts}")
cd "$(dirname "$0")/.."
status=0
scripts/npm.sh "$folder" "$(basename "$out")" || status=$?
if [ "$status" = 3 ]; then
	rm -f "$out"
	exit
fi
[ "$status" = 0 ] || exit "$status"
# A copy is built: the folder of the sources does not change.
work=$PWD/.cache/npm/$(basename "$folder")
cp "$folder"/*.ts "$work"
cp "$source" "$work/main.ts"
cd "$work"
npm run --silent build </dev/null >&2
mv operator.wasm "$out"
