#!/bin/sh
# Looks for known vulnerabilities in what the host calls: vulncheck.sh GOVULNCHECK
# Without its database nothing can be said: that is told, and is a failure in CI only.
set -eu
code=0
"$1" ./... || code=$?
case $code in
0 | 3) exit "$code" ;; # 3: there are some
esac
echo "SKIPPED: the vulnerabilities are not checked, see above" >&2
[ "${CI:-}" != true ]
