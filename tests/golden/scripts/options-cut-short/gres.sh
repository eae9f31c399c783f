#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=nvme:100,gpu:4
srun torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64
