#!/bin/sh
# Builds the manual as a site in .cache/site, by MkDocs Material from PyPI in an environment of its own. Broken links, and
# pages that the navigation lacks, are errors. So are scripts and styles of other servers: the site needs no network.
set -eu
cd "$(dirname "$0")/.."
venv=.cache/docs
wanted=$(cksum <scripts/site/requirements.txt)
if [ "$(cat "$venv/installed" 2>/dev/null || true)" != "$wanted" ]; then
	if ! python3 -c 'import venv, ensurepip' >/dev/null 2>&1; then
		if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
			scripts/apt.sh python3 python3-venv
		else
			echo "$0: the site needs python3 with venv: sudo apt-get install -y python3-venv" >&2
			exit 1
		fi
	fi
	echo "installing MkDocs Material..." >&2
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/python3" -m pip install --quiet --disable-pip-version-check --requirement scripts/site/requirements.txt
	echo "$wanted" >"$venv/installed"
fi
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
