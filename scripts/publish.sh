#!/bin/sh
# Pushes the tags of a release, each after those of the modules that it requires, and makes a release on the forge with
# the files of dist: publish.sh VERSION
# It needs gh and the rights of a maintainer.
set -eu
if [ $# -ne 1 ] || [ -z "$1" ]; then
	echo "usage: $0 VERSION" >&2
	exit 2
fi
cd "$(dirname "$0")/.."
if [ ! -s "dist/$1/SHA256SUMS" ]; then
	echo "$0: dist/$1/SHA256SUMS is missing: run make release VERSION=$1 first" >&2
	exit 1
fi
for tag in "abi/v$1" "guest-sdks/go/v$1" "v$1" "artifacts/signatures/sigstore/v$1" "cmd/kopf/v$1"; do
	git rev-parse --quiet --verify "refs/tags/$tag" >/dev/null || { echo "$0: the tag $tag is missing: run make tags VERSION=$1 first" >&2; exit 1; }
done
for tag in "abi/v$1" "guest-sdks/go/v$1" "v$1" "artifacts/signatures/sigstore/v$1" "cmd/kopf/v$1"; do
	git push origin "refs/tags/$tag"
done
prerelease=
case $1 in *-*) prerelease=--prerelease ;; esac
# shellcheck disable=SC2046,SC2086 # no spaces in the names of the files
gh release create "v$1" --verify-tag --generate-notes $prerelease $(find "dist/$1" -maxdepth 1 -type f ! -name pushed.txt | sort)
