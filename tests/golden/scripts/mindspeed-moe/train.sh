#!/bin/bash
TP=2 PP=2 EP=4 CP=2
DISTRIBUTED_ARGS="--nproc_per_node 8 --nnodes 4 --node_rank ${NODE_RANK:-0} --master_addr localhost --master_port 6000"
MOE_ARGS="--num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 1408 --n-shared-experts 2 --moe-grouped-gemm
  --moe-token-dispatcher-type alltoall --moe-tp-extend-ep --moe-alltoall-overlap-comm"
GPT_ARGS="--use-mcore-models --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --sequence-parallel
  --expert-model-parallel-size $EP --context-parallel-size $CP --context-parallel-algo $1 --num-layer-list 15,13
  --num-layers 28 --hidden-size 2048 --ffn-hidden-size 10944 --num-attention-heads 16 --seq-length 8192
  --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 128 --vocab-size 102400 --swiglu
  --use-fused-swiglu --use-fused-rmsnorm --use-fused-rotary-pos-emb --normalization RMSNorm --disable-bias-linear
  --untie-embeddings-and-output-weights --position-embedding-type rope --use-flash-attn --swap-attention
  --reuse-fp32-param --use-distributed-optimizer --overlap-grad-reduce --bf16 ${@:2}"
torchrun $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS $MOE_ARGS --distributed-backend nccl | tee train.log
