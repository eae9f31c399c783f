#!/bin/bash
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
WORLD_SIZE=$(($SLURM_NNODES * 8))
srun accelerate launch --config_file zero3.yaml --num_processes $WORLD_SIZE run_sft.py \
  --model_name_or_path mistralai/Mistral-7B-v0.1 --per_device_train_batch_size 4 --max_seq_length 2048 --bf16
