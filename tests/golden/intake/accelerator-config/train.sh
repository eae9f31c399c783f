#!/bin/bash
torchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 \
  --gradient_accumulation_steps 8 --block_size 2048 --bf16 --gradient_checkpointing $FSDP --accelerator_config "$CONFIG"
