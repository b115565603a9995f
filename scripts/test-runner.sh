#!/bin/sh
# Runs the unit tests of the conformance runner, and tells the totals.
set -eu
cd "$(dirname "$0")/.."
python=$(scripts/python.sh)
cd test/conformance
exec "$python" -m tests
