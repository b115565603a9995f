#!/bin/sh
# Runs each fuzz target for a while: FUZZTIME=30s for each, PARALLEL=2 at once.
# What is found lies in testdata/fuzz of the package, and is run by all later tests.
# Inputs that are new are hardly made smaller: by default that takes up to a minute for each of them, in which
# nothing else is tried.
# FuzzInstructions runs with a copy of the engine that reports what it reads.
set -eu
cd "$(dirname "$0")/.."
go list -f '{{.ImportPath}} {{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}' ./... | while read -r package files; do
	[ -n "$files" ] || continue
	go test -list '^Fuzz' "$package" | grep '^Fuzz' | while read -r target; do
		echo "$package $target"
		go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 10x -parallel "${PARALLEL:-2}" </dev/null
	done
done
echo "./host/prepare FuzzInstructions"
scripts/traced.sh test ./host/prepare -run '^$' -fuzz '^FuzzInstructions$' -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 10x -parallel "${PARALLEL:-2}" </dev/null
