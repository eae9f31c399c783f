#!/bin/bash
MOE="--num-experts 8 --moe-router-topk 2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall"
MODEL="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --swiglu
  --group-query-attention --num-query-groups 8 --position-embedding-type rope --disable-bias-linear
  --untie-embeddings-and-output-weights --normalization RMSNorm --vocab-size 32000 --bf16"
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py $MODEL $MOE $CAPACITY --seq-length 4096 \
  --micro-batch-size 1 --global-batch-size 256 --pipeline-model-parallel-size 4 \
  --expert-model-parallel-size 8 --use-distributed-optimizer
