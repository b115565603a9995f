#!/bin/sh
# Runs the tests that need no cluster with the race detector, package by package: race.sh [PACKAGE...]
# Each package has a time limit, so that one that hangs is named. The last line is `N passed, N failed`.
set -eu
cd "$(dirname "$0")/.."
command -v gcc >/dev/null 2>&1 || scripts/apt.sh gcc libc6-dev
mkdir -p .cache/bin
go build -o .cache/bin/tally ./scripts/tally
[ $# != 0 ] || set -- $(go list ./... | grep -v /test)
# Skipped: what is too long for the detector, by -short. So skips do not fail here.
CGO_ENABLED=1 go test -race -short -timeout 15m -json "$@" | CI= .cache/bin/tally
