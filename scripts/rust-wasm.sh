#!/bin/sh
# Builds a guest module from Rust: rust-wasm.sh OUT CRATE [TARGET]
# The target is wasm32-unknown-unknown, or wasm32-wasip1.
# It takes the tool chain that is there: one with the target
# (rustup target add wasm32-unknown-unknown), or that of Debian (scripts/debianrust).
# As root on Debian it installs the latter. Otherwise it says what is
# missing, and succeeds without a module: except in CI, where that is a failure.
set -eu
unset MAKEFLAGS MFLAGS # the caller shares no job server with us
if [ $# -ne 2 ] && [ $# -ne 3 ]; then
	echo "usage: $0 OUT CRATE [TARGET]" >&2
	exit 2
fi
target=${3:-wasm32-unknown-unknown}
packages="rustc-web cargo-web rust-web-src lld-19"
if [ "$target" = wasm32-wasip1 ]; then
	packages="$packages wasi-libc"
fi
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
crate=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
cache=$PWD/.cache/rust

# The module depends on its crate, what that includes of others, the workspace that
# this is in, and the SDK if it uses it.
sources() {
	{
		find "$crate" scripts/rust-wasm.sh \( -name target -prune \) -o -type f -print
		sed -n 's|^#\[path = "\(.*\)"\]$|\1|p' "$crate"/src/*.rs 2>/dev/null | sed "s|^|$crate/src/|"
		ls "$(dirname "$crate")/Cargo.toml" "$(dirname "$crate")/Cargo.lock" 2>/dev/null || true
		if grep -q guest-sdks/rust "$crate/Cargo.toml"; then
			find guest-sdks/rust \( -name target -prune \) -o -type f -print
		fi
	} | LC_ALL=C sort
}
# shellcheck disable=SC2046 # no spaces in the names of the sources
hash=$(sha256sum $(sources) | sha256sum | cut -d' ' -f1)
if [ -f "$out" ] && [ "$(cat "$out.hash" 2>/dev/null || true)" = "$hash" ]; then
	exit 0
fi

has_target() {
	command -v cargo >/dev/null 2>&1 && command -v rustc >/dev/null 2>&1 &&
		[ -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ]
}
has_debian() {
	# shellcheck disable=SC2016,SC2086 # of dpkg; several packages
	statuses=$(dpkg-query -W -f '${db:Status-Status}\n' $packages 2>/dev/null) && ! echo "$statuses" | grep -qvx installed
}

build() {
	echo "building $(basename "$out") with $1..." >&2
	shift
	(cd "$crate" && CARGO_TARGET_DIR=$cache/target "$@" build --quiet --locked --release --target $target) </dev/null
}

scripts/apt.sh
if has_target; then
	build "$(rustc --version)" cargo
else
	if ! has_debian && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
		echo "installing Debian's Rust for WebAssembly..." >&2
		# shellcheck disable=SC2086 # several packages
		scripts/apt.sh $packages || true # other systems do not have them
	fi
	if ! has_debian; then
		echo "SKIPPED: $(basename "$out") needs Rust for WebAssembly. Install it by one of:" >&2
		echo "    rustup target add $target" >&2
		echo "    sudo apt-get install -y $packages" >&2
		rm -f "$out" "$out.hash"
		[ "${CI:-}" != true ]
		exit
	fi
	mkdir -p "$cache"
	# One at a time: the first one builds the standard library.
	variables=$(flock "$cache/$target.lock" go run ./scripts/debianrust "$target")
	set -f
	IFS='
'
	# shellcheck disable=SC2086 # one variable in a line
	build "Debian's Rust" env $variables /usr/bin/cargo
fi
name=$(sed -n 's/^name *= *"\(.*\)"$/\1/p' "$crate/Cargo.toml" | head -1 | tr - _)
cp "$cache/target/$target/release/$name.wasm" "$out.$$" # tests build one module at the same time
mv "$out.$$" "$out"
echo "$hash" >"$out.hash"
echo "$(basename "$out"): $(wc -c <"$out") bytes" >&2
