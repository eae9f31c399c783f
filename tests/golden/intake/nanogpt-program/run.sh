#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:8
srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_endpoint=$HOST:29500 train.py config/train_gpt2.py --batch_size=16 --gradient_accumulation_steps=32 --wandb_run_name=$SLURM_JOB_ID
