#!/bin/sh
# Checks the recorded pure functions: vectors.sh [FOLDER]. The totals come last.
set -eu
cd "$(dirname "$0")/.."
mkdir -p .cache/test
log=$PWD/.cache/test/vectors.log
go test -vet=off -ldflags=-w -c -o .cache/test/vectors.test ./test/vectors
code=0
(cd test/vectors && ../../.cache/test/vectors.test ${1:+-vectors "$1"}) >"$log" 2>&1 || code=$?
# After the totals, the testing package repeats the mismatches in its own words.
sed '/^[0-9][0-9]* passed, [0-9][0-9]* failed$/q' "$log"
exit "$code"
