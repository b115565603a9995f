#!/bin/sh
# Builds a plugin from C or C++: c-wasm.sh OUT FOLDER [LIBRARIES]
# It takes clang with wasm-ld, and the LIBRARIES: nothing, c or c++ (see clang.sh). Without them it
# succeeds without a module: except in CI, where that is a failure.
set -eu
if [ $# -lt 2 ]; then
	echo "usage: $0 OUT FOLDER [c|c++]" >&2
	exit 2
fi
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
if ! tools=$(scripts/clang.sh "$(basename "$out")" "${3:-}"); then
	rm -f "$out"
	[ "${CI:-}" != true ]
	exit
fi
clang=$(echo "$tools" | head -1) linker=$(echo "$tools" | tail -1)
flags="--target=wasm32-wasi --sysroot=/usr -mexec-model=reactor"
case "${3:-}" in
c) source=$folder/main.c ;;
c++) source=$folder/main.cc flags="$flags --driver-mode=g++ -stdlib=libc++ -fno-exceptions" ;;
*) source=$folder/main.c flags="--target=wasm32 -nostdlib -fno-builtin" ;;
esac
# shellcheck disable=SC2086 # several flags
"$clang" $flags -O2 -Wall -Wextra -Wno-unused-function -fuse-ld="$linker" -Wl,--no-entry -o "$out.$$" "$source" # tests build one module at the same time
mv "$out.$$" "$out"
