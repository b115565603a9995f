#!/bin/sh
# Runs a command of Go with a copy of the engine whose readers report each instruction that they read:
# traced.sh test -run ... ./host/prepare. The copy is made in .cache from the module that go.mod names.
set -eu
cd "$(dirname "$0")/.."
engine=github.com/tetratelabs/wazero
copy=.cache/traced
go mod download "$engine"
from=$(go list -m -f '{{.Dir}}' "$engine")
go run ./scripts/traced "$from" "$copy/engine"
cp go.mod "$copy/go.mod"
cp go.sum "$copy/go.sum"
go mod edit -replace "$engine=./$copy/engine" "$copy/go.mod"
command=$1
shift
CGO_ENABLED=0 exec go "$command" -modfile="$copy/go.mod" -tags traced "$@"
