#!/bin/bash
# Compares this project with other operators that do the same work, see the README of
# test/bench. The host and the cluster have been built before: see Makefile.
#   ROUNDS=5      how often each operator has its turn
#   OBJECTS=1000  how many objects are created and updated at once
#   TRICKLE=200   how many objects are created one by one
#   POSTING=both  events posting: off, on, or both
#   DAEMONS=10000 how many objects have a daemon each; 0: no daemons
#   RESTARTS=10000 how many handled objects are there when operators start again; 0: no restarts
#   COUNTS=1,20,100 how many idle operators, for ONLY=hosting; LANGUAGES=rust,go,python,reference,kube-rs,controller-runtime and CASES=one,many: which ones, or fair: a neighbour of an operator that spins, spread: a burst for as many operators as the last of COUNTS and for one, crowd: events next to as many operators of the same resource; WATCHES=own,shared: how they watch
#   LARGE=        any value: restarts over objects of 10 KB, too
#   ONLY=         names of operators, comma-separated; daemons: all that are measured with daemons; start, restart: starts or restarts, of all operators or of those named as well; replicas: 1, 2 and 3 replicas that share the objects, of kopf-rust or of those named as well; admission: reviews; attacks: reviews under attack; hosting: idle operators in one process; sizes: sizes of modules
#   PUBLISH=      any value: the page about benchmarks gets the plots of kopf-rust, kopf-go, kopf-python, kube-rs, controller-runtime and the reference: docs/benchmarks.md
#   ALSO=         another operator, as NAME=COMMAND, such as an older build
# What cannot be built on this machine is skipped, with a line that says so.
set -euo pipefail
cd "$(dirname "$0")/.."
bench=.cache/bench
mkdir -p "$bench"

skipped() { echo "SKIPPED: $1" >&2; }

# build_kube_rs needs a Rust for this machine, besides the one for WebAssembly.
build_kube_rs() {
	if ! command -v cargo >/dev/null; then
		skipped "kube-rs needs cargo: https://rustup.rs, or apt-get install cargo"
		return
	fi
	[ -x "$bench/kube-rs" ] || echo "building kube-rs (5-10 minutes at the first time)..." >&2
	if CARGO_TARGET_DIR=$PWD/$bench/rust-target cargo build --quiet --release --locked \
		--manifest-path test/bench/peers/kube-rs/Cargo.toml </dev/null; then
		cp -p "$bench/rust-target/release/peer-kube-rs" "$bench/kube-rs"
	else
		skipped "kube-rs does not build here"
	fi
}

# build_controller_runtime builds a module of its own.
build_controller_runtime() {
	[ -x "$bench/controller-runtime" ] || echo "building the peer with controller-runtime (2-3 minutes at the first time)..." >&2
	(cd test/bench/peers/controller-runtime && GOWORK=off go build -trimpath -o "$OLDPWD/$bench/controller-runtime" .) ||
		skipped "the peer with controller-runtime does not build here"
}

# install_reference gets the real Kopf, and uvloop, which it takes if it is there.
install_reference() {
	if ! scripts/reference.sh >/dev/null; then
		skipped "the reference cannot be installed here"
		return
	fi
	local python=.cache/reference/bin/python3
	"$python" -c 'import uvloop' 2>/dev/null ||
		"$python" -m pip install --quiet --disable-pip-version-check uvloop==0.22.1 ||
		skipped "uvloop cannot be installed: the reference runs without it"
}

if [ "${ONLY:-}" = sizes ]; then
	exec scripts/sizes.sh
fi
if [[ ",${ONLY:-}," == *,replicas,* ]]; then
	scripts/go-guest.sh .cache/guests/bench-go.wasm test/bench/guest
	scripts/rust-wasm.sh .cache/guests/bench-rust.wasm test/guests/rust/bench
	go build -o "$bench/driver" ./test/bench/driver
	exec "$bench/driver" -rounds "${ROUNDS:-5}" -objects "${OBJECTS:-1000}" -restarts "${RESTARTS:-10000}" -only "$ONLY" ${ALSO:+-also "$ALSO"}
