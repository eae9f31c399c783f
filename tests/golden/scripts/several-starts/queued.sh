#!/bin/bash
MODEL="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000"
BATCH="--micro-batch-size 1 --global-batch-size 256 --bf16"
# Batches of their own: neither beside nor behind each other on one's nodes.
for seed in 1 2 3; do
  sbatch --nodes=4 --gpus-per-node=8 --wrap "srun --nodes=1 --ntasks=1 torchrun --nproc_per_node 8 pretrain_gpt.py $MODEL $BATCH --seed $seed"
done
