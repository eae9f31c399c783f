#!/bin/bash
MODEL="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000"
BATCH="--micro-batch-size 1 --global-batch-size 256 --bf16"
# The two halves of one node.
CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 4 --master_port 29500 pretrain_gpt.py $MODEL $BATCH --lr 1e-4 &
CUDA_VISIBLE_DEVICES=4,5,6,7 torchrun --nproc_per_node 4 --master_port 29501 pretrain_gpt.py $MODEL $BATCH --lr 2e-4 &
wait
