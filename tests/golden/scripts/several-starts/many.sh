#!/bin/bash
MODEL="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000"
BATCH="--micro-batch-size 1 --global-batch-size 256 --bf16"
for shard in $(seq 2500); do
  aws s3 cp s3://data/$shard.bin /data/
done
torchrun --nproc_per_node 8 pretrain_gpt.py $MODEL $BATCH
