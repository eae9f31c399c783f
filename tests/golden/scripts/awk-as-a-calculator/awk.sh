#!/bin/bash
N=$(awk 'BEGIN{print 4*8}')
GBS=$(awk -v n=$N 'BEGIN { printf "%d", n * 4 }')
LR=$(awk "BEGIN {print 3e-4 * $N}")
HALF=$(awk "BEGIN {print int($N / 2)}")
torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size $GBS --lr $LR --bf16 --vocab-size 50304 --tokenizer-type NullTokenizer --rampup-batch-size $HALF $HALF 1000
