#!/bin/bash
ACC=$((64 / 8))
LR=$(python -c "print(2 * 1)")
torchrun --nproc_per_node 8 a.py --output_dir x --per_device_train_batch_size 2 --gradient_accumulation_steps $ACC --gradient_checkpointing --model_name_or_path Qwen/Qwen2.5-7B
