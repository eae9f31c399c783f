#!/bin/bash
# DeepSeek-V3 on 128 nodes
export CUDA_DEVICE_MAX_CONNECTIONS=1
export NVTE_ALLOW_NONDETERMINISTIC_ALGO=1

NNODES=${NNODES:-128}
GPUS_PER_NODE=8
TP=${TP:-1}; PP=${PP:-16}; EP=${EP:-64}; VPP=${VPP:-1}
MBS=${MBS:-1}
GBS=${GBS:-8192}
SEQ_LEN=${SEQ_LEN:-4096}

DISTRIBUTED_ARGS=(
    --nproc_per_node ${GPUS_PER_NODE}
    --nnodes ${NNODES}
    --node_rank ${SLURM_NODEID:-0}
    --master_addr ${MASTER_ADDR:-localhost}
    --master_port ${MASTER_PORT:-6000}
)
MODEL_ARGS=(
    --use-mcore-models
    --num-layers 61
    --hidden-size 7168
    --ffn-hidden-size 18432
    --num-attention-heads 128
    --kv-channels 128
    --max-position-embeddings 4096
    --position-embedding-type rope
    --rotary-base 10000
    --make-vocab-size-divisible-by 3232
    --normalization RMSNorm
    --norm-epsilon 1e-6
    --swiglu
    --untie-embeddings-and-output-weights
    --disable-bias-linear
    --multi-latent-attention
    --q-lora-rank 1536
    --kv-lora-rank 512
    --qk-head-dim 128
    --qk-pos-emb-head-dim 64
    --v-head-dim 128
    --qk-layernorm
    --rotary-scaling-factor 40
    --mscale 1.0
    --mscale-all-dim 1.0
    --mtp-num-layers 1
    --mtp-loss-scaling-factor 0.1
    --num-experts 256
    --moe-layer-freq "([0]*3+[1]*58)"
    --moe-ffn-hidden-size 2048
    --moe-shared-expert-intermediate-size 2048
    --moe-router-load-balancing-type seq_aux_loss
    --moe-router-topk 8
    --moe-router-group-topk 4
    --moe-router-num-groups 8
    --moe-router-pre-softmax
    --moe-router-score-function sigmoid
    --moe-router-enable-expert-bias
    --moe-router-topk-scaling-factor 2.5
    --moe-router-dtype fp32
    --moe-token-dispatcher-type flex
    --moe-enable-deepep
    --moe-grouped-gemm
    --moe-permute-fusion
)
TRAIN_ARGS=(
    --micro-batch-size $MBS --global-batch-size $GBS
    --seq-length $SEQ_LEN
    --train-samples 585937500 --lr-decay-samples 584765624 --lr-warmup-samples 1536000
    --bf16
    --fp8-recipe blockwise --fp8-format e4m3
    --recompute-granularity selective --recompute-modules mla_up_proj moe_act layernorm
    --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V3
)
PARALLEL_ARGS=(
    --tensor-model-parallel-size $TP
    --pipeline-model-parallel-size $PP
    --pipeline-model-parallel-layout "Et*3|(tt|)*29m|L"
    --expert-model-parallel-size $EP
    --expert-tensor-parallel-size 1
    --context-parallel-size 1
    --use-distributed-optimizer
    --overlap-grad-reduce --overlap-param-gather
)
if [[ $TP -gt 1 ]]; then PARALLEL_ARGS+=(--sequence-parallel); fi
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py "${MODEL_ARGS[@]}" "${TRAIN_ARGS[@]}" "${PARALLEL_ARGS[@]}" --data-path $DATA_PATH
