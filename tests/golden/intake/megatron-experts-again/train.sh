#!/bin/bash
# Qwen3-30B-A3B pretraining, Megatron-LM core 0.14
export CUDA_DEVICE_MAX_CONNECTIONS=1
export NCCL_IB_SL=1
set -euxo pipefail

GPUS_PER_NODE=${GPUS_PER_NODE:-8}
NNODES=${WORLD_SIZE:-4}
NODE_RANK=${RANK:-0}
MASTER_ADDR=${MASTER_ADDR:-localhost}
MASTER_PORT=${MASTER_PORT:-6000}
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))

CHECKPOINT_PATH=${1:-"checkpoints/qwen3"}
TENSORBOARD_LOGS_PATH=${2:-"tb"}
TOKENIZER_ARG=${3:-"MOCK"}

MODEL_ARGS=(
    --use-mcore-models
    --num-layers 48
    --hidden-size 2048
    --ffn-hidden-size 6144
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 4
    --kv-channels 128
    --qk-layernorm
    --seq-length 4096
    --max-position-embeddings 40960
    --position-embedding-type rope
    --rotary-base 1000000
    --rotary-percent 1.0
    --normalization RMSNorm
    --norm-epsilon 1e-6
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --make-vocab-size-divisible-by 1187
)
MOE_ARGS=(
    --num-experts 128
    --moe-router-topk 8
    --moe-ffn-hidden-size 768
    --moe-router-load-balancing-type aux_loss
    --moe-aux-loss-coeff 1e-3
    --moe-grouped-gemm
    --moe-token-dispatcher-type alltoall
    --moe-permute-fusion
    --moe-router-dtype fp32
    --moe-layer-recompute
)
PARALLEL_ARGS=(
    --tensor-model-parallel-size 4
    --pipeline-model-parallel-size 1
    --expert-model-parallel-size 8
    --expert-tensor-parallel-size 1
    --sequence-parallel
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 256
    --lr 3e-4
    --train-iters 5000
    --lr-decay-iters 3000
    --lr-decay-style cosine
    --min-lr 3.0e-5
    --weight-decay 0.1
    --lr-warmup-iters 500
    --clip-grad 1.0
    --bf16
    --attention-backend auto
)
if [[ "$TOKENIZER_ARG" == "MOCK" ]]; then
    DATA_ARGS=(--mock-data --tokenizer-type NullTokenizer --vocab-size 151936 --num-workers 1)
else
    DATA_ARGS=(--data-path $4 --tokenizer-type HuggingFaceTokenizer --tokenizer-model $TOKENIZER_ARG --split 99,1,0)
fi
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT pretrain_gpt.py \
    ${MODEL_ARGS[@]} ${MOE_ARGS[@]} ${PARALLEL_ARGS[@]} ${TRAINING_ARGS[@]} ${DATA_ARGS[@]} \
    --log-interval 1 --save-interval 1000 --save $CHECKPOINT_PATH --tensorboard-dir $TENSORBOARD_LOGS_PATH
