#!/bin/sh
# Builds a plugin from C: c-wasm.sh OUT FOLDER
# It takes clang with wasm-ld (see clang.sh). Without them it succeeds without a
# module: except in CI, where that is a failure.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 OUT FOLDER" >&2
	exit 2
fi
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
if ! tools=$(scripts/clang.sh "$(basename "$out")"); then
	rm -f "$out"
	[ "${CI:-}" != true ]
	exit
fi
clang=$(echo "$tools" | head -1) linker=$(echo "$tools" | tail -1)
"$clang" --target=wasm32 -nostdlib -fno-builtin -O2 -Wall -Wextra -Wno-unused-function \
	-fuse-ld="$linker" -Wl,--no-entry -o "$out.new" "$folder/main.c"
mv "$out.new" "$out"
