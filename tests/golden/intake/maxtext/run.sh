#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=1
export XLA_FLAGS="--xla_gpu_enable_latency_hiding_scheduler=true"
srun python3 -m MaxText.train MaxText/configs/base.yml run_name=$SLURM_JOB_NAME hardware=gpu model_name=llama3-8b \
  per_device_batch_size=2 max_target_length=8192 dcn_fsdp_parallelism=4 ici_fsdp_parallelism=8 remat_policy=full attention=cudnn_flash_te quantization=fp8 dataset_type=synthetic
