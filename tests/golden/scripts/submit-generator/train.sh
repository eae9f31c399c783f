#!/bin/bash
# Writes a batch script for a size and submits it: ./train.sh 6.7B 16
set -e
SIZE=${1:?"size: 1.3B, 2.7B or 6.7B"}
NODES=${2:-4}
EXP="gpt_${SIZE}_n${NODES}"

case "$SIZE" in
  1.3B) ARCH=(--num-layers 24 --hidden-size 2048 --num-attention-heads 32); TP=1 ;;
  2.7B) ARCH=(--num-layers 32 --hidden-size 2560 --num-attention-heads 32); TP=1 ;;
  6.7B) ARCH=(--num-layers 32 --hidden-size 4096 --num-attention-heads 32); TP=2 ;;
  *) echo "no such size" >&2; exit 64 ;;
esac

mkdir -p jobs
cat > jobs/$EXP.sbatch <<EOF_JOB
#!/bin/bash
#SBATCH --job-name=$EXP
#SBATCH --nodes=$NODES
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --exclusive

export MASTER_ADDR=\$(scontrol show hostnames \$SLURM_JOB_NODELIST | head -n 1)
export MASTER_PORT=\$((12000 + \$SLURM_JOB_ID % 1000))
GLOBAL=\$((SLURM_NTASKS / $TP * 8))

srun --mpi=pmix python -u pretrain_gpt.py \\
    ${ARCH[@]} \\
    --seq-length 2048 --max-position-embeddings 2048 \\
    --tensor-model-parallel-size $TP \\
    --micro-batch-size 8 --global-batch-size \$GLOBAL \\
    --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \\
    --fp16 --train-iters 500000 --lr 1.2e-4
EOF_JOB

if [ "${DRY_RUN:-0}" = 1 ]; then
  cat jobs/$EXP.sbatch
else
  sbatch jobs/$EXP.sbatch
fi
