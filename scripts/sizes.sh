#!/bin/sh
# Prints the sizes of the smallest operator, by language: examples/01-minimal, in Go also
# with packages that operators like to use, and what Go takes by itself. What cannot be
# built on this machine is skipped, with a line that says so.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/.cache/bench/sizes
mkdir -p "$out"

# row NAME FILE [GOAL]: a line of the table; the goal is in KiB.
row() {
	kib=$((($(wc -c <"$2") + 1023) / 1024)) verdict=
	if [ -n "${3:-}" ]; then
		verdict="goal $3: met"
		[ "$kib" -le "$3" ] || verdict="goal $3: MISSED"
	fi
	printf '%-44s %6d KiB  %s\n' "$1" "$kib" "$verdict"
}

# go_guest FILE FOLDER: a stripped module.
go_guest() {
	(cd "$2" && GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags='-s -w' -o "$1" .)
}

echo "The smallest operator, stripped, by $(go version | cut -d' ' -f3)"
echo
rust=.cache/guests/rust-01-minimal.wasm
scripts/rust-wasm.sh "$rust" examples/01-minimal
if [ -f "$rust" ]; then
	row "Rust" "$rust" 150
fi
go_guest "$out/go.wasm" examples/01-minimal
row "Go" "$out/go.wasm" 2560
go_guest "$out/fmt.wasm" test/bench/sizes/fmt
row "Go, with fmt" "$out/fmt.wasm"
go_guest "$out/json.wasm" test/bench/sizes/json
row "Go, with encoding/json" "$out/json.wasm"
go_guest "$out/empty.wasm" test/bench/sizes/empty
row "Go, a module that does nothing" "$out/empty.wasm"
scripts/tinygo-wasm.sh "$out/tinygo.wasm" examples/01-minimal
if [ -f "$out/tinygo.wasm" ]; then
	row "TinyGo ($(tinygo version | cut -d' ' -f3))" "$out/tinygo.wasm" 300
fi
row "JavaScript, besides the engine" examples/01-minimal/operator.js
if [ -f bin/engines/javascript.wasm ]; then
	row "JavaScript, the engine" bin/engines/javascript.wasm
else
	echo "SKIPPED: the engine of JavaScript: make engines" >&2
fi
