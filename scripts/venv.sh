#!/bin/sh
# Makes a virtual environment of Python once, with packages from PyPI: venv.sh FOLDER WHAT ARGUMENTS-OF-PIP...
# The message about an installation names WHAT. Python 3.11 or later is installed on Debian if it is missing (as root).
# The folder is made again when the arguments, or the content of a requirements file among them, change.
set -eu
cd "$(dirname "$0")/.."
venv=$1 what=$2
shift 2
wanted=$(for argument; do if [ -f "$argument" ]; then cat "$argument"; else echo "$argument"; fi; done | cksum)
mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9 # tests call this at the same time
[ "$(cat "$venv/installed" 2>/dev/null || true)" != "$wanted" ] || exit 0
if ! python3 -c 'import sys, ensurepip, venv; assert sys.version_info >= (3, 11)' 2>/dev/null; then
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "python3 (3.11 or later) with venv is needed: apt-get install -y python3 python3-venv" >&2; exit 1; }
	scripts/apt.sh python3 python3-venv >&2
fi
echo "installing $what into $venv..." >&2
rm -rf "$venv"
python3 -m venv "$venv" >&2
"$venv/bin/python3" -m pip install --quiet --disable-pip-version-check "$@" >&2
echo "$wanted" >"$venv/installed"
