#!/usr/bin/env bash
# Makes what users install, in build/release/packages, and prints its path.
#
#   ./scripts/package.sh deb      a Debian package: program, man pages, completion, a service that records, documents
#   ./scripts/package.sh wheel    a Python wheel: module, program and the libraries that it needs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  deb | wheel) ;;
  *) sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

./scripts/install-dependencies.sh --packages
log=$(mktemp)
tree=$(mktemp -d)
trap 'rm -rf "$log" "$tree"' EXIT
echo "Building the program ..." >&2
if ! { cmake --preset release && cmake --build --preset release --target ergometer_package; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
if [ "$1" = deb ]; then
  (cd build/release && cpack -G DEB) >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  realpath --relative-to=. "$(sed -n 's/^CPack: - package: \(.*\) generated\.$/\1/p' "$log")"
else
  cmake --install build/release --prefix "$tree" --strip >"$log"
  python3 packaging/wheel.py "$tree" build/release/packages
fi
