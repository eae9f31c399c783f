#!/usr/bin/env bash
# Installs what the build (default), packages (--packages), the tests (--tests) and those of sanitized programs too
# (--sanitized) need on Debian 12; nothing when all is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=(g++ cmake ninja-build ccache pkg-config git
  libcli11-dev libfmt-dev libexpected-dev nlohmann-json3-dev libyaml-cpp-dev libsqlite3-dev libeigen3-dev libsimdjson-dev
  zlib1g-dev libzstd-dev libcpp-httplib-dev libpugixml-dev libprotobuf-dev libtomlplusplus-dev)
packages=(dpkg-dev file python3)
tests=("${packages[@]}" libgtest-dev libgmock-dev libbenchmark-dev libsundials-dev openssl python3-yaml shellcheck sqlite3
  mmdebstrap libopenmpi-dev openmpi-bin munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins)
sanitized=("${tests[@]}" clang-19 libclang-rt-19-dev)
developers=("${sanitized[@]}" clang-tidy-19 clang-format-19)

wanted=("${build[@]}")
tests_wanted=false
for argument in "$@"; do
  case "$argument" in
    --packages) wanted+=("${packages[@]}") ;;
    --tests) wanted+=("${tests[@]}"); tests_wanted=true ;;
    --sanitized) wanted+=("${sanitized[@]}"); tests_wanted=true ;;
    --developers) wanted+=("${developers[@]}"); tests_wanted=true ;;
    *) echo "usage: $0 [--packages] [--tests] [--sanitized] [--developers]" >&2; exit 2 ;;
  esac
done

# The report page's tests; Node.js may also come from elsewhere.
if $tests_wanted; then
  command -v node >/dev/null || wanted+=(nodejs)
  command -v npm >/dev/null || wanted+=(npm)
  command -v chromium >/dev/null || wanted+=(chromium)
fi

missing=()
for package in "${wanted[@]}"; do
  dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
    missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "$0: need root or sudo to install: ${missing[*]}" >&2; exit 3; }
    as_root=(sudo)
  fi
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=900 -qq)
  "${apt[@]}" update
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
fi

# Prometheus' package would start a service: its programs are unpacked beside the build instead, for one test, which
# is skipped without them.
unpack_prometheus() {
  local folder
  folder=$(mktemp -d)
  (cd "$folder" && apt-get -qq download prometheus && dpkg-deb --fsys-tarfile prometheus_*.deb |
    tar -x ./usr/bin) && mkdir -p build/prometheus && cp -r "$folder/usr" build/prometheus/ ||
    echo "$0: Prometheus cannot be had: the test that scrapes with it will be skipped" >&2
  rm -rf "$folder"
}
if $tests_wanted && ! command -v prometheus >/dev/null && [ ! -x build/prometheus/usr/bin/prometheus ]; then
  unpack_prometheus
fi
