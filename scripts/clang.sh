#!/bin/sh
# Prints a clang that compiles to WebAssembly, and its linker: two lines: clang.sh WHAT [LIBRARIES]
# The LIBRARIES are nothing, c or c++: those of WASI. As root on Debian it installs what is missing.
# Otherwise it says what WHAT needs, and fails.
set -eu
packages="clang-19 lld-19" libraries=
case "${2:-}" in
c) packages="$packages wasi-libc libclang-rt-19-dev-wasm32" libraries=libc.a ;;
c++) packages="$packages wasi-libc libclang-rt-19-dev-wasm32 libc++-19-dev-wasm32" libraries="libc.a libc++.a" ;;
esac

find_tools() {
	for library in $libraries; do
		[ -f "/usr/lib/wasm32-wasi/$library" ] || return 1
	done
	for suffix in "" -19 -18 -17 -16 -15 -14; do
		if command -v "clang$suffix" >/dev/null 2>&1 && command -v "wasm-ld$suffix" >/dev/null 2>&1; then
			echo "clang$suffix"
			command -v "wasm-ld$suffix"
			return 0
		fi
	done
	return 1
}
"$(dirname "$0")/apt.sh"
find_tools && exit
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing clang..." >&2
	# shellcheck disable=SC2086 # several packages
	"$(dirname "$0")/apt.sh" $packages || true # other systems do not have them
	find_tools && exit
fi
echo "SKIPPED: ${1:-this} needs clang and wasm-ld: sudo apt-get install -y $packages" >&2
exit 1
