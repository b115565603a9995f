#!/bin/bash
# Runs all tests, or some: ONLY="WORD..." names parts of them by folders (`reactor`, `test/e2e`,
# `guest-sdks/rust`), `vectors`, or `conformance`, or one area of it (`conformance/timers`).
# Each step ends with a line `N passed, N failed`; the last line is their sum. Everything that
# the steps need has been built before: see Makefile.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache/test
export KOPF_DEVCLUSTER=$PWD/.cache/bin/devcluster KOPF_REGISTRY=$PWD/.cache/bin/registry
tally=$PWD/.cache/bin/tally
read -ra only <<<"${ONLY:-}"
passed=0 failed=0 broken=() times=()

# wanted NAME: does ONLY name the folder, or one above it?
wanted() {
	local word
	[ ${#only[@]} != 0 ] || return 0
	for word in "${only[@]}"; do
		[[ $1/ != "${word%/}"/* ]] || return 0
	done
	return 1
}

# step NAME COMMAND...: runs a command if its name is wanted, and adds its totals. A command
# that fails without saying how many tests have failed counts as one.
step() {
	wanted "$1" || return 0
	run "$@"
}

# computed is how many seconds of processor time all commands of this script took so far; 0 where there is no /proc.
computed() { awk '{ print int(($16 + $17) / 100) }' "/proc/$$/stat" 2>/dev/null || echo 0; }

run() {
	local name=$1 log=.cache/test/step.log line code p=0 f=0 begun=$SECONDS before
	before=$(computed)
	shift
	echo "=== $name (after $((SECONDS / 60)) min $((SECONDS % 60)) s)"
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
	times+=("$((SECONDS - begun)) s, of them $(($(computed) - before)) s of computing: $name")
}

# gotest FOLDER PACKAGE...: the Go tests of a module, without C, as the host is built: only so
# the process that compiles modules is confined. Without debugging information, linking takes half the time.
gotest() (
	cd "$1" || exit 1
	shift
	CGO_ENABLED=0 go test -timeout 30m -ldflags=-w -json "$@" | "$tally"
)

# host: the packages of the root module, except the vectors, which have a step of their own. The end-to-end tests take
# longest and mostly wait, so they come first, and the other packages run at the same time, two on two processors.
host() {
	local package packages=()
	while read -r package; do
		if [ "$package" != test/vectors ] && wanted "$package"; then
			packages+=("./$package")
		fi
	done < <(
		echo test/e2e
		go list ./... | sed 's|^github.com/kopf-wasm/kopf/||' | grep -vx test/e2e
	)
	[ ${#packages[@]} = 0 ] || run "the host" gotest . -p "$(($(getconf _NPROCESSORS_ONLN) + 1))" "${packages[@]}"
}

# engines: what the engine's validator, compiler and interpreter read in function bodies, compared with the grammar of
# host/prepare: instructions, numbers and types of operands, of the specification's tests and of guests of each compiler.
engines() {
	echo "comparing what the engine reads in function bodies with the grammar of host/prepare"
	scripts/traced.sh test -timeout 30m -json -run 'Engines|^FuzzInstructions$' ./host/prepare | "$tally"
}

# library: the library of guests in Python, in an interpreter of this machine. It is written for the version of the engine.
library() {
	local python
	python=$(scripts/python.sh) || return 1
	if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
		echo "SKIPPED: the tests of engines/python need Python 3.11 or newer"
		[ "${CI:-}" != true ]
		return
	fi
	"$python" engines/python/tests
}

# conformance GUEST MODULE [AREA...]: the recorded cases of these areas with a guest; all areas by default.
conformance() {
	local guest=$1 module=$2 name="conformance of the guest $1" word areas=()
	shift 2
	for word in "${only[@]}"; do
		case $word in
		conformance) areas=("$@") && break ;;
		conformance/*) [[ $# != 0 && " $* " != *" ${word#*/} "* ]] || areas+=("${word#*/}") ;;
		esac
	done
	if [ ${#only[@]} = 0 ]; then
		areas=("$@")
	elif [[ " ${only[*]} " != *" conformance "* && ${#areas[@]} = 0 ]]; then
		return 0
	fi
	if [ "$guest" = python ] && [ ! -f bin/engines/python.wasm ] && [ "${CI:-}" != true ]; then
		echo "SKIPPED: $name: its engine is not built"
	elif [ -f "$module" ] || [ "${CI:-}" = true ]; then
		run "$name" make --no-print-directory conformance GUEST="$guest" AREA="${areas[*]}" ONLY=
	else
		echo "SKIPPED: $name: it is not built"
	fi
}

go build -o "$tally" ./scripts/tally || exit 1
step abi gotest abi ./...
step guest-sdks/go gotest guest-sdks/go ./...
step guest-sdks/go gotest guest-sdks/go -tags tinygo ./... # what is different in modules of TinyGo
step guest-sdks/rust scripts/rust-test.sh
step examples gotest examples ./...
step test/conformance/guests/go gotest test/conformance/guests/go ./...
step test/cluster gotest test/cluster ./...
step test/extism gotest test/extism ./...
step test/chart gotest test/chart ./...
step scripts/release gotest scripts/release ./...
step artifacts/signatures/sigstore gotest artifacts/signatures/sigstore ./...
step cmd/kopf gotest cmd/kopf ./...
step cmd/kopf gotest cmd/kopf -tags nosigstore ./... # without the Sigstore library
host
step host/prepare engines
step engines/python library
step vectors scripts/vectors.sh
step test/conformance/runner scripts/test-runner.sh
conformance go .cache/guests/conformance-go.wasm
if command -v tinygo >/dev/null; then
	step test/tinygo gotest . -tags interop ./test/tinygo
	conformance tinygo .cache/guests/conformance-tinygo.wasm
else
	echo "SKIPPED: modules built by TinyGo: there is no tinygo in PATH"
fi
# The areas in which a guest takes part; all others are the host's alone: make conformance GUEST=rust.
conformance rust .cache/guests/conformance-rust.wasm changing field filters errors subhandlers results daemons timers indexing activities admission unseen
conformance javascript bin/engines/javascript.wasm changing filters errors subhandlers daemons indexing admission unseen
conformance python .cache/guests/conformance-python.py errors subhandlers
conformance extism .cache/guests/conformance-extism.wasm changing filters errors subhandlers daemons indexing

[ ${#times[@]} = 0 ] || printf '%s\n' "${times[@]}" | sort -rn
[ ${#broken[@]} = 0 ] || printf 'failed: %s\n' "${broken[@]}"
if [ $((passed + failed)) = 0 ]; then
	echo "nothing was tested${ONLY:+: ONLY=\"$ONLY\" names no tests}" >&2
	failed=1
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
