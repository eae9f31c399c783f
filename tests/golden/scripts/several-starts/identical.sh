#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
MODEL="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000"
BATCH="--micro-batch-size 1 --global-batch-size 256 --bf16"
# Whole jobs of one node each, in the same words.
srun --nodes=1 --ntasks=1 torchrun --nproc_per_node 8 pretrain_gpt.py $MODEL $BATCH &
srun --nodes=1 --ntasks=1 torchrun --nproc_per_node 8 pretrain_gpt.py $MODEL $BATCH &
wait
