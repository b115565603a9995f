#!/bin/sh
# Prints the command of the reference, Kopf in Python, and installs it into a
# virtual environment of the project if it is missing.
set -eu
cd "$(dirname "$0")/.."
version=1.45.2
scripts/venv.sh .cache/reference "the reference, Kopf $version," "kopf==$version" kubernetes PyYAML
echo "$PWD/.cache/reference/bin/kopf"
