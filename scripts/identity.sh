#!/usr/bin/env bash
# The same job gives the same bytes from every build: g++ without optimisation, the release build and clang, with
# one thread and with two. Compares the JSON summary and the trace of three jobs; ends with status 1 on a difference.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=(
  "llama3-70b --cluster charllm-h200 --gpus 32 --tp 4 --pp 4 --mbs 1 --gbs 128 --seq-length 8192"
  "mixtral-8x7b --cluster hgx-h100 --gpus 64 --tp 2 --pp 2 --ep 8 --mbs 1 --gbs 64 --seq-length 4096 --sequence-parallel --overlap-grad-reduce"
  "gpt3-175b --cluster dgx-a100 --gpus 128 --tp 8 --pp 8 --vpp 2 --mbs 1 --gbs 128 --seq-length 2048 --recompute full"
)

./scripts/install-dependencies.sh --developers
configure() { cmake -S . -B "build/$1" -G Ninja -DERGOMETER_TESTS=OFF "${@:2}" >/dev/null; }
configure identity-g++-O0 -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g0"
configure identity-clang -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=Release
cmake --preset release >/dev/null
builds=(release identity-g++-O0 identity-clang)
for build in "${builds[@]}"; do
  cmake --build "build/$build" --target ergometer -- --quiet
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# What one build says of one job: JSON and trace, one after the other.
answer() {  # build, threads, job number
  read -ra words <<<"${jobs[$3]}"
  "build/$1/ergometer" simulate "${words[@]}" --json --threads "$2" --trace "$scratch/trace"
  cat "$scratch/trace"
}

status=0
for number in "${!jobs[@]}"; do
  answer release 1 "$number" >"$scratch/wanted"
  for build in "${builds[@]}"; do
    for threads in 1 2; do
      answer "$build" "$threads" "$number" >"$scratch/found"
      if cmp -s "$scratch/wanted" "$scratch/found"; then
        echo "same: $build, $threads threads: ${jobs[$number]}"
      else
        echo "DIFFERS: $build, $threads threads: ${jobs[$number]}"
        diff "$scratch/wanted" "$scratch/found" | head -n 6 || true
        status=1
      fi
    done
  done
done
exit $status
