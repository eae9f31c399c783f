#!/bin/bash
FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train --stage sft --finetuning_type full \
  --model_name_or_path Qwen/Qwen2.5-7B --deepspeed ds.json --template qwen --packing True --bf16 True \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 4
