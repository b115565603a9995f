#!/bin/sh
# Builds the engine of scripts in Python: python-engine.sh OUT
# It is CPython (see cpython.sh), its standard library and engines/python/lib as frozen code,
# and engines/python/engine.c. OUT.LICENSES receives the notices of all of these.
# Without the tools it succeeds without an engine: except in CI, where that is a failure.
set -eu
if [ $# -ne 1 ]; then
	echo "usage: $0 OUT" >&2
	exit 2
fi
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/.."
exec 9>"$out.lock"
flock 9 # tests call this at the same time
source=engines/python

# The engine depends on what CPython's objects depend on, and on its own sources.
sources() {
	{
		find "$source/lib" -type f ! -path "*/__pycache__/*" -print
		echo $source/engine.c
		echo $source/freeze.py
		echo scripts/cpython.sh
		echo scripts/debian-source.sh
		echo scripts/python-engine.sh
	} | LC_ALL=C sort
}
# shellcheck disable=SC2046 # no spaces in the names of the sources
hash=$(sha256sum $(sources) | sha256sum | cut -d' ' -f1)
if [ -f "$out" ] && [ -f "$out.LICENSES" ] && [ "$(cat "$out.hash" 2>/dev/null || true)" = "$hash" ]; then
	exit 0
fi
objects=$(scripts/cpython.sh) || {
	[ $? = 3 ] || exit 1
	rm -f "$out" "$out.hash" "$out.LICENSES"
	[ "${CI:-}" != true ]
	exit
}

# Sets are written in the order of their hashes. No column is stored: tracebacks show lines.
export PYTHONHASHSEED=0 PYTHONNODEBUGRANGES=1 PYTHONDONTWRITEBYTECODE=1
clang=$(cat "$objects/clang")
python=$(cat "$objects/python")

# compiled FROM.c OBJECT
compiled() {
	$clang -O2 -DNDEBUG -Wall -std=c23 -I"$objects/include" -ffile-prefix-map="$(dirname "$1")=." -ffile-prefix-map="$objects=." -c "$1" -o "$2"
}

# The standard library is frozen once, the library of guests each time that it changes.
stdlib=$objects/stdlib-$(sha256sum <$source/freeze.py | cut -c1-16)
if [ ! -f "$stdlib/stdlib.o" ]; then
	rm -rf "$objects"/stdlib-*
	mkdir -p "$stdlib"
	"$python" -S $source/freeze.py stdlib "$stdlib" "$objects/stdlib" --stdlib >&2
	compiled "$stdlib/stdlib.c" "$stdlib/stdlib.o.new"
	mv "$stdlib/stdlib.o.new" "$stdlib/stdlib.o"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -S $source/freeze.py lib "$work" $source/lib >&2
compiled "$work/lib.c" "$work/lib.o"
compiled $source/engine.c "$work/engine.o"
# The stack comes first, so an overflow is a trap and never overwrites data. Without -O, clang
# does not run wasm-opt, which some machines have and others do not.
$clang -mexec-model=reactor -Wl,--stack-first -Wl,-z,stack-size=2097152 -Wl,--strip-all -Wl,--export=_initialize \
	"$work/engine.o" "$work/lib.o" "$stdlib/stdlib.o" "$objects"/lib/*.o "$objects"/lib/*.a \
	-ldl -lwasi-emulated-signal -lwasi-emulated-getpid -lwasi-emulated-process-clocks -lm -o "$work/engine.wasm"
cp "$objects/LICENSES" "$out.LICENSES"
cp "$work/engine.wasm" "$out.new"
mv "$out.new" "$out"
echo "$hash" >"$out.hash"
echo "$(basename "$out"): $(wc -c <"$out") bytes" >&2
