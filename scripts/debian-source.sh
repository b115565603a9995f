#!/bin/sh
# Unpacks a source package of Debian, with Debian's patches: debian-source.sh PACKAGE SHA256 OUT
# SHA256 is the digest of the upstream archive, which stays equal within a release of Debian.
# The patches are those of the newest version that can be fetched: security fixes arrive by
# them, so no digest of them is pinned. apt checks them against Debian's signed index.
# OUT/debian-version receives the version. Neither root nor deb-src lines are needed: the
# index of sources is fetched into .cache, from where this machine gets its packages.
set -eu
if [ $# -ne 3 ]; then
	echo "usage: $0 PACKAGE SHA256 OUT" >&2
	exit 2
fi
package=$1 digest=$2
mkdir -p "$3"
out=$(cd "$3" && pwd)
cd "$(dirname "$0")/.."
apt=$PWD/.cache/debian
mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache" "$apt/sources"

# The places of packages are places of sources, too.
rm -f "$apt"/parts/*
for file in /etc/apt/sources.list.d/*.sources; do
	[ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/parts/$(basename "$file")"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
	[ ! -f "$file" ] || sed -n 's/^deb /deb-src /p' "$file" >"$apt/parts/$(basename "${file%.list}").list"
done
apt() {
	tool=$1
	shift
	"$tool" -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/parts" -o Dir::State::lists="$apt/lists" \
		-o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)" "$@" </dev/null
}

if [ -z "$(find "$apt/updated" -mmin -1440 2>/dev/null)" ]; then
	apt apt-get update >&2 || true # other places than Debian's may have no sources
	touch "$apt/updated"
fi
# A mirror may have the index of a new version before it has its files.
fetched=
for version in $(apt apt-cache showsrc "$package" | sed -n 's/^Version: //p' | sort -rV | uniq); do
	if (cd "$apt/sources" && apt apt-get source --only-source --download-only "$package=$version" >&2); then
		fetched=$version
		break
	fi
	echo "$package $version cannot be fetched, trying an older version" >&2
done
if [ -z "$fetched" ]; then
	echo "debian-source.sh: no sources of $package in Debian's archive" >&2
	exit 1
fi
plain=${fetched#*:} # without the epoch
set -- "$apt/sources/${package}_${plain%-*}".orig.tar.[a-z]*[a-z2]
if ! echo "$digest  $1" | sha256sum --check --status; then
	echo "debian-source.sh: $(basename "$1") is not the archive with the digest $digest" >&2
	exit 1
fi
tar xf "$1" -C "$out" --no-same-owner --strip-components=1
tar xf "$apt/sources/${package}_$plain.debian.tar.xz" -C "$out" --no-same-owner
for name in $(sed 's/#.*//' "$out/debian/patches/series" | awk '{ print $1 }'); do
	if ! patch -d "$out" -p1 -s -f --no-backup-if-mismatch <"$out/debian/patches/$name"; then
		echo "debian-source.sh: $package $fetched: the patch $name does not apply" >&2
		exit 1
	fi
done
echo "$package $fetched" >"$out/debian-version"
