#!/bin/bash
# Makes cmd/kopf/default.pgo, the profile that the compiler optimises the program with: the
# processor time of bursts of creations and changes with guests in Rust and Go, as in `make bench`.
# The cluster has been built before: see Makefile. Builds use the profile if it exists; it is not in the
# repository: see RATIONALE.md.
#   OBJECTS=5000  how many objects are created and changed in each run
#   SECONDS_EACH=20  how long each operator is profiled
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/go-guest.sh .cache/guests/bench-go.wasm test/bench/guest
scripts/rust-wasm.sh .cache/guests/bench-rust.wasm test/guests/rust/bench
mkdir -p .cache/bench
go build -o .cache/bench/driver ./test/bench/driver
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

(cd cmd/kopf && GOWORK=off CGO_ENABLED=0 go build -trimpath -pgo=off -tags profiled -o "$folder/kopf" .)
also=()
for guest in rust go; do
	cat >"$folder/$guest" <<-SCRIPT
		#!/bin/sh
		export KOPF_PROFILE_TIME=${SECONDS_EACH:-20}s KOPF_PROFILE=$folder/profile
		exec $folder/kopf run --standalone -n default .cache/guests/bench-$guest.wasm
	SCRIPT
	chmod +x "$folder/$guest"
	also+=(-also "profiled-$guest=$folder/$guest")
done
.cache/bench/driver -rounds 1 -objects "${OBJECTS:-5000}" -trickle 1 -daemons 0 -restarts 0 -posting off \
	-only profiled-rust,profiled-go "${also[@]}" -folder "$folder"
find "$folder" -name 'profile.*' -size +0 -exec go tool pprof -proto -output cmd/kopf/default.pgo {} +
ls -l cmd/kopf/default.pgo
