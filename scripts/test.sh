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
results=.cache/test/results
engine=$(go list -m -f '{{.Version}}' github.com/tetratelabs/wazero)
: >"$results"

# wanted NAME: does ONLY name the folder, or one above it?
wanted() {
	local word
	[ ${#only[@]} != 0 ] || return 0
	for word in "${only[@]}"; do
		[[ $1/ != "${word%/}"/* ]] || return 0
	done
	return 1
}

# step NAME COMMAND...: runs a command if its name is wanted.
step() {
	wanted "$1" || return 0
	run "$@"
}

# run NAME COMMAND...: runs a command, and adds a line to the results: how many tests have passed and failed, seconds, seconds of
# processor time (0 where there is no /proc), and the name. A command that fails without saying how many tests have failed counts as one.
run() (
	name=$1 log=$(mktemp .cache/test/step.XXXXXX) begun=$SECONDS passed=0 failed=0 self=${BASHPID:-}
	shift
	echo "=== $name (after $((SECONDS / 60)) min $((SECONDS % 60)) s)"
	"$@" 2>&1 | tee "$log"
	code=$?
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
	rm -f "$log"
	if [ -n "$line" ]; then
		read -r passed _ failed _ <<<"$line"
	fi
	if [ "$code" != 0 ] && [ "$failed" = 0 ]; then
		failed=1
	fi
	computed=$(awk '{ print int(($16 + $17) / 100) }' "/proc/$self/stat" 2>/dev/null || echo 0)
	echo "$passed $failed $((SECONDS - begun)) $computed $name" >>"$results"
)

# gotest FOLDER PACKAGE...: the Go tests of a module, without C, as the host is built: only so
# the process that compiles modules is confined. Without debugging information, linking takes half the time.
# `make vet` looks at all packages, and go test would look at them, and at all that they import, once more.
# Results of nested modules are not cached: the go command forgets which files outside of the module the tests have read.
# Programs know the version of the engine, by which machine code is cached. Tests have to hear it, to share that of programs.
gotest() (
	local again=()
	[ "$1" = . ] || again=(-count=1)
	cd "$1" || exit 1
	shift
	CGO_ENABLED=0 go test "${again[@]}" -timeout 30m -vet=off -ldflags="-w -X github.com/tetratelabs/wazero/internal/version.version=$engine" -json "$@" | "$tally"
)

# Packages of the root module that take longest, and mostly wait; that wait, too; and that compute for longest.
waiting="test/e2e test/takeover test/docs"
also_waiting="test/oci test/hostile"
busiest="host reactor"

# packages NAME: tests of those packages of the root module, given as input, whose names are wanted: one more at once than
# there are processors.
packages() {
	local name=$1 package packages=()
	while read -r package; do
		if wanted "$package"; then
			packages+=("./$package")
		fi
	done
	[ ${#packages[@]} = 0 ] || run "$name" gotest . -p "$(($(getconf _NPROCESSORS_ONLN) + 1))" "${packages[@]}"
}

# others: the other packages of the root module, except the vectors, which have a step of their own.
others() {
	local all
	all=$(go list ./...) || { run "the other packages" false; return; }
	sed 's|^github.com/kopf-wasm/kopf/||' <<<"$all" | grep -vxF "$(tr ' ' '\n' <<<"$waiting $also_waiting $busiest test/vectors")" | packages "the other packages"
}

# engines: what the engine's validator, compiler and interpreter read in function bodies, compared with the grammar of
# host/prepare: instructions, numbers and types of operands, of the specification's tests and of guests of each compiler.
engines() {
	echo "comparing what the engine reads in function bodies with the grammar of host/prepare"
	scripts/traced.sh test -vet=off -ldflags=-w -timeout 30m -json -run 'Engines|^FuzzInstructions$' ./host/prepare | "$tally"
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

# conformance: the recorded cases with all guests of test/conformance/suites.yaml, in one run: one cluster, and no waiting
# for the last cases of each guest. A guest that is not built is missing here, except in CI, where that is an error. As other steps
# compute meanwhile, there are fewer cases at once than run.py would choose: they are about times, and each is judged once.
conformance() {
	local guest word areas=() suites=()
	for word in "${only[@]}"; do
		case $word in
		conformance) areas=() && break ;;
		conformance/*) areas+=("--area" "${word#*/}") ;;
		esac
	done
	if [ ${#only[@]} != 0 ] && [[ " ${only[*]} " != *" conformance "* && ${#areas[@]} = 0 ]]; then
		return 0
	fi
	while read -r guest _ module; do
		if [ "$guest" = tinygo ] && ! command -v tinygo >/dev/null; then
			continue
		elif [ "${CI:-}" != true ] && { [ ! -f "$module" ] || { [ "$guest" = python ] && [ ! -f bin/engines/python.wasm ]; }; }; then
			echo "SKIPPED: conformance of the guest $guest: it is not built"
		else
			suites+=("--suite" "$guest")
		fi
	done < <(awk '/^[a-z]/ { guest = $1; sub(":", "", guest) } /^  module:/ { print guest, $0 }' test/conformance/suites.yaml)
	run conformance "$(scripts/python.sh)" test/conformance/run.py check --finished --jobs "$((9 * $(getconf _NPROCESSORS_ONLN)))" "${suites[@]}" "${areas[@]}"
}

# computing: the steps that mostly compute.
computing() {
	step abi gotest abi ./...
	step guest-sdks/go gotest guest-sdks/go ./...
	step guest-sdks/go gotest guest-sdks/go -tags tinygo ./... # what is different in modules of TinyGo
	step examples gotest examples ./...
	step examples gotest examples/12-embedded/application ./...
	step test/conformance/guests/go gotest test/conformance/guests/go ./...
	step test/cluster gotest test/cluster ./internal/... # build.sh compiles the program, without packages that `go test` would compile with it
	step artifacts/signatures/sigstore gotest artifacts/signatures/sigstore ./...
	step cmd/kopf gotest cmd/kopf ./...
	step cmd/kopf gotest cmd/kopf -tags nosigstore ./... # without the Sigstore library
	step test/conformance/runner scripts/test-runner.sh
	step host/prepare engines
	step vectors scripts/vectors.sh
	others
	tr ' ' '\n' <<<"$busiest" | packages "the packages that compute"
}

# pausing: the steps that compute between pauses, in which those above continue.
pausing() {
	step guest-sdks/rust scripts/rust-test.sh
	step scripts/release gotest scripts/release ./...
	step engines/python library
	step test/extism gotest test/extism ./...
	step test/chart gotest test/chart ./...
	tr ' ' '\n' <<<"$also_waiting" | packages "other packages that wait"
	if command -v tinygo >/dev/null; then
		step test/tinygo gotest . -tags interop ./test/tinygo
	else
		echo "SKIPPED: modules built by TinyGo: there is no tinygo in PATH"
	fi
}

# aside NAME: runs these steps in the background, at a lower priority. Sets group to their group of processes.
aside() {
	: >".cache/test/$1.log"
	set -m
	(
		renice -n 10 -p "${BASHPID:-}" >/dev/null 2>&1
		"$1"
	) >>".cache/test/$1.log" 2>&1 </dev/null &
	group=$! # which bash changes for each process substitution
	set +m
}

# ended NAME GROUP: waits for these steps, and prints what they have. Steps that were killed have failed.
ended() {
	tail -n +1 -f --pid="$2" ".cache/test/$1.log"
	wait "$2" || echo "0 1 0 0 the steps after the last one of .cache/test/$1.log" >>"$results"
}

go build -o "$tally" ./scripts/tally || exit 1

# Two things wait most of the time: these tests, and then the recorded cases. The other steps run meanwhile, and what they print follows.
aside computing
computing=$group
aside pausing
trap 'kill -- "-$computing" "-$group" 2>/dev/null' EXIT
tr ' ' '\n' <<<"$waiting" | packages "the packages that wait"
conformance
ended computing "$computing"
ended pausing "$group"

sort -k3 -rn "$results" | while read -r _ _ seconds computed name; do
	echo "$seconds s, of them $computed s of computing: $name"
done
while read -r _ failed _ _ name; do
	[ "$failed" = 0 ] || echo "failed: $name"
done <"$results"
read -r passed failed <<<"$(awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }' "$results")"
if [ $((passed + failed)) = 0 ]; then
	echo "nothing was tested${ONLY:+: ONLY=\"$ONLY\" names no tests}" >&2
	failed=1
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
