#!/usr/bin/env bash
# Installs what the build (default) and the tests (--tests) need on Debian 12. Does nothing when all is there.
set -euo pipefail

build=(g++ cmake ninja-build ccache pkg-config git
  libcli11-dev libfmt-dev libexpected-dev nlohmann-json3-dev libyaml-cpp-dev libsqlite3-dev libeigen3-dev libsimdjson-dev
  zlib1g-dev libprotobuf-dev)
tests=(libgtest-dev libgmock-dev libbenchmark-dev libsundials-dev python3 sqlite3)
developers=(clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev)

wanted=("${build[@]}")
for argument in "$@"; do
  case "$argument" in
    --tests) wanted+=("${tests[@]}") ;;
    --developers) wanted+=("${tests[@]}" "${developers[@]}") ;;
    *) echo "usage: $0 [--tests] [--developers]" >&2; exit 2 ;;
  esac
done

missing=()
for package in "${wanted[@]}"; do
  dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
    missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "$0: need root or sudo to install: ${missing[*]}" >&2; exit 3; }
  as_root=(sudo)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=900 -qq)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
