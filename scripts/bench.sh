#!/usr/bin/env bash
# Builds the release and prints all benchmarks, the machine's yardsticks among them. Arguments go to the benchmark
# program: scripts/bench.sh --benchmark_filter=gpt3
#
# How quickly pages are drawn is held by their tests where the machine has nothing else to do:
#   cd web && ERGOMETER_IDLE=1 node --test test/look.test.mjs test/study.test.mjs test/playback.test.mjs
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release >/dev/null
cmake --build --preset release --target ergometer_bench >/dev/null
exec build/release/bench/ergometer_bench "$@"
