#!/bin/sh
# Installs a Go program under a name that has its version: go-tool.sh FILE PACKAGE@VERSION
set -eu
dir=$(mkdir -p "$(dirname "$1")" && cd "$(dirname "$1")" && pwd)
name=${2%@*}
echo "building ${name##*/} ${2#*@} (a few minutes at the first time)..." >&2
tmp=$(mktemp -d "$dir/tool.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
GOBIN=$tmp GOFLAGS= go install "$2"
mv "$tmp/${name##*/}" "$1"
