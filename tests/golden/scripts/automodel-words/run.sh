#!/usr/bin/env bash
set -Eeuo pipefail
NGPU=${NGPU:-8}; : "${LBS:=2}"
torchrun --nproc-per-node="$NGPU" examples/llm_finetune/finetune.py --config peft.yaml --step_scheduler.local_batch_size "$LBS" --dataset.split train
