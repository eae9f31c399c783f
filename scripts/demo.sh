#!/usr/bin/env bash
# Installs what is missing, builds the release preset and predicts one training step: Llama 3 70B on 32 H200.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./scripts/install-dependencies.sh
./scripts/build.sh release ergometer
exec_line=(build/release/ergometer simulate llama3-70b --cluster charllm-h200 --gpus 32 --tp 4 --pp 4
  --mbs 1 --gbs 128 --seq-length 8192 --report llama3-70b.html --trace llama3-70b.trace.json)
printf '$ %s\n\n' "${exec_line[*]}"
"${exec_line[@]}"
