#!/bin/sh
# Installs packages of the system without questions: apt.sh PACKAGE...
# Without packages, it only waits for installations by other builds to end: until then, a tool may be there in part. Systems without
# apt-get have nothing to wait for.
# The lists of packages are fetched once in a day: a system that was just made may have old
# ones, or only a part of them.
set -eu
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive
[ $# != 0 ] || command -v apt-get >/dev/null 2>&1 || exit 0
mkdir -p .cache
exec 9>.cache/apt.lock # several builds may need packages at once
flock 9
[ $# != 0 ] || exit 0
if [ -z "$(find .cache/apt-updated -mmin -1440 2>/dev/null)" ]; then
	apt-get update -o DPkg::Lock::Timeout=600 </dev/null >/dev/null
	touch .cache/apt-updated
fi
apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600 "$@" </dev/null >/dev/null
