#!/bin/sh
# Runs each fuzz target for a while: FUZZTIME=30s for each, PARALLEL=2 at once.
# What is found lies in testdata/fuzz of the package, and is run by all later tests.
# FuzzInstructions runs with a copy of the engine that reports what it reads.
set -eu
cd "$(dirname "$0")/.."
# New inputs are hardly made smaller: by default that takes up to a minute for each of them, in which nothing else is tried.
flags="-fuzztime ${FUZZTIME:-30s} -fuzzminimizetime 10x -parallel ${PARALLEL:-2}"
for module in . guest-sdks/go; do
	packages=$(go list -C "$module" -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
	for package in $packages; do
		targets=$(go test -C "$module" -list '^Fuzz' "$package") # fails if the tests do not compile
		for target in $(echo "$targets" | grep '^Fuzz' || true); do
			echo "$package $target"
			# shellcheck disable=SC2086 # one word for each flag
			go test -C "$module" "$package" -run '^$' -fuzz "^$target\$" $flags </dev/null
		done
	done
done
echo "./host/prepare FuzzInstructions"
# shellcheck disable=SC2086
scripts/traced.sh test ./host/prepare -run '^$' -fuzz '^FuzzInstructions$' $flags </dev/null
