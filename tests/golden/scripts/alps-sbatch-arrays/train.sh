#!/bin/bash

#SBATCH --account=a-a06
#SBATCH --time=11:59:59
#SBATCH --job-name=apertus3-8b-64n
#SBATCH --output=/iopsstor/scratch/logs/%x-%j.log
#SBATCH --error=/iopsstor/scratch/logs/%x-%j.log
#SBATCH --nodes=64
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=72
#SBATCH --mem=460000
#SBATCH --no-requeue	# Prevent Slurm to requeue the job if the execution crashes
#SBATCH --signal=SIGUSR2@600

echo "START TIME: $(date)"

################ Configs ################
# Use "," to join them
DATASETS="/capstor/datasets/fineweb-edu-dedup,/capstor/datasets/starcoder"

MBS=1 # Micro batch size
GBS=1024
SEQ_LEN=4096 # Sequence length
TRAINING_STEPS=2000000
CHECKPOINT_STEPS=1000

#### Debugging ####
LOG_NCCL=false # Log NCCL_DEBUG=info. Every process will dump the logging into separate files
NSYS_PROFILER=false # Turn on the NSYS profiler
MOCK_DATA=false # Set to `true` to use mock data
AUTO_JOB_REQUEUE=true

MEGATRON_LM_DIR=/iopsstor/scratch/$USER/Megatron-LM
PROJECT_NAME=main-runs
EXP_NAME=$SLURM_JOB_NAME
LOGGING_DIR=$MEGATRON_LM_DIR/logs/$PROJECT_NAME/$EXP_NAME
COMMAND_LOG=$LOGGING_DIR/${SLURM_JOB_ID}-command.txt

# Set up ENV
export CUDA_DEVICE_MAX_CONNECTIONS=1
export OMP_NUM_THREADS=$((SLURM_CPUS_PER_TASK/SLURM_GPUS_PER_NODE))
MASTER_ADDR=$(hostname)
MASTER_PORT=25678
ulimit -c 0

### Megatron Args ### Check megatron/training/arguments.py
TRANSFORMER_ENGINE_ARGS=(
	--transformer-impl transformer_engine
	--use-precision-aware-optimizer
	--main-grads-dtype bf16
)

NETWORK_SIZE_ARGS=(
	--num-layers 32
	--hidden-size 4096
	--ffn-hidden-size 21504
	--num-attention-heads 32
	--group-query-attention
	--num-query-groups 8
	--max-position-embeddings $SEQ_LEN
	--position-embedding-type rope
	--rotary-base 500000
	--use-rope-scaling
	--make-vocab-size-divisible-by 128
	--normalization RMSNorm
	--xielu
	--qk-layernorm
	--untie-embeddings-and-output-weights
)

TRAINING_ARGS=(
	--micro-batch-size $MBS
	--global-batch-size $GBS
	--train-iters $TRAINING_STEPS
	--log-interval 1
	--cross-entropy-loss-fusion
	--disable-bias-linear
	--optimizer ademamix
	--dataloader-type single
	--manual-gc
	--manual-gc-interval 500
	--exit-signal-handler
)

MIXED_PRECISION_ARGS=(
	--bf16
)

DISTRIBUTED_ARGS=(
	--tensor-model-parallel-size 2
	--sequence-parallel
	--pipeline-model-parallel-size 1
	--use-distributed-optimizer
	--overlap-grad-reduce
	--overlap-param-gather
)

TOKENIZER_ARGS=(
	--tokenizer-type HuggingFaceTokenizer
	--tokenizer-model alehc/swissai-tokenizer
	--vocab-size 131072
)

DATA_ARGS=(
	--split 100,0,0
	--seq-length $SEQ_LEN
	--reset-position-ids
	--reset-attention-mask
	--num-workers 32
)

# Data Args
if [ "$MOCK_DATA" = true ]; then
  DATA_ARGS="${DATA_ARGS[@]} --mock-data"
else
  DATA_ARGS="${DATA_ARGS[@]} --data-path $(python3 $MEGATRON_LM_DIR/scripts/tools/create_data_config.py -p $DATASETS) --data-cache-path /iopsstor/cache"
fi

CMD_PREFIX="numactl --membind=0-3"

TRAINING_CMD="python3 $MEGATRON_LM_DIR/pretrain_gpt.py \
    ${TRANSFORMER_ENGINE_ARGS[@]} \
    ${NETWORK_SIZE_ARGS[@]} \
    ${TRAINING_ARGS[@]} \
    ${MIXED_PRECISION_ARGS[@]} \
    ${DISTRIBUTED_ARGS[@]} \
    ${TOKENIZER_ARGS[@]} \
    $DATA_ARGS"

# WANDB Logging
if [ -n "$WANDB_API_KEY" ]; then
  TRAINING_CMD="$TRAINING_CMD --wandb-save-dir $LOGGING_DIR --wandb-project $PROJECT_NAME --wandb-exp-name $EXP_NAME-$SLURM_JOB_ID"
else
  export WANDB_MODE=disabled
fi
# NCCL Debug
if [ "$LOG_NCCL" = true ]; then
  CMD_PREFIX="NCCL_DEBUG=INFO NCCL_DEBUG_FILE=$LOGGING_DIR/nccl-info-\$SLURM_PROCID.txt $CMD_PREFIX"
fi
# NSYS profiler
if [ "$NSYS_PROFILER" = true ]; then
    NSYS_LAUNCHER="nsys profile -s none --trace='nvtx,cudnn,cublas,cuda' --capture-range=cudaProfilerApi"
    TRAINING_CMD="$NSYS_LAUNCHER $TRAINING_CMD --profile"
fi

# Checkpoint Compute Environment
srun -l bash -c 'echo $(hostname) $(nvidia-smi | grep -o "|\\s*[0-9]*MiB")' > gpu-state.txt

if [ "$AUTO_JOB_REQUEUE" = true ]; then
	sbatch --dependency=singleton "$0"
fi

srun -lu --mpi=pmix --network=disable_rdzv_get --cpus-per-task $SLURM_CPUS_PER_TASK --wait 60 bash -c "
  RANK=\$SLURM_PROCID LOCAL_RANK=\$SLURM_LOCALID WORLD_SIZE=\$SLURM_NTASKS MASTER_ADDR=$MASTER_ADDR MASTER_PORT=$MASTER_PORT $CMD_PREFIX $TRAINING_CMD
"

echo "END TIME: $(date)"
if [ -f $LOGGING_DIR/triggers/exit ]; then
   echo "Found exit trigger in $LOGGING_DIR, cancelling the queued job"
   scancel --jobname $SLURM_JOB_NAME
fi
