#!/bin/sh
# Runs the tests that know the flag -update, with it. The changes are to be reviewed.
set -eu
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' --exclude-dir=.cache 'flag\.Bool("update"' . | xargs -r -n 1 dirname | sort -u |
	while read -r dir; do
		echo "golden files of $dir"
		(cd "$dir" && go test -count=1 . -update)
	done
git status --short -- '*testdata*'
