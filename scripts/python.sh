#!/bin/sh
# Prints a Python that has PyYAML, and installs what is missing: through apt where
# this is root, otherwise into a virtual environment of the project.
set -eu
cd "$(dirname "$0")/.."
venv=.cache/venv

usable() {
	command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys, yaml; assert sys.version_info >= (3, 9)' 2>/dev/null
}

for python in python3 /usr/bin/python3 "$PWD/$venv/bin/python3"; do
	if usable "$python"; then
		echo "$python"
		exit 0
	fi
done

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing python3 and python3-yaml..." >&2
	scripts/apt.sh python3 python3-yaml >&2
	python=/usr/bin/python3
elif command -v python3 >/dev/null 2>&1; then
	echo "installing PyYAML into $venv..." >&2
	python3 -m venv "$venv" >&2
	"$venv/bin/python3" -m pip install --quiet PyYAML==6.0.3 >&2
	python=$PWD/$venv/bin/python3
else
	echo "python3 is needed: apt-get install -y python3 python3-yaml" >&2
	exit 1
fi
usable "$python" || { echo "$python has no usable PyYAML" >&2; exit 1; }
echo "$python"
