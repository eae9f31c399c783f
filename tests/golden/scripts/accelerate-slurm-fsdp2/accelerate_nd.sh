#!/bin/bash
#SBATCH -N 2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=1
export GPUS_PER_NODE=8
export LAUNCHER="accelerate launch \
    --num_processes $((SLURM_NNODES * GPUS_PER_NODE)) \
    --num_machines $SLURM_NNODES \
    --rdzv_backend c10d \
    --main_process_ip $(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1) \
    --main_process_port 29500 \
    --mixed_precision bf16 \
    --use_fsdp --fsdp_version 2 --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP --fsdp_reshard_after_forward true \
    --fsdp_activation_checkpointing true \
    "
export SCRIPT="run_clm_no_trainer.py"
export SCRIPT_ARGS=" \
    --model_name_or_path mistralai/Mistral-7B-v0.3 \
    --dataset_name wikitext --dataset_config_name wikitext-2-raw-v1 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 4 \
    --block_size 8192 \
    --output_dir ./out \
    "
export CMD="$LAUNCHER $SCRIPT $SCRIPT_ARGS"
srun $CMD
