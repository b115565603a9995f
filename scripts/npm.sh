#!/bin/sh
# Installs the packages of a folder's lock file into .cache/npm: npm.sh FOLDER WHAT
# WHAT needs them. As root on Debian it installs npm. Otherwise it says that npm is missing,
# and fails with the status 3; in CI with 1.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 FOLDER WHAT" >&2
	exit 2
fi
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing npm..." >&2
	scripts/apt.sh npm || true # other systems do not have it
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "SKIPPED: $2 needs npm: sudo apt-get install -y npm" >&2
	[ "${CI:-}" != true ] || exit 1
	exit 3
fi
work=$PWD/.cache/npm/$(basename "$folder")
mkdir -p "$work"
cp "$folder"/package*.json "$work"
cd "$work"
hash=$(cksum <package-lock.json)
if [ "$(cat installed 2>/dev/null || true)" != "$hash" ]; then
	echo "installing the packages of $2..." >&2
	npm ci --silent --no-audit --no-fund </dev/null >&2
	echo "$hash" >installed
fi
