#!/bin/bash
#SBATCH -C gpu&hbm80g
#SBATCH --account=m1234_g
#SBATCH -q regular
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=32
#SBATCH --gpus-per-node=4
#SBATCH --time=04:00:00
#SBATCH --image=nersc/pytorch:ngc-24.06-v0
#SBATCH --module=gpu,nccl-plugin
#SBATCH -J gpt-perlmutter

size=${1:-medium}
here=$(dirname "$0")
source $here/model.sh
gpt_size "$size" || exit 1

export FI_MR_CACHE_MONITOR=userfaultfd
export HDF5_USE_FILE_LOCKING=FALSE
export MASTER_ADDR=$(hostname)

tp=${TP:-1}
args="--num-layers $layers --hidden-size $dim --num-attention-heads $heads"
args="$args --seq-length ${SEQ:=2048} --max-position-embeddings $SEQ"
args+=" --tensor-model-parallel-size $tp --pipeline-model-parallel-size 1"
args+=" --micro-batch-size $batch_per_gpu --global-batch-size $(expr $SLURM_NTASKS / $tp \* $batch_per_gpu \* $accumulate)"
args+=" --vocab-file $SCRATCH/gpt2-vocab.json --merge-file $SCRATCH/gpt2-merges.txt --data-path $SCRATCH/openwebtext_text_document"
args+=" --bf16 --train-iters 100000 --lr 3e-4 --use-flash-attn --use-distributed-optimizer"
if [ "$dim" -ge 4096 ]; then
  args+=" --recompute-granularity=full --recompute-method=block --recompute-num-layers=$((layers / 2))"
fi

set -x
srun -l -u shifter \
  bash -c "
  source export_DDP_vars.sh
  python pretrain_gpt.py $args
  "
