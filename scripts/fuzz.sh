#!/bin/sh
# Runs each fuzz target for a while: FUZZTIME=30s for each, PARALLEL=2 at once.
# What is found lies in testdata/fuzz of the package, and is run by all later tests.
# FuzzInstructions runs with a copy of the engine that reports what it reads.
set -eu
cd "$(dirname "$0")/.."
# New inputs are hardly made smaller: by default that takes up to a minute for each of them, in which nothing else is tried.
flags="-fuzztime ${FUZZTIME:-30s} -fuzzminimizetime 10x -parallel ${PARALLEL:-2}"
for module in . guest-sdks/go; do
	go list -C "$module" -f '{{.ImportPath}} {{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}' ./... | while read -r package files; do
		[ -n "$files" ] || continue
		go test -C "$module" -list '^Fuzz' "$package" | grep '^Fuzz' | while read -r target; do
			echo "$package $target"
			# shellcheck disable=SC2086 # one word for each flag
			go test -C "$module" "$package" -run '^$' -fuzz "^$target\$" $flags </dev/null
		done
	done
done
echo "./host/prepare FuzzInstructions"
# shellcheck disable=SC2086
scripts/traced.sh test ./host/prepare -run '^$' -fuzz '^FuzzInstructions$' $flags </dev/null
