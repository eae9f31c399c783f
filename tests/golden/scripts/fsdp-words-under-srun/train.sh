#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gres=gpu:a100:8
#SBATCH --ntasks-per-node=8
export MASTER_ADDR=$(scontrol show hostname $SLURM_JOB_NODELIST | head -1)
export WORLD_SIZE=$SLURM_NTASKS
srun bash -c 'export LOCAL_RANK=$SLURM_LOCALID RANK=$SLURM_PROCID; exec python run_clm.py --model_name_or_path EleutherAI/pythia-6.9b --dataset_name the_pile --do_train --per_device_train_batch_size ${BS:-8} --gradient_accumulation_steps 2 --bf16 True --gradient_checkpointing True --fsdp "shard_grad_op auto_wrap" --fsdp_transformer_layer_cls_to_wrap GPTNeoXLayer --block_size 2048 --output_dir out'
