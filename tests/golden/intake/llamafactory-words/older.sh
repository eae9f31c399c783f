#!/bin/bash
deepspeed --num_gpus 8 src/train_bash.py --deepspeed ds.json --stage sft --model_name_or_path Qwen/Qwen2.5-7B \
  --finetuning_type full --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --bf16 True --disable_gradient_checkpointing True
