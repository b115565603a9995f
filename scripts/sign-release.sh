#!/bin/sh
# Signs a release without a key, with the identity of the workflow that runs this: sign-release.sh COSIGN FOLDER
# With $REGISTRY_USER and $REGISTRY_PASSWORD, it logs in to the registry. It signs what `make push` has pushed, which FOLDER/pushed.txt lists, and the checksums. It needs the network of
# Sigstore, and a workflow with the permission `id-token: write`. To sign with a key, use KEY= of `make release`
# for the checksums, and `cosign sign --key` for the image: `kopf sign` signs operators only.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: $0 COSIGN FOLDER" >&2
	exit 2
fi
if [ ! -s "$2/pushed.txt" ]; then
	echo "$0: $2/pushed.txt is missing: run make push first" >&2
	exit 1
fi
while read -r name; do
	if [ -n "${REGISTRY_PASSWORD:-}" ]; then
		printf '%s' "$REGISTRY_PASSWORD" | "$1" login "${name%%/*}" --username "$REGISTRY_USER" --password-stdin
	fi
	"$1" sign --yes --recursive "${name%%:*}@${name#*@}"
done <"$2/pushed.txt"
"$1" sign-blob --yes --bundle "$2/SHA256SUMS.sigstore.json" "$2/SHA256SUMS"
