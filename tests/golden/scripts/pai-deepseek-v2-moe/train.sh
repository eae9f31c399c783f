#!/bin/bash
set -e
# sh train.sh SIZE MBS GBS SEQ PR TP PP EP AC

export CUDA_DEVICE_MAX_CONNECTIONS=1
[ -z "$MASTER_ADDR" ] && export MASTER_ADDR=localhost
[ -z "$WORLD_SIZE" ] && export WORLD_SIZE=1
[ -z "$RANK" ] && export RANK=0
MODEL_SIZE=$1; BATCH_SIZE=$2; GLOBAL_BATCH_SIZE=$3; SEQ_LEN=$4; PR=$5
TP=$6; PP=$7; EP=$8; AC=$9
MP_VP=${MP_VP:-0}
NNODES=${WORLD_SIZE}
if command -v nvidia-smi > /dev/null; then
    echo "$(nvidia-smi -L)"
fi

case $MODEL_SIZE in
A2.4B)
    HIDDEN_SIZE=2048; NUM_ATTN_HEADS=16; NUM_LAYERS=27; INTERMEDIATE_SIZE=10944
    MOE_INTERMEDIATE_SIZE=1408; SHARED=2816; NUM_EXPERTS=64; ROUTER_TOPK=6
    Q_OPT="" ;;
A21B)
    HIDDEN_SIZE=5120
    NUM_ATTN_HEADS=128
    NUM_LAYERS=60
    INTERMEDIATE_SIZE=12288
    MOE_INTERMEDIATE_SIZE=1536
    SHARED=3072
    NUM_EXPERTS=160
    ROUTER_TOPK=6
    Q_OPT="--q-lora-rank 1536"
    ;;
esac

if [ $AC = full ]; then
    activation_checkpoint_options="--recompute-method uniform --recompute-num-layers ${MP_AC_LAYERS:-1} --recompute-granularity full"
elif [ $AC = sel ]; then
    activation_checkpoint_options="--recompute-activations"
elif [ $AC = none ]; then
    activation_checkpoint_options=
elif [ $AC = offload ]; then
    activation_checkpoint_options="--cpu-offloading --cpu-offloading-num-layers ${MP_AC_LAYERS:-2}"
fi
[ $PR = bf16 ] && pr_options="--bf16" || pr_options="--fp16"
if [ $MP_VP -gt 1 ]; then vp_options="--num-virtual-stages-per-pipeline-rank ${MP_VP}"; else vp_options=""; fi

torchrun --nproc_per_node 8 --nnodes $NNODES --node_rank $RANK --master_addr $MASTER_ADDR --master_port ${MASTER_PORT:-29500} \
    ../deepseek_v2/pretrain_deepseek.py \
    --num-layers $NUM_LAYERS --hidden-size $HIDDEN_SIZE --num-attention-heads $NUM_ATTN_HEADS \
    --ffn-hidden-size $INTERMEDIATE_SIZE --seq-length $SEQ_LEN --max-position-embeddings 163840 \
    --multi-latent-attention $Q_OPT --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 \
    --moe-ffn-hidden-size $MOE_INTERMEDIATE_SIZE --num-experts $NUM_EXPERTS --moe-router-topk $ROUTER_TOPK \
    --moe-shared-expert-intermediate-size $SHARED --moe-layer-freq "([0]*1+[1]*$((NUM_LAYERS - 1)))" \
    --moe-grouped-gemm --moe-token-dispatcher-type alltoall --moe-router-load-balancing-type aux_loss \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --expert-model-parallel-size $EP \
    --expert-tensor-parallel-size 1 \
    --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --micro-batch-size $BATCH_SIZE --global-batch-size $GLOBAL_BATCH_SIZE --train-iters 10000 \
    --swiglu --normalization RMSNorm --qk-layernorm --disable-bias-linear --untie-embeddings-and-output-weights \
    --position-embedding-type rope --attention-dropout 0.0 --hidden-dropout 0.0 \
    --tokenizer-type NullTokenizer --vocab-size 102400 --mock-data --lr 1e-5 \
    $pr_options $vp_options $activation_checkpoint_options
