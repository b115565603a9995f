#!/bin/bash
# Runs a command on a clone of the last commit, in a root file system that has nothing but
# Debian's base, git, make and this machine's Go: clean-room.sh [COMMAND...], by default `make test`.
# It shows that the project installs what it needs. It needs root on Debian. The files stay in
# ROOM for a look, and for a second run, which is then no proof (.cache/room by default; KEEP=1).
#
# The network is that of this machine. What tells package managers how to reach their registries
# is copied: certificates, and the settings of apt, pip, npm, cargo and Go.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "clean-room.sh: needs root on Debian" >&2; exit 1; }
room=${ROOM:-$PWD/.cache/room}
[ $# != 0 ] || set -- make test

leave() {
	local at
	for at in dev/shm dev/pts dev proc sys; do
		mountpoint -q "$room/$at" && umount -l "$room/$at"
	done
	mountpoint -q "$room" && umount -l "$room"
	return 0
}
trap leave EXIT

if [ -z "${KEEP:-}" ] || [ ! -d "$room/etc" ]; then
	leave
	rm -rf --one-file-system "$room"
	command -v debootstrap >/dev/null || scripts/apt.sh debootstrap
	echo "unpacking Debian's base system..." >&2
	# shellcheck disable=SC1091 # the release that this machine runs
	debootstrap --variant=minbase --include=ca-certificates,git,make "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$room" >/dev/null
	mkdir -p "$room/usr/local" "$room/root"
	cp -a "$(go env GOROOT)" "$room/usr/local/go"
	rm -f "$room/etc/apt/sources.list" # this machine's are copied
	for path in /etc/apt/sources.list /etc/resolv.conf /etc/hosts /etc/ssl/certs /etc/pip.conf /etc/apt/apt.conf.d /etc/apt/sources.list.d /root/.npmrc /root/.cargo/config.toml; do
		[ -e "$path" ] || continue
		rm -rf "${room:?}$path" # it may hold links, which lead out of the room
		mkdir -p "$room$(dirname "$path")"
		cp -aL "$path" "$room$path"
	done
	rm -f "$room"/etc/apt/sources.list.d/*disabled* "$room"/etc/apt/apt.conf.d/docker-*
	git clone -q --no-hardlinks . "$room/root/kopf"
fi
# As on a machine, the root is a mount point: pods of the tests change how its mounts propagate.
mountpoint -q "$room" || mount --bind "$room" "$room"
for at in proc sys dev dev/pts dev/shm; do
	mountpoint -q "$room/$at" || mount --bind "/$at" "$room/$at"
done
settings=()
while IFS= read -r setting; do
	settings+=("$setting")
done < <(env | grep -E '^(GOPROXY|GOSUMDB|GONOSUMDB|GOFLAGS|PIP_[A-Z_]+|NPM_CONFIG_[A-Z_]+|CARGO_[A-Z_]+|SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|GIT_SSL_CAINFO|REQUESTS_CA_BUNDLE|(https?|no)_proxy|(HTTPS?|NO)_PROXY)=')
chroot "$room" env -i HOME=/root PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	LANG=C.UTF-8 CI="${CI:-true}" "${settings[@]}" sh -c 'cd /root/kopf && exec "$@"' sh "$@" </dev/null
