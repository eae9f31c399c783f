#!/bin/bash
set -e
ENV=$1
CURRENT_DIR="$( cd "$( dirname "$0" )" && pwd )"
MEGATRON_PATH=$( dirname $( dirname ${CURRENT_DIR}))
export PYTHONPATH=${MEGATRON_PATH}:${MEGATRON_PATH}/PAI-Megatron-LM-240718:$PYTHONPATH
export CUDA_DEVICE_MAX_CONNECTIONS=1
if [ $ENV = dsw ]; then
    MASTER_ADDR=localhost
    MASTER_PORT=$(shuf -n 1 -i 10000-65535)
    NNODES=1
    NODE_RANK=0
    GPUS_PER_NODE=8
elif [ $ENV = dlc ]; then
    NNODES=${WORLD_SIZE}
    NODE_RANK=${RANK}
    GPUS_PER_NODE=${KUBERNETES_CONTAINER_RESOURCE_GPU}
fi

DISTRIBUTED_ARGS="--nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT"

### BASE CONFIG ###
MODEL_SIZE=$2
BATCH_SIZE=$3
GLOBAL_BATCH_SIZE=$4
LR=$5
MIN_LR=$6
SEQ_LEN=$7
PAD_LEN=$8
PR=$9
### PARALLEL / BOOL OPTION ###
TP=${10}
PP=${11}
CP=${12}
SP=${13}
DO=${14}
FL=${15}
AC=${16}
SAVE_INTERVAL=${17}
DATASET_PATH=${18}
PRETRAIN_CHECKPOINT_PATH=${19}
TRAIN_TOKENS=${20}
OUTPUT_BASEPATH=${21}

if [ $MODEL_SIZE = 8B ]; then
NUM_LAYERS=32; HIDDEN_SIZE=4096; NUM_ATTN_HEADS=32; INTERMEDIATE_SIZE=14336
elif [ $MODEL_SIZE = 70B ]; then
NUM_LAYERS=80
HIDDEN_SIZE=8192
NUM_ATTN_HEADS=64
INTERMEDIATE_SIZE=28672
fi
gqa_options=" \
		    --group-query-attention \
		    --num-query-groups 8"

if [ $AC = full ]; then
    activation_checkpoint_options=" \
		    --recompute-method uniform \
            --recompute-num-layers 1 \
		    --recompute-granularity full"
elif [ $AC = sel ]; then
    activation_checkpoint_options=" --recompute-activations"
elif [ $AC = none ]; then
    activation_checkpoint_options=" "
fi

if [ $PR = fp16 ]; then
    pr_options=" --fp16 --apply-query-key-layer-scaling"
elif [ $PR = bf16 ]; then
    pr_options=" --bf16"
elif [ $PR = fp8 ]; then
    pr_options=" --bf16 --fp8-hybrid --fp8-amax-compute-algo max --fp8-amax-history-len 1024"
fi

if [ $DO = true ]; then
    do_options=" --use-distributed-optimizer"
elif [ $DO = false ]; then
    do_options=" "
fi
[ $FL = true ] && export NVTE_FLASH_ATTN=1 || export NVTE_FLASH_ATTN=0
if [ $SP = true ] && [ $TP -gt 1 ]; then
    sp_options=" --sequence-parallel"
elif [ $SP = false ]; then
    sp_options=" "
fi
if [ $PRETRAIN_CHECKPOINT_PATH != none ]; then
    load_options=" --load $PRETRAIN_CHECKPOINT_PATH"
fi

TRAIN_ITERS=$(( ${TRAIN_TOKENS} / ${GLOBAL_BATCH_SIZE} / ${SEQ_LEN} ))
NAME="pretrain-mcore-llama3-${MODEL_SIZE}-lr-${LR}-bs-${BATCH_SIZE}-seqlen-${SEQ_LEN}-pr-${PR}-tp-${TP}-pp-${PP}-cp-${CP}-ac-${AC}"
mkdir -p "${OUTPUT_BASEPATH}/tensorboard/"
current_time=$(date "+%Y.%m.%d-%H.%M.%S")
TENSORBOARD_DIR="${OUTPUT_BASEPATH}/tensorboard/${NAME}_${current_time}"

megatron_options="  \
        --save ${OUTPUT_BASEPATH}/checkpoint/${NAME} \
        --lr ${LR} \
        --min-lr ${MIN_LR} \
        --clip-grad 1.0 \
        --init-method-std 0.008 \
        --attention-dropout 0.0 \
        --hidden-dropout 0.0 \
        --train-iters ${TRAIN_ITERS} \
        --micro-batch-size ${BATCH_SIZE} \
        --global-batch-size ${GLOBAL_BATCH_SIZE} \
        --num-layers ${NUM_LAYERS} \
        --hidden-size ${HIDDEN_SIZE} \
        --num-attention-heads ${NUM_ATTN_HEADS} \
        --ffn-hidden-size ${INTERMEDIATE_SIZE} \
        --seq-length ${SEQ_LEN} \
        --max-position-embeddings ${SEQ_LEN} \
        --tensorboard-dir ${TENSORBOARD_DIR} \
        --tensor-model-parallel-size ${TP} \
        --pipeline-model-parallel-size ${PP} \
        --context-parallel-size ${CP} \
        --patch-tokenizer-type LLama3Tokenizer \
        --padded-vocab-size 128256 \
        --swiglu --normalization RMSNorm --norm-epsilon 1e-05 \
        --use-rotary-position-embeddings --position-embedding-type rope --rotary-base 500000 \
        --untie-embeddings-and-output-weights --disable-bias-linear \
        --transformer-impl transformer_engine --cross-entropy-loss-fusion"

run_cmd="torchrun $DISTRIBUTED_ARGS ../llama3/pretrain_llama.py
 ${megatron_options} ${pr_options} ${load_options} ${activation_checkpoint_options} \
 ${do_options} ${sp_options} ${gqa_options} --train-data-path $DATASET_PATH"

echo ${run_cmd}
eval ${run_cmd}
set +x
