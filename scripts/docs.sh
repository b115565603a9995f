#!/bin/sh
# Builds the manual as a site in .cache/site, by MkDocs Material from PyPI in an environment of its own. Broken links, and
# pages that the navigation lacks, are errors. So are scripts and styles of other servers: the site needs no network.
set -eu
cd "$(dirname "$0")/.."
venv=.cache/docs
scripts/venv.sh "$venv" "MkDocs Material" --requirement scripts/site/requirements.txt
# Not with --quiet, which also hides warnings from the option strict.
if ! NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --clean >"$venv/log" 2>&1; then
	grep -v '^INFO' "$venv/log" >&2
	exit 1
fi
if grep -rlE '<(script|link|img|iframe)[^>]* (src|href)="(https?:)?//' --include='*.html' .cache/site; then
	echo "$0: these pages load files from other servers" >&2
	exit 1
fi
echo ".cache/site/index.html"
