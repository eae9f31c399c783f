#!/bin/bash
# Llama 3 on MI300X: bash train.sh MODEL_SIZE=70 TP=8 MBS=2 BS=64 ...

# set -x
export GPU_MAX_HW_QUEUES=2
export TORCH_NCCL_HIGH_PRIORITY=1
export NCCL_CHECKS_DISABLE=1
export CUDA_DEVICE_MAX_CONNECTIONS=1
export NVTE_CK_USES_BWD_V3="${NVTE_CK_USES_BWD_V3:-1}"

# parsing input arguments
for ARGUMENT in "$@"
do
   KEY=$(echo $ARGUMENT | cut -f1 -d=)
   KEY_LENGTH=${#KEY}
   VALUE="${ARGUMENT:$KEY_LENGTH+1}"
   export "$KEY"="$VALUE"
done

TIME_STAMP=$(date +"%Y-%m-%d_%H-%M-%S")
EXP_NAME="${EXP_NAME:-perf}"

TEE_OUTPUT="${TEE_OUTPUT:-1}"
USE_FLASH_ATTN="${USE_FLASH_ATTN:-1}"
NO_TRAINING="${NO_TRAINING:-0}" # NO_TRAINING=1: for computing metrics only
ENABLE_PROFILING="${ENABLE_PROFILING:-0}"
ENABLE_ROPE="${ENABLE_ROPE:-1}"
ENABLE_MOCK_DATA="${ENABLE_MOCK_DATA:-1}"
CWD=`pwd`
GPUS_PER_NODE=`python3 -c "import torch; print(torch.cuda.device_count())"`
GPUS_PER_NODE=${NGPUS:-8}
# Change for multinode config
MASTER_ADDR="${MASTER_ADDR:-localhost}"
MASTER_PORT="${MASTER_PORT:-6000}"
NNODES="${NNODES:-1}"
NODE_RANK="${NODE_RANK:-0}"
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))

MODEL_SIZE="${MODEL_SIZE:-70}"
TP="${TP:-8}"
PP="${PP:-1}"
CP="${CP:-1}"
MBS="${MBS:-2}"
BS="${BS:-8}"
SEQ_LENGTH="${SEQ_LENGTH:-2048}"
TOTAL_ITERS="${TOTAL_ITERS:-10}"
SEQ_PARALLEL="${SEQ_PARALLEL:-1}"
CONTI_PARAMS="${CONTI_PARAMS:-0}"
TE_FP8="${TE_FP8:-0}"
GEMM_TUNING="${GEMM_TUNING:-1}"
MCORE="${MCORE:-1}"
OPTIMIZER="${OPTIMIZER:-adam}"
FSDP="${FSDP:-0}"
RECOMPUTE="${RECOMPUTE:-0}"

EXPERIMENT_DIR="experiment"
mkdir -p $EXPERIMENT_DIR
CHECKPOINT_PATH=${CHECKPOINT_PATH:-"$EXPERIMENT_DIR/ckpts"}
MAX_POSITION_EMBEDDINGS=128000

DEFAULT_LOG_DIR="${EXPERIMENT_DIR}/${NNODES}nodes_rank${NODE_RANK}_train_${MODEL_SIZE}B_mbs${MBS}_bs${BS}_tp${TP}_pp${PP}_cp${CP}_iter${TOTAL_ITERS}/TE_FP8_${TE_FP8}/${TIME_STAMP}"
LOG_DIR="${LOG_DIR:-${DEFAULT_LOG_DIR}}"
TRAIN_LOG="${LOG_DIR}/output_${EXP_NAME}.log"
mkdir -p $LOG_DIR

# gemm tuning, https://github.com/ROCm/TransformerEngine
if [ "$GEMM_TUNING" -eq 1 ]; then
   export TE_HIPBLASLT_TUNING_RUN_COUNT=10
fi

# TODO: lots of hard-coded here
if [[ $MODEL_SIZE -eq 8 ]]; then
        HIDDEN_SIZE=4096
        FFN_HIDDEN_SIZE=14336
        NUM_LAYERS=32
        NUM_HEADS=32
        NUM_KV_HEADS=8
elif [[ $MODEL_SIZE -eq 70 ]]; then
        HIDDEN_SIZE=8192
        FFN_HIDDEN_SIZE=28672
        NUM_LAYERS=80
        NUM_HEADS=64
        NUM_KV_HEADS=8
else
        echo "Model size not supported."
        exit 1
fi

