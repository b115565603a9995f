#!/bin/sh
# Builds a plugin from C: c-wasm.sh OUT FOLDER
# It takes clang with wasm-ld; as root on Debian it installs them. Otherwise it says
# what is missing, and succeeds without a module: except in CI, where that is a failure.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 OUT FOLDER" >&2
	exit 2
fi
packages="clang-19 lld-19"
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."

find_tools() {
	for suffix in "" -19 -18 -17 -16 -15 -14; do
		if command -v "clang$suffix" >/dev/null 2>&1 && command -v "wasm-ld$suffix" >/dev/null 2>&1; then
			clang=clang$suffix linker=$(command -v "wasm-ld$suffix")
			return 0
		fi
	done
	return 1
}
if ! find_tools && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing clang..." >&2
	# shellcheck disable=SC2086 # several packages
	scripts/apt.sh $packages || true # other systems do not have them
fi
if ! find_tools; then
	echo "SKIPPED: $(basename "$out") needs clang and wasm-ld: sudo apt-get install -y $packages" >&2
	rm -f "$out"
	[ "${CI:-}" != true ]
	exit
fi
"$clang" --target=wasm32 -nostdlib -fno-builtin -O2 -Wall -Wextra -Wno-unused-function \
	-fuse-ld="$linker" -Wl,--no-entry -o "$out.new" "$folder/main.c"
mv "$out.new" "$out"
