#!/bin/sh
# Tests the SDK for Rust and the examples in Rust natively: rust-test.sh [ARGUMENTS OF CARGO TEST...]
# It ends with a line `N passed, N failed`. Without cargo it says so, and there is
# nothing to be tested: except in CI, where that is a failure.
set -eu
cd "$(dirname "$0")/.."
mkdir -p .cache/test
log=.cache/test/rust.log
target=$PWD/.cache/rust/target
if ! command -v cargo >/dev/null 2>&1; then
	echo "SKIPPED: the tests of guest-sdks/rust need cargo: https://rustup.rs, or apt-get install cargo" >&2
	[ "${CI:-}" != true ]
	exit
fi
code=0
: >"$log"
for workspace in guest-sdks/rust examples; do
	(cd "$workspace" && CARGO_TARGET_DIR=$target cargo test --locked --workspace --no-fail-fast "$@") >>"$log" 2>&1 || code=$?
done
if [ "$code" != 0 ]; then
	cat "$log"
fi
awk -v code="$code" '
	/^test result:/ { passed += $4; failed += $6 }
	END {
		if (code != 0 && failed == 0) failed = 1
		print passed + 0 " passed, " failed + 0 " failed"
	}' "$log"
exit "$code"
