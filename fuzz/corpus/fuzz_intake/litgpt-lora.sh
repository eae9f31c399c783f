#!/bin/bash
#SBATCH -J lora -N 1 --gpus-per-node=4
set -eu
litgpt download meta-llama/Meta-Llama-3-8B --access_token "$HF_TOKEN"
litgpt finetune_lora checkpoints/meta-llama/Meta-Llama-3-8B \
  --data Alpaca2k --precision bf16-true --devices 4 \
  --lora_r 16 --lora_alpha 32 --lora_dropout 0.05 \
  --lora_query true --lora_key true --lora_value true --lora_projection true --lora_mlp true --lora_head false \
  --train.global_batch_size 32 --train.micro_batch_size 2 --train.max_seq_length 2048 --train.epochs 2 \
  --out_dir out/lora-llama3-8b
