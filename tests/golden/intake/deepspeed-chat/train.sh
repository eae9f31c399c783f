#!/bin/bash
ZERO_STAGE=${1:-3}
deepspeed --num_gpus 8 main.py --data_path Dahoas/rm-static --model_name_or_path meta-llama/Llama-2-7b-hf \
  --per_device_train_batch_size 4 --max_seq_len 512 --gradient_accumulation_steps 1 --gradient_checkpointing \
  --zero_stage $ZERO_STAGE --offload --deepspeed --output_dir out
