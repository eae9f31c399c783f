#!/bin/bash
#SBATCH --job-name=scaling-law
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --array=0-3
#SBATCH --output=logs/%A_%a.out

# One size of the ladder a task of the array
LAYERS=(12 16 24 32)
HIDDEN=(768 1024 2048 2560)
HEADS=(12 16 16 32)
BATCH=(256 256 512 512)
i=${SLURM_ARRAY_TASK_ID}

export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1) MASTER_PORT=29500

srun python pretrain_gpt.py \
  --num-layers ${LAYERS[$i]} \
  --hidden-size ${HIDDEN[$i]} \
  --num-attention-heads ${HEADS[$i]} \
  --global-batch-size ${BATCH[$i]} \
  --micro-batch-size 4 \
  --seq-length 2048 --max-position-embeddings 2048 \
  --bf16 --use-distributed-optimizer \
  --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \
  --save ckpt/$SLURM_ARRAY_JOB_ID/$i --lr 6e-4 --train-iters 10000
