#!/bin/sh
# Installs packages of the system without questions: apt.sh PACKAGE...
# The lists are fetched only if a package is not found in those that are there.
set -eu
export DEBIAN_FRONTEND=noninteractive
install() {
	apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@" </dev/null >/dev/null
}
install "$@" 2>/dev/null || {
	apt-get update -o DPkg::Lock::Timeout=120 </dev/null >/dev/null
	install "$@"
}
