#!/bin/bash
set -e
ENV=$1
CURRENT_DIR="$( cd "$( dirname "$0" )" && pwd )"
MEGATRON_PATH=$( dirname $( dirname ${CURRENT_DIR}))
export PYTHONPATH=${MEGATRON_PATH}:${MEGATRON_PATH}/PAI-Megatron-LM-240718:$PYTHONPATH
export CUDA_DEVICE_MAX_CONNECTIONS=1
if [ $ENV = dsw ]; then
    export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
    MASTER_ADDR=localhost
    MASTER_PORT=$(shuf -n 1 -i 10000-65535)
    NNODES=1
    NODE_RANK=0
    GPUS_PER_NODE=`python -c "import torch; print(torch.cuda.device_count())"`
elif [ $ENV = dlc ]; then
    NNODES=${WORLD_SIZE}
    NODE_RANK=${RANK}
    GPUS_PER_NODE=${KUBERNETES_CONTAINER_RESOURCE_GPU}
fi
DISTRIBUTED_ARGS="--nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT"
MODEL_SIZE=$2
BATCH_SIZE=$3
GLOBAL_BATCH_SIZE=$4
SEQ_LEN=$5
PR=$6
TP=$7
PP=$8
CP=$9
if [ $MODEL_SIZE = 7B ]; then
HIDDEN_SIZE=3584
NUM_LAYERS=28
NUM_ATTN_HEADS=28
NUM_KEY_VALUE_HEADS=4
INTERMEDIATE_SIZE=18944
EXTRA_VOCAB_SIZE=421
tie_option=" --untie-embeddings-and-output-weights "
gqa_options=" --group-query-attention --num-query-groups ${NUM_KEY_VALUE_HEADS}"
elif [ $MODEL_SIZE = 72B ]; then
HIDDEN_SIZE=8192
NUM_LAYERS=80
NUM_ATTN_HEADS=64
NUM_KEY_VALUE_HEADS=8
INTERMEDIATE_SIZE=29568
EXTRA_VOCAB_SIZE=421
tie_option=" --untie-embeddings-and-output-weights "
gqa_options=" --group-query-attention --num-query-groups ${NUM_KEY_VALUE_HEADS}"
fi
if [ $PR = fp16 ]; then
    pr_options=" --fp16 --apply-query-key-layer-scaling"
elif [ $PR = bf16 ]; then
    pr_options=" --bf16"
elif [ $PR = fp8 ]; then
    pr_options=" --bf16 --fp8-format hybrid --fp8-amax-compute-algo max --fp8-amax-history-len 1024"
fi
megatron_options="  --swiglu --normalization RMSNorm --norm-epsilon 1e-6 --use-rotary-position-embeddings --position-embedding-type rope \
  --disable-bias-linear --add-qkv-bias --rotary-percent 1.0 --rotary-base 1000000 --rotary-seq-len-interpolation-factor 1 \
  --num-layers ${NUM_LAYERS} --hidden-size ${HIDDEN_SIZE} --num-attention-heads ${NUM_ATTN_HEADS} --ffn-hidden-size ${INTERMEDIATE_SIZE} \
  --seq-length ${SEQ_LEN} --max-position-embeddings 131072 --max-padding-length ${SEQ_LEN} \
  --micro-batch-size ${BATCH_SIZE} --global-batch-size ${GLOBAL_BATCH_SIZE} --train-iters 1000 \
  --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} --context-parallel-size ${CP} \
  --extra-vocab-size ${EXTRA_VOCAB_SIZE} --patch-tokenizer-type Qwen2Tokenizer --dataset LLama-Pretrain-Raw \
  --use-distributed-optimizer --attention-dropout 0.0 --hidden-dropout 0.0 --transformer-impl transformer_engine --sequence-parallel --use-flash-attn"
run_cmd="torchrun $DISTRIBUTED_ARGS ../qwen2/pretrain_qwen.py ${megatron_options} ${pr_options} ${tie_option} ${gqa_options}"
echo ${run_cmd}
eval ${run_cmd}
set +x
