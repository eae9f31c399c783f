#!/bin/bash
# Llama 3 8B SFT on 2 nodes with ZeRO-3 via trl CLI script
#SBATCH --nodes=2
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
set -x -e
MODEL=${MODEL:-meta-llama/Meta-Llama-3-8B}
ACCELERATOR=deepspeed_zero3
OPTIONAL_ARGS=("--packing" "--bf16" "True")
while (( "$#" )); do
  case "$1" in
    --model) MODEL="$2"; shift 2 ;;
    --accelerator=*) ACCELERATOR="${1#*=}"; shift ;;
    --) shift; OPTIONAL_ARGS+=("$@"); break ;;
    *) echo "?" ; exit 1 ;;
  esac
done
GRAD_ACC_STEPS=$(grep 'gradient_accumulation_steps' recipes/config.yaml | awk '{print $2}')
WORLD_SIZE=$(($SLURM_NNODES * 4))
export CMD="sft.py --model_name_or_path $MODEL --dataset_name trl-lib/Capybara --max_length 4096 --per_device_train_batch_size 2 \
  --gradient_accumulation_steps $GRAD_ACC_STEPS --gradient_checkpointing --attn_implementation flash_attention_2 ${OPTIONAL_ARGS[@]} --output_dir out/$(basename $MODEL)"
export LAUNCHER="HF_HUB_ENABLE_HF_TRANSFER=1 ACCELERATE_LOG_LEVEL=info accelerate launch \
    --config_file recipes/$ACCELERATOR.yaml \
    --num_machines $SLURM_NNODES \
    --num_processes $WORLD_SIZE \
    --main_process_ip $(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1) \
    --machine_rank \$SLURM_PROCID \
    --rdzv_backend=c10d \
    --max_restarts 1 --tee 3 \
    "
clear
srun --wait=60 --kill-on-bad-exit=1 bash -c "$LAUNCHER --role \$SLURMD_NODENAME: $CMD" 2>&1 | tee -a logs/main.log
