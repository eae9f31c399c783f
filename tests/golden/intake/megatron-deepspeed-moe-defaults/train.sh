#!/bin/bash
echo '{"train_batch_size": 512, "train_micro_batch_size_per_gpu": 4, "fp16": {"enabled": true}}' > ds.json
deepspeed --num_nodes 16 --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \
  --num-experts 128 --moe-expert-parallel-size 128 --micro-batch-size 4 --global-batch-size 512 --seq-length 2048 \
  --max-position-embeddings 2048 --vocab-size 50257 --fp16 --deepspeed --deepspeed_config ds.json --zero-stage 0 \
  --no-pipeline-parallel --use-flash-attn-v2
