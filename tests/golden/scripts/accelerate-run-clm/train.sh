#!/bin/bash
#SBATCH --job-name=clm
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
#SBATCH --cpus-per-task=96
#SBATCH -o %x-%j.out

export GPUS_PER_NODE=8
head_node_ip=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)

cat > fsdp.yaml <<EOT
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_state_dict_type: SHARDED_STATE_DICT
num_machines: $SLURM_NNODES
num_processes: $((SLURM_NNODES * GPUS_PER_NODE))
EOT

export LAUNCHER="accelerate launch \
    --config_file fsdp.yaml \
    --num_processes $((SLURM_NNODES * GPUS_PER_NODE)) \
    --num_machines $SLURM_NNODES \
    --rdzv_backend c10d \
    --main_process_ip $head_node_ip \
    --main_process_port 29500 \
    --machine_rank \$SLURM_PROCID \
    "
export SCRIPT="examples/pytorch/language-modeling/run_clm.py"
export SCRIPT_ARGS=" \
    --model_name_or_path mistralai/Mistral-7B-v0.1 \
    --dataset_name wikitext --dataset_config_name wikitext-103-raw-v1 \
    --block_size 4096 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 4 \
    --gradient_checkpointing \
    --bf16 --do_train --num_train_epochs 1 \
    --learning_rate 1e-5 \
    --output_dir out/$(date +%s) \
    "

# This step is necessary because accelerate launch does not handle multiline arguments properly
export CMD="$LAUNCHER $SCRIPT $SCRIPT_ARGS"
srun bash -c "$CMD"
