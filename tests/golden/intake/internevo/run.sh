#!/bin/bash
#SBATCH -N 8
#SBATCH --gres=gpu:8
export CUDA_DEVICE_MAX_CONNECTIONS=1
srun --ntasks-per-node=1 torchrun --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py --config configs/20B_sft.py --launcher torch --backend nccl
