#!/bin/bash
export CUDA_VISIBLE_DEVICES=4,5,6,7
GPU_NUM=$(echo $CUDA_VISIBLE_DEVICES | awk -F',' '{print NF}')
torchrun --standalone --nproc_per_node=$GPU_NUM train.py --model_name_or_path facebook/opt-6.7b --bf16 True \
  --per_device_train_batch_size 8 --gradient_accumulation_steps $((128 / 8 / GPU_NUM)) --fsdp "full_shard auto_wrap" --model_max_length 1024 --output_dir o
