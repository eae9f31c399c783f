#!/usr/bin/env bash
# Makes docs/images/summary.svg, the README's picture, from what the program really prints.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${1:-build/release/ergometer}
arguments=(simulate llama3-70b --cluster charllm-h200 --gpus 32 --tp 4 --pp 4
  --mbs 1 --gbs 128 --seq-length 8192)
mkdir -p docs/images
LC_ALL=C.UTF-8 CLICOLOR_FORCE=1 "$program" "${arguments[@]}" |
  python3 scripts/ansi_to_svg.py "ergometer simulate llama3-70b --cluster charllm-h200 --gpus 32 --tp 4 --pp 4 ..." \
    >docs/images/summary.svg
echo "docs/images/summary.svg"
