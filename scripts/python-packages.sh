#!/bin/sh
# Prints a folder with packages of Python, which tests pack with operators by --packages:
# python-packages.sh REQUIREMENTS
# The list names all packages with their versions. The folder is kept by the hash of the list.
set -eu
cd "$(dirname "$0")/.."
cache=$PWD/.cache/python-packages
key=$(sha256sum <"$1" | cut -c1-16)
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # tests call this at the same time
if [ -f "$cache/$key.done" ]; then
	echo "$cache/$key"
	exit
fi
python=/usr/bin/python3.11
if ! $python -c 'import ensurepip, venv' 2>/dev/null; then
	[ "$(id -u)" = 0 ] || { echo "python3.11 with venv is needed: apt-get install -y python3 python3-venv" >&2; exit 1; }
	scripts/apt.sh python3 python3-venv >&2
fi
echo "installing the packages of $1 into .cache/python-packages..." >&2
work=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$work"' EXIT
$python -m venv "$work/venv" >&2
"$work/venv/bin/python3" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --target "$work/packages" -r "$1" >&2
rm -rf "$work/packages/bin" "${cache:?}/$key"
mv "$work/packages" "$cache/$key"
touch "$cache/$key.done"
echo "$cache/$key"
