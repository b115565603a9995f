#!/bin/bash
# Records a run of the demo as an animated picture: docs/images/recording.svg, for the README and the manual.
# Everything is built before: see Makefile. The picture needs no scripts and no fonts or files of others.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=.cache/recording
scripts/venv.sh "$tools" "termtosvg, which draws terminals" -r scripts/site/recording.txt
work=$(mktemp -d)
exec 3< <(exec sleep 600) # the terminal's keyboard, on which nothing is typed
keyboard=$!
trap 'kill "$keyboard" 2>/dev/null || true; rm -rf "$work"' EXIT
echo "recording the demo..." >&2
"$tools/bin/termtosvg" record -g 128x34 -c "bash -c 'echo \"# make demo\"; exec scripts/demo.sh'" "$work/demo.cast" <&3 >/dev/null 2>&1
"$tools/bin/termtosvg" render "$work/demo.cast" "$work/demo.svg" -t scripts/site/recording.svg -m 60 -M 2000 -D 8000 >/dev/null
python3 scripts/site/recording.py "$work/demo.svg" docs/images/recording.svg
