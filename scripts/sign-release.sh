#!/bin/sh
# Signs what `make push` has pushed, which FOLDER/pushed.txt lists: sign-release.sh PROGRAM FOLDER [KEY]
# With KEY, PROGRAM is kopf, and signs with this key; `make release KEY=` has signed the checksums.
# Without KEY, PROGRAM is cosign, and signs with the identity of the workflow that runs this, and
# the checksums, too. It needs the network of Sigstore, and a workflow with the permission
# `id-token: write`; with $REGISTRY_USER and $REGISTRY_PASSWORD, it logs in to the registry.
set -eu
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
	echo "usage: $0 PROGRAM FOLDER [KEY]" >&2
	exit 2
fi
if [ ! -s "$2/pushed.txt" ]; then
	echo "$0: $2/pushed.txt is missing: run make push first" >&2
	exit 1
fi
while read -r name; do
	tagged=${name%@*} # host:port/path:tag
	digested=${tagged%:*}@${name#*@}
	if [ -n "${3:-}" ]; then
		"$1" sign "oci://$digested" --recursive --key "$3"
		continue
	fi
	if [ -n "${REGISTRY_PASSWORD:-}" ]; then
		printf '%s' "$REGISTRY_PASSWORD" | "$1" login "${name%%/*}" --username "$REGISTRY_USER" --password-stdin
	fi
	"$1" sign --yes --recursive "$digested"
done <"$2/pushed.txt"
if [ -z "${3:-}" ]; then
	"$1" sign-blob --yes --bundle "$2/SHA256SUMS.sigstore.json" "$2/SHA256SUMS"
fi
