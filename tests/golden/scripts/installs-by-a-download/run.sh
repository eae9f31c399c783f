#!/bin/bash
command -v uv &> /dev/null || curl -LsSf https://astral.sh/uv/install.sh | sh
[ -d ".venv" ] || uv venv
source .venv/bin/activate
torchrun --nproc_per_node=8 sft.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 4 --max_length 2048 --packing --bf16 True