GROUP_SIZE=$(( ${NUM_HEADS} / ${NUM_KV_HEADS} ))
NUM_GROUPS=$(( ${NUM_HEADS} / ${GROUP_SIZE} ))

GPT_ARGS="
    --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size ${PP} \
    --context-parallel-size ${CP} \
    --num-layers $NUM_LAYERS \
    --hidden-size $HIDDEN_SIZE \
    --ffn-hidden-size $FFN_HIDDEN_SIZE \
    --num-attention-heads $NUM_HEADS \
    --seq-length $SEQ_LENGTH \
    --max-position-embeddings $MAX_POSITION_EMBEDDINGS \
    --untie-embeddings-and-output-weights \
    --disable-bias-linear \
    --swiglu \
    --init-method-std 0.02 \
    --attention-dropout 0.0 \
    --hidden-dropout 0.0 \
    --normalization RMSNorm \
    --micro-batch-size $MBS \
    --global-batch-size $BS \
    --train-iters $TOTAL_ITERS \
    --no-async-tensor-model-parallel-allreduce \
    --bf16
    --no-masked-softmax-fusion
"
TRAIN_ARGS="--lr 1e-4 \
        --min-lr 1e-5 \
        --lr-decay-style cosine \
        --optimizer ${OPTIMIZER} \
        --no-gradient-accumulation-fusion \
        --use-contiguous-parameters-in-local-ddp \
        "
DATA_ARGS="--tokenizer-type HuggingFaceTokenizer --tokenizer-model ${TOKENIZER_MODEL:-meta-llama/Llama-3.1-70B} --mock-data"
CKPT_LOAD_ARGS="--exit-on-missing-checkpoint --no-load-optim --use-checkpoint-args --no-load-rng"
EXTRA_ARGS="
    --group-query-attention \
    --num-query-groups $NUM_GROUPS \
    --no-gradient-accumulation-fusion \
    --distributed-backend nccl \
    --distributed-timeout-minutes 120
"
if [ "$FSDP" -eq 1 ]; then
    EXTRA_ARGS="$EXTRA_ARGS --use-torch-fsdp2"
    SEQ_PARALLEL=1
else
    EXTRA_ARGS="$EXTRA_ARGS --use-distributed-optimizer --overlap-grad-reduce"
fi
if [ "$RECOMPUTE" -eq 1 ]; then
    EXTRA_ARGS="$EXTRA_ARGS --recompute-num-layers $NUM_LAYERS --recompute-granularity full --recompute-method block"
fi
if [ "$SEQ_PARALLEL" -eq 1 ]; then EXTRA_ARGS="$EXTRA_ARGS --sequence-parallel"; fi
if [ "$USE_FLASH_ATTN" -eq 1 ]; then EXTRA_ARGS="$EXTRA_ARGS --use-flash-attn"; fi
if [ "$ENABLE_ROPE" -eq 1 ]; then EXTRA_ARGS="$EXTRA_ARGS --position-embedding-type rope"; fi
if [ "$TE_FP8" -eq 1 ]; then
    EXTRA_ARGS="$EXTRA_ARGS --transformer-impl=transformer_engine \
        --fp8-margin=0 \
        --fp8-format=hybrid \
        --fp8-interval=1 \
        --fp8-amax-history-len=1024 \
        --fp8-amax-compute-algo=max \
        --attention-softmax-in-fp32
"
fi

run_cmd="
    torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT pretrain_gpt.py \
        $GPT_ARGS \
        $TRAIN_ARGS \
        $DATA_ARGS \
        $EXTRA_ARGS \
"

if [ "$TEE_OUTPUT" -eq 0 ]; then
    run_cmd="$run_cmd >& $TRAIN_LOG"
else
    run_cmd="$run_cmd |& tee $TRAIN_LOG"
fi
if [ "$NO_TRAINING" -eq 0 ]; then
    eval $run_cmd
fi

# parse the log
echo "throughput per GPU: $(grep -Eo 'throughput per GPU [^|]*' $TRAIN_LOG | tail -n 3)"
TIME_PER_ITER=$(python3 mean_log_value.py tmp.txt 2>/dev/null | awk '{printf "%.6f", $0}')
PERFORMANCE=$(awk -v bs="$BS" -v sl="$SEQ_LENGTH" -v tpi="$TIME_PER_ITER" -v ws="$WORLD_SIZE" 'BEGIN {printf "%.6f", bs * sl * 1000/ (tpi * ws)}')
echo "tokens/GPU/s: $PERFORMANCE" |& tee -a $TRAIN_LOG
