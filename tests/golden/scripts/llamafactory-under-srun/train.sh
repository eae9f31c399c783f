#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
export NNODES=$SLURM_NNODES
srun bash -c 'FORCE_TORCHRUN=1 NODE_RANK=$SLURM_NODEID llamafactory-cli train sft.yaml per_device_train_batch_size=4 cutoff_len=1024'
# alone: NNODES=2 NPROC_PER_NODE=4 llamafactory-cli train sft.yaml per_device_train_batch_size=8
