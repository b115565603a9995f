#!/bin/sh
# Shows an operator at work on a throw-away cluster. Everything is built before: see Makefile.
set -eu
cd "$(dirname "$0")/.."
echo "building the demo..." >&2
exec go run ./test/demo
