#!/bin/bash
#SBATCH -A acct -p luna -N 16 -t 04:00:00 --ntasks-per-node=8 --gpus-per-node=8 --exclusive
read -r -d '' cmd <<EOF
echo "*******STARTING********" \
&& cd /opt/NeMo && git rev-parse HEAD \
&& export PYTHONPATH="/opt/NeMo/.:${PYTHONPATH}" \
&& CUDA_DEVICE_MAX_CONNECTIONS=1 python -u /opt/NeMo/examples/nlp/language_modeling/megatron_gpt_pretraining.py \
   --config-path=/conf --config-name=gpt_5b \
   trainer.num_nodes=16 trainer.devices=8 trainer.precision=bf16 \
   model.micro_batch_size=2 model.global_batch_size=2048 \
   model.tensor_model_parallel_size=2 model.sequence_parallel=True \
   model.data.data_impl=mock
EOF
srun -o slurm-%j.out --container-image=nvcr.io/nvidia/nemo:24.01 --container-mounts=$PWD/conf:/conf bash -c "${cmd}"
