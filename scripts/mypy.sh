#!/bin/sh
# Prints the command of mypy, which checks the types of operators in Python, and installs it into
# .cache/mypy if it is missing.
set -eu
cd "$(dirname "$0")/.."
version=2.4.1
venv=$PWD/.cache/mypy/$version
if ! [ -f "$venv/installed" ]; then
	echo "installing mypy $version into .cache/mypy..." >&2
	rm -rf "$venv"
	if ! python3 -c 'import sys, ensurepip, venv; assert sys.version_info >= (3, 11)' 2>/dev/null; then
		[ "$(id -u)" = 0 ] || { echo "python3 (3.11 or later) with venv is needed: apt-get install -y python3 python3-venv" >&2; exit 1; }
		scripts/apt.sh python3 python3-venv >&2
	fi
	python3 -m venv "$venv" >&2
	"$venv/bin/python3" -m pip install --quiet --disable-pip-version-check "mypy==$version" >&2
	touch "$venv/installed"
fi
echo "$venv/bin/mypy"
