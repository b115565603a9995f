#!/bin/sh
# Checks that the crates of the Rust SDK can be published, and packs them: crates.sh SOURCE OUT
# SOURCE is a copy of the repository with the version of the release. Nothing is published:
# to publish, run `cargo publish --workspace` in the commit of the tags.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 SOURCE OUT" >&2
	exit 2
fi
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=$PWD/.cache/rust/release
export CARGO_TARGET_DIR
rm -rf "$CARGO_TARGET_DIR/package"
cd "$1/guest-sdks/rust"
# The copy is no checkout of git.
cargo publish --quiet --dry-run --allow-dirty --locked --package kopf-abi --package kopf-macros --package kopf </dev/null
# The dry run keeps no packages.
cargo package --quiet --no-verify --allow-dirty --locked --package kopf-abi --package kopf-macros --package kopf </dev/null
cp "$CARGO_TARGET_DIR"/package/*.crate "$out"
