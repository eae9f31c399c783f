#!/bin/bash
#SBATCH -A stf218
#SBATCH -J forge-22b
#SBATCH -o logs/%x-%j.out
#SBATCH -t 02:00:00
#SBATCH -p batch
#SBATCH -N 32
#SBATCH -q debug

module load PrgEnv-gnu
module load rocm/5.4.0
source /ccs/home/someone/miniconda3/etc/profile.d/conda.sh
conda activate megatron

export MIOPEN_USER_DB_PATH="/tmp/my-miopen-cache-${SLURM_JOB_ID}"
rm -rf ${MIOPEN_USER_DB_PATH}
mkdir -p ${MIOPEN_USER_DB_PATH}
export NCCL_SOCKET_IFNAME=hsn0
export HOSTNAMES=`scontrol show hostnames "$SLURM_JOB_NODELIST"`
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=3442

## every MI250X is two devices: eight a node
DEV_PER_NODE=8
NGPUS=$(( SLURM_JOB_NUM_NODES * DEV_PER_NODE ))

TP=2; PP=8
let DP=NGPUS/TP/PP
MBS=1
let "GBS = DP * MBS * 32"

MODEL=${MODEL:-forge-22b}
declare -A LAYERS=( [forge-1b]=24 [forge-13b]=40 [forge-22b]=48 )
declare -A HIDDEN=( [forge-1b]=2064 [forge-13b]=5120 [forge-22b]=6144 )
declare -A HEADS=( [forge-1b]=24 [forge-13b]=40 [forge-22b]=48 )

if [ -z "${LAYERS[$MODEL]}" ]; then
    echo "unknown model $MODEL"
    exit 1
fi

mkdir -p configs
cat <<EOT > configs/ds_config.json
{
  "train_batch_size": $GBS,
  "train_micro_batch_size_per_gpu": $MBS,
  "zero_optimization": { "stage": 1 },
  "fp16": { "enabled": true, "loss_scale": 0 }
}
EOT

srun -N $SLURM_JOB_NUM_NODES -n $NGPUS -c7 --ntasks-per-gpu=1 --gpus-per-node=8 --gpu-bind=closest \
  python -u pretrain_gpt_deepspeed.py \
    --num-layers ${LAYERS[$MODEL]} --hidden-size ${HIDDEN[$MODEL]} --num-attention-heads ${HEADS[$MODEL]} \
    --seq-length 2048 --max-position-embeddings 2048 \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \
    --micro-batch-size $MBS --global-batch-size $GBS \
    --deepspeed --deepspeed_config configs/ds_config.json --zero-stage 1 \
    --checkpoint-activations --deepspeed-activation-checkpointing \
    --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --data-path data/forge_text_document \
    --make-vocab-size-divisible-by 52096 \
    --fp16 --use-flash-attn --lr 1.2e-4 --train-iters 20000 --distributed-backend nccl
