#!/bin/sh
# Checks the format of all crates, and what clippy says of them. Without these tools it says
# so, and succeeds: except in CI, where that is a failure.
set -eu
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=$PWD/.cache/rust/target
export CARGO_TARGET_DIR
if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
	echo "SKIPPED: the check of the crates needs rustfmt and clippy: rustup component add rustfmt clippy" >&2
	[ "${CI:-}" != true ]
	exit
fi
# Those without the SDK import functions of the host: they are for wasm32 alone.
for workspace in guest-sdks/rust examples test/conformance/guests/rust test/guests/rust/*/; do
	echo "check $workspace"
	(cd "$workspace" && cargo fmt --all --check)
	if [ "$workspace" = guest-sdks/rust ] || grep -q guest-sdks "$workspace"/Cargo.toml "$workspace"/*/Cargo.toml 2>/dev/null; then
		(cd "$workspace" && cargo clippy --quiet --locked --workspace --all-targets -- -D warnings -A clippy::unit_arg)
	fi
done
