#!/bin/bash
pip install -q transformers trl peft
python3 -m pip install --upgrade axolotl
accelerate launch --num_processes 4 trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-3B \
  --per_device_train_batch_size 2 --max_length 2048 --packing --bf16
