#!/bin/sh
# Builds the engine of a script language: engine.sh OUT CRATE
# It is a module from Rust (see rust-wasm.sh), with an interpreter in C, so it takes
# clang too (see clang.sh). Without them it succeeds without an engine: except in CI,
# where that is a failure.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 OUT CRATE" >&2
	exit 2
fi
if ! tools=$("$(dirname "$0")/clang.sh" "$(basename "$1")"); then
	rm -f "$1" "$1.hash"
	[ "${CI:-}" != true ]
	exit
fi
# Any archiver does: the linker reads the objects, not the table of symbols.
CC_wasm32_unknown_unknown=$(echo "$tools" | head -1)
export CC_wasm32_unknown_unknown AR_wasm32_unknown_unknown=ar
exec "$(dirname "$0")/rust-wasm.sh" "$1" "$2"
