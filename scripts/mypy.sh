#!/bin/sh
# Prints the command of mypy, which checks the types of operators in Python, and installs it into
# .cache/mypy if it is missing.
set -eu
cd "$(dirname "$0")/.."
version=2.4.1
scripts/venv.sh .cache/mypy "mypy $version" "mypy==$version"
echo "$PWD/.cache/mypy/bin/mypy"
