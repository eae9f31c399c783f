#!/bin/bash
accelerate launch --mixed_precision=bf16 --use_fsdp --fsdp_version 1 --fsdp_sharding_strategy HYBRID_SHARD \
  --fsdp_activation_checkpointing true --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP --main_process_port 29500 \
  --num_machines 2 --num_processes 16 -m pkg.train --model_name_or_path Qwen/Qwen2.5-7B \
  --per_device_train_batch_size 2 --max_length 4096
