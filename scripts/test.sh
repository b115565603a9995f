#!/bin/bash
# Runs all tests. Each step ends with a line `N passed, N failed`; the last line
# is their sum. Everything that the steps need has been built before: see Makefile.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache/test
export KOPF_DEVCLUSTER=$PWD/.cache/bin/devcluster KOPF_REGISTRY=$PWD/.cache/bin/registry
tally=$PWD/.cache/bin/tally
passed=0 failed=0 broken=()

# step NAME COMMAND...: runs a command and adds its totals. A command that fails
# without telling how many tests have failed counts as one.
step() {
	local name=$1 log=.cache/test/step.log line code p=0 f=0
	shift
	echo "=== $name"
	"$@" 2>&1 | tee "$log"
	code=$?
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
	if [ -n "$line" ]; then
		read -r p _ f _ <<<"$line"
	fi
	if [ "$code" != 0 ] && [ "$f" = 0 ]; then
		f=1
	fi
	[ "$f" = 0 ] || broken+=("$name")
	passed=$((passed + p)) failed=$((failed + f))
}

# gotest FOLDER PACKAGE...: the Go tests of a module.
gotest() (
	cd "$1" || exit 1
	shift
	go test -json "$@" | "$tally"
)

# The packages of the root module, but for the vectors: these have a step of their own.
root_packages() {
	go list ./... | grep -v '/test/vectors$'
}

go build -o "$tally" ./scripts/tally || exit 1
step abi gotest abi ./...
step guest-sdks/go gotest guest-sdks/go ./...
step guest-sdks/rust scripts/rust-test.sh
step examples gotest examples ./...
step "the case interpreter" gotest test/conformance/guests/go ./...
step test/cluster gotest test/cluster ./...
step test/extism gotest test/extism ./...
step cmd/kopf-sigstore gotest cmd/kopf-sigstore ./...
# shellcheck disable=SC2046 # names of packages have no spaces
step "the host" gotest . $(root_packages)
step vectors scripts/vectors.sh
step "the conformance runner" scripts/test-runner.sh
step conformance make --no-print-directory conformance
# What a guest has a part in; all the rest is the host's: make conformance GUEST=rust.
# in_guest GUEST MODULE AREAS: the cases of these areas in another guest.
in_guest() {
	if [ -f "$2" ] || [ "${CI:-}" = true ]; then
		step "conformance of the guest $1" make --no-print-directory conformance GUEST="$1" AREA="$3"
	else
		echo "SKIPPED: conformance of the guest $1: it is not built"
	fi
}
in_guest rust .cache/guests/conformance-rust.wasm "changing field filters errors subhandlers results daemons timers indexing activities admission"
in_guest javascript bin/engines/javascript.wasm "changing filters errors subhandlers daemons indexing admission"
in_guest extism .cache/guests/conformance-extism.wasm "changing filters errors subhandlers daemons indexing"

[ ${#broken[@]} = 0 ] || printf 'failed: %s\n' "${broken[@]}"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
