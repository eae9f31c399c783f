#!/usr/bin/env bash
#SBATCH --job-name=opengptx-24EU
#SBATCH --account=opengptx-elm
#SBATCH --partition=booster
#SBATCH --nodes=32
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:4 --cpus-per-task=48
#SBATCH --threads-per-core=1
#SBATCH --time=24:00:00
set -u

export CUDA_VISIBLE_DEVICES=0,1,2,3
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-48}"
GPUS_PER_NODE=4
NNODES="${SLURM_JOB_NUM_NODES}"

# Enable logging
# Expand path for the scratch of the project
DATA=/p/scratch/opengptx-elm/data
MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"
# Allow communication over InfiniBand cells.
MASTER_ADDR="${MASTER_ADDR}i"
# Get IP for hostname.
MASTER_ADDR="$(nslookup "$MASTER_ADDR" | grep -oP '(?<=Address: ).*')"
export MASTER_ADDR
export MASTER_PORT=6000

declare -A MODELS
MODELS[1.1B]="--num-layers 24 --hidden-size 2048 --num-attention-heads 16"
MODELS[2.6B]="--num-layers 32 --hidden-size 2560 --num-attention-heads 32"
MODELS[7B]="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 --swiglu"
SIZE=${SIZE:-2.6B}

NUM_GPUS=$((NNODES * GPUS_PER_NODE))
TP_SIZE=2
PP_SIZE=2
DP_SIZE=$((NUM_GPUS / (TP_SIZE * PP_SIZE)))
MICRO_BATCH_SIZE=4
GAS=4
GLOBAL_BATCH_SIZE=$((MICRO_BATCH_SIZE * DP_SIZE * GAS))

# Options that differ between runs, from a table of words
OPTIONS=()
for option in bf16 use-distributed-optimizer sequence-parallel use-flash-attn no-query-key-layer-scaling; do
    OPTIONS+=("--${option}")
done
for pair in lr=3e-4 min-lr=3e-5 clip-grad=1.0 weight-decay=1e-1; do
    OPTIONS+=("--${pair%%=*}" "${pair##*=}")
done

read -r -d '' CMD <<EOC || true
pretrain_gpt.py
    --tensor-model-parallel-size $TP_SIZE
    --pipeline-model-parallel-size $PP_SIZE
    ${MODELS[$SIZE]}
    --seq-length 2048
    --max-position-embeddings 2048
    --micro-batch-size $MICRO_BATCH_SIZE
    --global-batch-size $GLOBAL_BATCH_SIZE
    --position-embedding-type rotary
    --tokenizer-type NullTokenizer --vocab-size 50304
    --train-samples 24414063
    --data-path $DATA/oscar_text_document
    ${OPTIONS[*]}
EOC

LAUNCHER="python -u -m torch.distributed.run \
    --nproc_per_node $GPUS_PER_NODE \
    --nnodes $NNODES \
    --rdzv_id $SLURM_JOBID \
    --rdzv_endpoint $MASTER_ADDR:$MASTER_PORT \
    --rdzv_backend c10d \
    --max_restarts 0 \
    --tee 3"

srun --cpu_bind=v --mpi=none env -u SLURM_NTASKS bash -c "$LAUNCHER $(echo $CMD)"
