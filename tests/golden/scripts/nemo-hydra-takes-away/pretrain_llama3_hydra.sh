#!/bin/bash
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
srun --container-image=nvcr.io/nvidia/nemo:24.07 python -u /opt/NeMo/examples/nlp/language_modeling/megatron_gpt_pretraining.py \
  --config-path=/cfg --config-name=llama3_8b.yaml \
  trainer.num_nodes=8 trainer.devices=8 \
  model.tensor_model_parallel_size=2 +model.context_parallel_size=2 \
  model.micro_batch_size=1 model.global_batch_size=256 \
  'model.data.data_prefix=[1.0,/data/my_text_document]' \
  ++model.fp8=true ++model.fp8_hybrid=true exp_manager.explicit_log_dir=/results ~model.optim.bucket_cap_mb
