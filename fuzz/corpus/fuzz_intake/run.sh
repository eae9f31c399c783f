#!/bin/bash
GPUS_PER_NODE=8
MODEL="--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50257"
torchrun --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py \
    $MODEL \
    --tensor-model-parallel-size 2 \
    --pipeline-model-parallel-size 2 \
    --micro-batch-size 2 --global-batch-size 64 \
    --bf16 --use-distributed-optimizer --overlap-grad-reduce \
    --lr 1e-4 --data-path my_data
