#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntask-per-node=8
#SBATCH --cpus-per-task=8
srun python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64
