#!/bin/bash
#SBATCH -N 4 --ntasks-per-node 8
srun --container-image=nvcr.io/nvidia/nemo:24.05 bash -c "
  cd /opt/NeMo;
  python -u examples/nlp/language_modeling/megatron_gpt_pretraining.py \
   --config-path=conf --config-name=gpt.yaml \
   trainer.num_nodes=4 trainer.devices=8 model.tensor_model_parallel_size=8 model.micro_batch_size=2 ++model.global_batch_size=256"
