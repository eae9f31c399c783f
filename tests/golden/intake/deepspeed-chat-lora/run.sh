#!/bin/bash
deepspeed --num_gpus 8 main.py --data_path Dahoas/rm-static --model_name_or_path meta-llama/Llama-2-13b-hf \
  --per_device_train_batch_size 2 --max_seq_len 1024 --gradient_accumulation_steps 8 --gradient_checkpointing \
  --dtype bf16 --zero_stage 3 --lora_dim 128 --lora_module_name "layers." --only_optimize_lora --deepspeed
