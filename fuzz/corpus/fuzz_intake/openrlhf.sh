#!/bin/bash
#SBATCH -N 4
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
set -x
readonly training_script="openrlhf.cli.train_sft"
readonly JOBLOG="$(realpath .)/train_sft-$SLURM_JOB_ID.log"
readonly PROJECT_PATH=$(cd ../../; pwd)
readonly GPUS_PER_NODE="8"
training_commands="${training_script} \
     --max_len 8192 --dataset open-thoughts/OpenThoughts-114k --input_key problem --output_key solution \
     --train_batch_size 128 --micro_train_batch_size 1 --max_samples 500000 --pretrain Qwen/Qwen2.5-32B-Instruct \
     --save_path /ckpt/q32 --zero_stage 3 --max_epochs 1 --bf16 --packing_samples --attn_implementation flash_attention_2 \
     --learning_rate 5e-6 --lora_rank 64 --lora_alpha 64 --target_modules q_proj k_proj v_proj o_proj --gradient_checkpointing"
nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
master=$(echo $nodes | awk '{print $1}')
srun --ntasks=4 --nodes=4 --container-image=openrlhf.sqsh bash -c "cd /openrlhf && torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $SLURM_JOB_NUM_NODES --node_rank \$SLURM_PROCID --master_addr $master --master_port 9901 -m ${training_commands}" &>> ${JOBLOG}
