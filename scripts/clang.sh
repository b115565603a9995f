#!/bin/sh
# Prints a clang that compiles to WebAssembly, and its linker: two lines. As root on
# Debian it installs them. Otherwise it says what is missing for its argument, and fails.
set -eu
packages="clang-19 lld-19"

find_tools() {
	for suffix in "" -19 -18 -17 -16 -15 -14; do
		if command -v "clang$suffix" >/dev/null 2>&1 && command -v "wasm-ld$suffix" >/dev/null 2>&1; then
			echo "clang$suffix"
			command -v "wasm-ld$suffix"
			return 0
		fi
	done
	return 1
}
find_tools && exit
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing clang..." >&2
	# shellcheck disable=SC2086 # several packages
	"$(dirname "$0")/apt.sh" $packages || true # other systems do not have them
	find_tools && exit
fi
echo "SKIPPED: ${1:-this} needs clang and wasm-ld: sudo apt-get install -y $packages" >&2
exit 1
