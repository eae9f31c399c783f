#!/usr/bin/env bash
# The same job gives the same bytes from every build: g++ without optimisation, the release build and clang. Compares JSON
# and trace of jobs, what a twin is fitted to, and the study with one and two threads (of the build without optimisation a
# part of it); ends with status 1 on a difference.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=(
  "llama3-70b --cluster charllm-h200 --gpus 32 --tp 4 --pp 4 --mbs 1 --gbs 128 --seq-length 8192"
  "mixtral-8x7b --cluster hgx-h100 --gpus 64 --tp 2 --pp 2 --ep 8 --mbs 1 --gbs 64 --seq-length 4096 --sequence-parallel --overlap-grad-reduce"
  "gpt3-175b --cluster dgx-a100 --gpus 128 --tp 8 --pp 8 --vpp 2 --mbs 1 --gbs 128 --seq-length 2048 --recompute full"
  "llama3-8b --cluster hgx-h100 --gpus 32 --tp 2 --pp 2 --mbs 1 --gbs 64 --seq-length 8192 --sequence-lengths lognormal:2000,1.2 --sequence-batching packed --shuffle 3 --duration 60 --seed 7"
  "llama3-8b --cluster hgx-h100 --gpus 16 --tp 2 --cp 2 --mbs 1 --gbs 64 --seq-length 8192 --sequence-lengths uniform:100-8000 --sequence-batching padded --sequence-order length-balanced"
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
job() {  # build, job
  local words
  read -ra words <<<"$2"
  "build/$1/ergometer" simulate "${words[@]}" --json --quiet --trace "$scratch/trace"
  cat "$scratch/trace"
}

# What one build fits to a Run that the release build simulated of a cluster whose numbers are others.
twin_files=tests/golden/calibrate/twin
twin() { "build/$1/ergometer" calibrate --from "$scratch/recorded.run" $twin_files/job.yaml --json --quiet; }  # build

matrix() { "build/$1/ergometer" sweep charllm --threads "$2" --json --quiet; }  # build, threads

# Without optimisation the whole had not ended after half an hour.
part() {  # build
  rm -f "$scratch/part.run"
  "build/$1/ergometer" sweep charllm --shard 3/32 --out "$scratch/part.run" --csv "$scratch/part" --quiet >/dev/null
  cat "$scratch/part"
}

status=0
compare() {  # what it is
  if cmp -s "$scratch/wanted" "$scratch/found"; then
    echo "same: $1"
  else
    echo "DIFFERS: $1"
    diff "$scratch/wanted" "$scratch/found" | head -n 6 || true
    status=1
  fi
}

for words in "${jobs[@]}"; do
  job release "$words" >"$scratch/wanted"
  for build in "${builds[@]:1}"; do
    job "$build" "$words" >"$scratch/found"
    compare "$build: $words"
  done
done
build/release/ergometer simulate $twin_files/job.yaml --cluster $twin_files/hidden.yaml --run "$scratch/recorded.run" \
  --quiet >/dev/null
twin release >"$scratch/wanted"
for build in "${builds[@]:1}"; do
  twin "$build" >"$scratch/found"
  compare "$build: a twin"
done
matrix release 1 >"$scratch/wanted"
for build in release identity-clang; do
  matrix "$build" 2 >"$scratch/found"
  compare "$build: sweep with two threads"
done
part release >"$scratch/wanted"
part identity-g++-O0 >"$scratch/found"
compare "identity-g++-O0: a part of the sweep"
exit $status
