#!/usr/bin/env bash
# Makes what users install, in build/release/packages, and prints its path.
#
#   ./scripts/package.sh deb         a Debian package: program, C++ library, man pages, completion, recording service, documents
#   ./scripts/package.sh wheel       a Python wheel: module and program
#   ./scripts/package.sh binary      an archive: the program as one file that needs glibc only, man pages, completion
#   ./scripts/package.sh container   an image, ergometer:VERSION, as an archive that docker and podman load
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=build/release/packages
version=$(sed -n 's/^project(ergometer VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
log=$(mktemp)
tree=$(mktemp -d)
trap 'rm -rf "$log" "$tree"' EXIT

build() {  # targets
  ./scripts/install-dependencies.sh --packages >&2
  echo "Building the program ..." >&2
  quietly cmake --preset release
  quietly cmake --build --preset release --target "$@"
}

quietly() { "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }; }

# What `cmake --install` lays, with the program that is one file.
lay_tree() {
  build ergometer_package
  ./scripts/archives.sh
  quietly cmake --build --preset release --target ergometer_one_file
  quietly cmake --install build/release --prefix "$tree" --strip
  strip -o "$tree/bin/ergometer" build/release/one-file/ergometer
}

case "${1:-}" in
  deb)
    build ergometer_package
    (cd build/release && quietly cpack -G DEB)
    realpath --relative-to=. "$(sed -n 's/^CPack: - package: \(.*\) generated\.$/\1/p' "$log")"
    ;;
  wheel)
    lay_tree
    python3 packaging/wheel.py "$tree" "$packages"
    ;;
  binary)
    lay_tree
    name=ergometer-$version-linux-$(uname -m)
    mkdir -p "$packages"
    tar -C "$tree" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --transform "s,^,$name/," -c \
      bin share/man share/bash-completion share/zsh share/fish share/doc/ergometer/{copyright,licences} |
      gzip -n >"$packages/$name.tar.gz"
    echo "$packages/$name.tar.gz"
    ;;
  container)
    engine=$(command -v podman || command -v docker || command -v buildah) ||
      { echo "$0: none of podman, docker and buildah is installed, and one of them makes the image" >&2; exit 3; }
    mkdir -p "$packages"
    image=ergometer:$version
    "$engine" build --file packaging/Containerfile --tag "$image" . >&2
    if [ "${engine##*/}" = buildah ]; then
      buildah push "$image" "docker-archive:$tree/image.tar:$image" >&2
    else
      "$engine" save --output "$tree/image.tar" "$image"
    fi
    gzip -n <"$tree/image.tar" >"$packages/ergometer-$version-image.tar.gz"
    echo "$packages/ergometer-$version-image.tar.gz"
    ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