fi
if [ "${ONLY:-}" = admission ]; then
	scripts/go-guest.sh .cache/guests/bench-validating.wasm test/bench/validating
	scripts/rust-wasm.sh .cache/guests/bench-validating-rust.wasm test/guests/rust/validating
	go build -o "$bench/driver" ./test/bench/driver
	install_reference
	exec "$bench/driver" -rounds "${ROUNDS:-5}" -objects "${OBJECTS:-5000}" -only admission ${ALSO:+-also "$ALSO"}
fi
if [ "${ONLY:-}" = attacks ]; then
	scripts/go-guest.sh .cache/guests/bench-validating.wasm test/bench/validating
	go build -o "$bench/driver" ./test/bench/driver
	# As if it ran on another machine, the well-behaved client waits for no processor that the server uses.
	client=(chrt --rr 1)
	if ! "${client[@]}" true 2>/dev/null; then
		echo "the well-behaved client competes with the server for processors: only root can give it a real-time policy" >&2
		client=()
	fi
	exec "${client[@]}" "$bench/driver" -rounds "${ROUNDS:-5}" -only attacks
fi
if [ "${ONLY:-}" = hosting ]; then
	scripts/go-guest.sh .cache/guests/bench-go.wasm test/bench/guest
	scripts/rust-wasm.sh .cache/guests/bench-rust.wasm test/guests/rust/bench
	scripts/go-guest.sh .cache/guests/bench-filtered-go.wasm test/bench/filtered
	scripts/go-guest.sh .cache/guests/hostile-go.wasm test/guests/go/hostile
	if [[ ",${LANGUAGES:-}," == *,python,* ]]; then
		bin/kopf annotate test/bench/peers/kopf/operator.py --output .cache/guests/bench-python.wasm
	fi
	if [[ ",${LANGUAGES:-}," == *,reference,* ]]; then
		install_reference
	fi
	if [[ ",${LANGUAGES:-}," == *,controller-runtime,* ]]; then
		build_controller_runtime
	fi
	if [[ ",${LANGUAGES:-}," == *,kube-rs,* ]]; then
		build_kube_rs
	fi
	go build -o "$bench/hosting" ./test/bench/hosting
	exec "$bench/hosting" -rounds "${ROUNDS:-1}" -objects "${OBJECTS:-1000}" -counts "${COUNTS:-1,20,100}" -guests "${LANGUAGES:-rust,go}" -cases "${CASES:-one,many}" -watches "${WATCHES:-own,shared}"
fi

scripts/go-guest.sh .cache/guests/bench-go.wasm test/bench/guest
scripts/go-guest.sh .cache/guests/bench-daemons-go.wasm test/bench/daemons
scripts/go-guest.sh .cache/guests/bench-lookups-go.wasm test/bench/lookups
scripts/rust-wasm.sh .cache/guests/bench-rust.wasm test/guests/rust/bench
scripts/rust-wasm.sh .cache/guests/bench-daemons-rust.wasm test/guests/rust/daemons
go build -trimpath -o "$bench/client-go" ./test/bench/peers/client-go
go build -o "$bench/driver" ./test/bench/driver
build_controller_runtime
build_kube_rs
install_reference

only=${ONLY:-}
[ "$only" != daemons ] || only=daemons-go,daemons-rust,daemons-reference,threads-reference

"$bench/driver" -rounds "${ROUNDS:-5}" -objects "${OBJECTS:-1000}" -trickle "${TRICKLE:-200}" \
	-posting "${POSTING:-both}" -daemons "${DAEMONS:-10000}" \
	-restarts "${RESTARTS:-10000}" ${LARGE:+-large} -only "$only" ${ALSO:+-also "$ALSO"} ${PUBLISH:+-publish docs}
[[ ",$only," != *,restart,* && ",$only," != *,start,* ]] || exit 0 # nothing else is wanted

echo
scripts/sizes.sh
echo
echo "One invocation through the host and a guest"
echo
go test -run '^$' -bench . -benchmem -count "${ROUNDS:-5}" ./test/bench
