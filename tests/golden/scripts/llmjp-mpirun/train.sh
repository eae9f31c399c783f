#!/bin/bash
#$ -l rt_AF=16
#$ -l h_rt=10:00:00:00
#$ -j y
#$ -o outputs/7b/
#$ -cwd
# Modules of the cluster
source /etc/profile.d/modules.sh
module load cuda/11.8/11.8.0 cudnn/8.9/8.9.2 nccl/2.16/2.16.2-1 hpcx/2.12
# python virtualenv
source .env/bin/activate

# distributed settings
export MASTER_ADDR=$(/usr/sbin/ip a show dev bond0 | grep 'inet ' | awk '{ print $2 }' | cut -d "/" -f 1)
export MASTER_PORT=$((10000 + ($JOB_ID % 50000)))
echo "MASTER_ADDR=${MASTER_ADDR}"

# hostfile
if [[ "${SGE_RESOURCE_TYPE:-rt_AF}" == "rt_F" ]]; then
  export NUM_GPU_PER_NODE=4
  NODE_TYPE="v100"
elif [[ "${SGE_RESOURCE_TYPE:-rt_AF}" == "rt_AF" ]]; then
  export NUM_GPU_PER_NODE=8
  NODE_TYPE="a100"
else
  echo "Unrecognized SGE_RESOURCE_TYPE: $SGE_RESOURCE_TYPE"
fi
NUM_NODES=${NHOSTS:-16}
NUM_GPUS=$((${NUM_NODES} * ${NUM_GPU_PER_NODE}))

mkdir -p ./hostfile
HOSTFILE_NAME=./hostfile/hostfile_${JOB_ID}
while read -r line; do
  echo "${line} slots=${NUM_GPU_PER_NODE}"
done <"$SGE_JOB_HOSTLIST" >"$HOSTFILE_NAME"

# model config
# llama-2-13b: https://huggingface.co/meta-llama/Llama-2-13b-hf/blob/main/config.json
HIDDEN_SIZE=5120
FFN_HIDDEN_SIZE=13824 # intermediate size (HuggingFace)
NUM_LAYERS=40
NUM_HEADS=40
SEQ_LENGTH=4096

# distributed settings
TENSOR_PARALLEL_SIZE=2  # fixed
PIPELINE_PARALLEL_SIZE=4 # num layers 40: Llama-2 13B
DATA_PARALLEL_SIZE=$((${NUM_GPUS} / (${TENSOR_PARALLEL_SIZE} * ${PIPELINE_PARALLEL_SIZE})))

# training config
MICRO_BATCH_SIZE=1
GLOBAL_BATCH_SIZE=1024
TRAIN_STEPS=25000

CHECKPOINT_SAVE_DIR=checkpoints/Llama-2-13b/${NODE_TYPE}-node${NUM_NODES}
mkdir -p ${CHECKPOINT_SAVE_DIR}

# data config
DATA_PATH=""
for i in {0..9}; do
  DATA_PATH="${DATA_PATH} 1 /bb/data/ja_cc_${i}_text_document"
done

# checkpoint load
if [[ -f "${CHECKPOINT_SAVE_DIR}/latest_checkpointed_iteration.txt" ]]; then
  CHECKPOINT_ARGS="--load ${CHECKPOINT_SAVE_DIR}"
else
  CHECKPOINT_ARGS="--load /bb/llm/hf/Llama-2-13b-megatron --no-load-rng --no-load-optim"
fi

# run
mpirun -np $NUM_GPUS \
  --npernode $NUM_GPU_PER_NODE \
  -hostfile $HOSTFILE_NAME \
  -x MASTER_ADDR=$MASTER_ADDR \
  -x MASTER_PORT=$MASTER_PORT \
  -x CUDA_DEVICE_MAX_CONNECTIONS=1 \
  -bind-to none -map-by slot \
  -x PATH \
  python pretrain_gpt.py \
  --tensor-model-parallel-size ${TENSOR_PARALLEL_SIZE} \
  --pipeline-model-parallel-size ${PIPELINE_PARALLEL_SIZE} \
  --sequence-parallel \
  --use-distributed-optimizer \
  --num-layers ${NUM_LAYERS} \
  --hidden-size ${HIDDEN_SIZE} \
  --ffn-hidden-size ${FFN_HIDDEN_SIZE} \
  --num-attention-heads ${NUM_HEADS} \
  --seq-length ${SEQ_LENGTH} \
  --max-position-embeddings ${SEQ_LENGTH} \
  --micro-batch-size ${MICRO_BATCH_SIZE} \
  --global-batch-size ${GLOBAL_BATCH_SIZE} \
  --train-iters ${TRAIN_STEPS} \
  --tokenizer-type Llama2Tokenizer \
  --tokenizer-model /bb/llm/tokenizer.model \
  ${CHECKPOINT_ARGS} \
  --save ${CHECKPOINT_SAVE_DIR} \
  --data-path ${DATA_PATH} \
  --split 949,50,1 \
  --bf16 \
  --untie-embeddings-and-output-weights \
  --use-rotary-position-embeddings --position-embedding-type rope \
  --normalization RMSNorm --norm-epsilon 1e-5 --no-position-embedding \
  --no-masked-softmax-fusion --no-query-key-layer-scaling \
  --attention-dropout 0.0 --hidden-dropout 0.0 --disable-bias-linear --swiglu \
  --use-flash-attn \
  --recompute-activations --recompute-granularity "selective" \
  --use-mpi \
  --wandb-name "13b-${NODE_TYPE}-$(date +%Y%m%d)"
