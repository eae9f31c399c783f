#!/bin/sh -e
alias run='torchrun --nnodes=$NODES --nproc_per_node=8'
run pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 256 --bf16 --vocab-size 50257
