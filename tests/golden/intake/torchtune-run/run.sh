#!/usr/bin/env bash
CUDA_VISIBLE_DEVICES=0,1,2,3 tune run --nproc_per_node 4 lora_finetune_distributed \
  --config ./8B_lora.yaml batch_size=4 gradient_accumulation_steps=4 \
  enable_activation_checkpointing=True tokenizer.max_seq_len=8192 model.lora_rank=64
