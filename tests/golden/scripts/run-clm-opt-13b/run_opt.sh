#!/usr/bin/env bash
set -euo pipefail
export WANDB_PROJECT=opt-clm
MODEL=facebook/opt-13b
BS=4
ACC=8

deepspeed --num_gpus=8 --master_port 29501 run_clm.py \
  --deepspeed ds_zero3.json \
  --model_name_or_path "$MODEL" \
  --dataset_name wikitext --dataset_config_name wikitext-103-raw-v1 \
  --do_train --do_eval \
  --fp16 \
  --block_size 2048 \
  --per_device_train_batch_size $BS \
  --per_device_eval_batch_size 4 \
  --gradient_accumulation_steps $ACC \
  --gradient_checkpointing \
  --learning_rate 2e-5 --num_train_epochs 1 \
  --output_dir out 2>&1 | tee train.log
