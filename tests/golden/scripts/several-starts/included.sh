#!/bin/bash
MODEL="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000"
BATCH="--micro-batch-size 1 --global-batch-size 256 --bf16"
for gpus in 0,1 2,3 4,5; do
  deepspeed --include localhost:$gpus pretrain_gpt.py $MODEL $BATCH --lr 1e-4 &
done
wait
