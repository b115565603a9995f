#!/bin/sh
# Prints the command of the reference, Kopf in Python, and installs it into a
# virtual environment of the project if it is missing.
set -eu
cd "$(dirname "$0")/.."
version=1.45.2
venv=$PWD/.cache/reference
mkdir -p .cache
exec 9>.cache/reference.lock
flock 9 # tests call this at the same time
if ! "$venv/bin/kopf" --version 2>/dev/null | grep -qF "$version"; then
	echo "installing the reference, Kopf $version, into .cache/reference..." >&2
	rm -rf "$venv"
	if ! python3 -c 'import sys, ensurepip, venv; assert sys.version_info >= (3, 10)' 2>/dev/null; then
		[ "$(id -u)" = 0 ] || { echo "python3 (3.10 or later) with venv is needed: apt-get install -y python3 python3-venv" >&2; exit 1; }
		scripts/apt.sh python3 python3-venv >&2
	fi
	python3 -m venv "$venv" >&2
	"$venv/bin/python3" -m pip install --quiet --disable-pip-version-check "kopf==$version" kubernetes PyYAML >&2
fi
echo "$venv/bin/kopf"
