#!/bin/sh
# Builds CPython and zlib for WebAssembly as far as they do not depend on this project: cpython.sh
# It prints the folder with the result:
#   lib/       archives of objects
#   include/   headers, with those that configure made
#   stdlib/    the standard library, as text
#   python     the interpreter of the same version, which compiles for the other one
#   clang      the compiler with its flags
#   LICENSES   the notices of everything that is linked
# It takes about three minutes of processor time, once: the folder is kept by the hash of the
# scripts that make it. Without the tools it says what is missing, and fails with the code 3.
set -eu
unset MAKEFLAGS MFLAGS # the caller shares no job server with us
cd "$(dirname "$0")/.."
python_digest=2411c74bda5bbcfcddaf4531f66d1adc73f247f529aee981b029513aefdbf849
zlib_digest=71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1
packages="clang-19 lld-19 libclang-rt-19-dev-wasm32 wasi-libc python3.11 make patch xz-utils bzip2"
wasi=/usr/lib/wasm32-wasi

root=$PWD
key=$(cat scripts/cpython.sh scripts/debian-source.sh | sha256sum | cut -c1-16)
out=$root/.cache/python/$key
if [ -f "$out/done" ]; then
	echo "$out"
	exit
fi

missing() {
	for tool in clang-19 wasm-ld-19 /usr/bin/python3.11 make patch xz bzip2 apt-get; do
		command -v "$tool" >/dev/null 2>&1 || return 0
	done
	[ ! -f "$wasi/libc.a" ] || [ -z "$(find /usr/lib/llvm-19 -name 'libclang_rt.builtins-wasm32.a' 2>/dev/null)" ]
}
scripts/apt.sh
if missing && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing what CPython is built with..." >&2
	# shellcheck disable=SC2086 # several packages
	scripts/apt.sh $packages >&2 || true # other systems do not have them
fi
if missing; then
	echo "SKIPPED: the engine of Python is built on Debian 12, from its source packages: sudo apt-get install -y $packages" >&2
	echo "    Elsewhere, take an engine from a registry: kopf run op.py --engine oci://..." >&2
	exit 3
fi
if [ "$(/usr/bin/python3.11 -c 'import sys; print(sys.version_info[:2] == (3, 11))')" != True ]; then
	echo "cpython.sh: /usr/bin/python3.11 is not Python 3.11" >&2
	exit 1
fi

echo "building CPython for WebAssembly (the first time takes some minutes)..." >&2
work=$out.new
rm -rf "$work" "$root"/.cache/python/*.new
mkdir -p "$work/lib" "$work/build" "$work/sysroot/lib"
for source in "python3.11 $python_digest" "zlib $zlib_digest"; do
	# shellcheck disable=SC2086 # two words
	if ! scripts/debian-source.sh $source "$work/src/${source%% *}" 2>"$work/source.log"; then
		cat "$work/source.log" >&2
		exit 3
	fi
done

# With --sysroot=/usr, configure would find the headers of this machine.
ln -s /usr/include/wasm32-wasi "$work/sysroot/include"
ln -s "$wasi" "$work/sysroot/lib/wasm32-wasi"
# No path of this machine and no time are in the objects, and no order depends on hashes.
export SOURCE_DATE_EPOCH=1700000000 PYTHONHASHSEED=0 LC_ALL=C.UTF-8 TZ=UTC
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
clang="clang-19 --target=wasm32-wasi --sysroot=$out/sysroot -mbulk-memory"
building="clang-19 --target=wasm32-wasi --sysroot=$work/sysroot -mbulk-memory -ffile-prefix-map=$work=."

run() { # LOG COMMAND...: a command whose output is shown if it fails
	log=$work/$1.log
	shift
	if ! "$@" >"$log" 2>&1 </dev/null; then
		tail -20 "$log" >&2
		echo "cpython.sh: $1 failed, see $log" >&2
		exit 1
	fi
}

zlib() {
	cd "$work/src/zlib"
	for file in adler32 crc32 deflate infback inffast inflate inftrees trees zutil compress uncompr; do
		$building -O2 -w -DHAVE_UNISTD_H -c "$file.c" -o "$file.o" || return 1
	done
	ar rcs "$work/lib/libz.a" ./*.o
}

# The linker needs no index of archives, so any archiver will do. clockid_t of wasi-libc is a pointer.
# All paths are relative, because one of them is compiled in.
configured() {
	cd "$work/build"
	env CC="$building" CPP="$building -E" CXX="$building" AR=ar RANLIB=true LDSHARED=wasm-ld-19 PKG_CONFIG=false \
		CONFIG_SITE=../src/python3.11/Tools/wasm/config.site-wasm32-wasi OPT="-DNDEBUG -O2 -g0 -Wall -Wno-int-conversion" \
		../src/python3.11/configure -q --host=wasm32-unknown-wasi --build="$(../src/python3.11/config.guess)" \
		--with-build-python=/usr/bin/python3.11 --disable-ipv6 --with-pymalloc --disable-test-modules --without-ensurepip \
		--with-suffix=.wasm --prefix=/usr
}
compiled() {
	cd "$work/build"
	make -j"$(nproc)" libpython3.11.a Modules/expat/libexpat.a Modules/_decimal/libmpdec/libmpdec.a
}
module() { # zlib is built apart: configure would look for it on this machine
	cd "$work"
	$building -O2 -DNDEBUG -DPy_BUILD_CORE_BUILTIN -Ibuild -Isrc/python3.11/Include -Isrc/python3.11/Include/internal -Isrc/zlib \
		-c src/python3.11/Modules/zlibmodule.c -o lib/zlibmodule.o
}
run zlib zlib
run configure configured
run make compiled
run zlibmodule module

notice() { # SUBJECT FILE
	printf '======== %s\n\n' "$1"
	cat "$2"
	echo
}
src=$work/src
cp "$work/build/libpython3.11.a" "$work/build/Modules/expat/libexpat.a" "$work/build/Modules/_decimal/libmpdec/libmpdec.a" "$work/lib/"
cp -R "$src/python3.11/Include" "$work/include"
cp "$work/build/pyconfig.h" "$work/include/"
cp -R "$src/python3.11/Lib" "$work/stdlib"
echo /usr/bin/python3.11 >"$work/python"
echo "$clang" >"$work/clang"
{
	notice "CPython ($(cat "$src/python3.11/debian-version")), and what is included in it" "$src/python3.11/debian/copyright"
	notice "zlib ($(cat "$src/zlib/debian-version"))" "$src/zlib/LICENSE"
	notice "wasi-libc" /usr/share/doc/wasi-libc/copyright
	notice "compiler-rt" /usr/share/doc/libclang-rt-19-dev-wasm32/copyright
} >"$work/LICENSES"
rm -rf "$src" "$work/build"
touch "$work/done"
rm -rf "$out"
mv "$work" "$out"
echo "$out"
