#!/bin/sh
# Runs the tests that need no cluster with the race detector, package by package: race.sh [PACKAGE...]
# Each package has a time limit, so that one that hangs is named. The last line is `N passed, N failed`.
set -eu
cd "$(dirname "$0")/.."
command -v gcc >/dev/null 2>&1 || scripts/apt.sh gcc libc6-dev
mkdir -p .cache/bin
go build -o .cache/bin/tally ./scripts/tally

# detect FOLDER PACKAGE...: the tests of a module. Skipped: what is too long for the detector, by -short.
detect() (
	cd "$1"
	shift
	CGO_ENABLED=1 GOWORK=off go test -race -short -timeout 15m -json "$@"
)

all() {
	if [ $# != 0 ]; then
		detect . "$@"
	else
		detect . $(go list ./... | grep -v /test) || true # the tally has counted the failures
		detect artifacts/signatures/sigstore ./... || true
		detect cmd/kopf ./... || true
	fi
}

# Skips do not fail here.
all "$@" | CI= .cache/bin/tally
