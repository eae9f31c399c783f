#!/usr/bin/env bash
# Makes, in build/archives, archives (.a) of the libraries that Debian has for loading only, from the sources of the packages
# that are installed: a program that is one file is linked with them. Nothing when they are there; status 3: no mirror has the
# sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=$PWD/build/archives
mapfile -t sources < <(dpkg-query --show --showformat='${source:Package}=${source:Version}\n' \
  libfmt-dev libsimdjson-dev libcpp-httplib-dev)
[ "$(cat "$out/sources" 2>/dev/null)" != "${sources[*]}" ] || exit 0
rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The machine's own mirrors, asked for sources.
mkdir -p mirrors lists/partial
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  [ ! -f "$file" ] || sed 's/^Types: deb$/Types: deb-src/; s/^deb /deb-src /' "$file" >"mirrors/${file##*/}"
done
apt=(apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/mirrors" -o Dir::State::Lists="$work/lists"
  -o Dir::Cache="$work" -o APT::Sandbox::User=root)
{ "${apt[@]}" update && "${apt[@]}" source "${sources[@]}"; } >log 2>&1 || { cat log >&2; exit 3; }

archive() {  # name, source, flags ...
  "${CXX:-g++}" -std=c++17 -O2 -DNDEBUG "${@:3}" -c "$2" -o "$1.o"
  ar rcs "$out/lib$1.a" "$1.o"
}
archive fmt fmtlib-*/src/format.cc
archive simdjson simdjson-*/singleheader/simdjson.cpp
(cd cpp-httplib-*/ && python3 ./split.py -o "$work" >/dev/null)
read -ra flags < <(pkg-config --cflags cpp-httplib)
archive cpp-httplib httplib.cc "${flags[@]}"
echo "${sources[*]}" >"$out/sources"
