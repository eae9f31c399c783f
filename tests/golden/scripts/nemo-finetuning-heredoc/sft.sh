#!/bin/bash
#SBATCH -A general
#SBATCH -p batch
#SBATCH -N 4
#SBATCH -t 4:00:00
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --exclusive

MODEL=/models/llama2-70b.nemo
TRAIN="[/data/train.jsonl]"
VALID="[/data/validation.jsonl]"
SCHEME="lora"
TP_SIZE=8
PP_SIZE=2

read -r -d '' cmd <<XYZ
echo "*******STARTING********" \
&& export PYTHONPATH="/opt/NeMo:\${PYTHONPATH}" \
&& cd /opt/NeMo \
&& python examples/nlp/language_modeling/tuning/megatron_gpt_finetuning.py \
   --config-path=/results/conf --config-name=megatron_gpt_finetuning_config \
   trainer.devices=8 \
   trainer.num_nodes=${SLURM_JOB_NUM_NODES} \
   trainer.precision=bf16 \
   trainer.val_check_interval=20 \
   trainer.max_steps=50 \
   model.megatron_amp_O2=True \
   ++model.mcore_gpt=True \
   model.tensor_model_parallel_size=${TP_SIZE} \
   model.pipeline_model_parallel_size=${PP_SIZE} \
   model.sequence_parallel=True \
   model.micro_batch_size=1 \
   model.global_batch_size=128 \
   model.restore_from_path=${MODEL} \
   model.data.train_ds.max_seq_length=4096 \
   model.data.train_ds.file_names=${TRAIN} \
   model.data.validation_ds.file_names=${VALID} \
   model.activations_checkpoint_granularity=full \
   model.activations_checkpoint_method=uniform \
   model.activations_checkpoint_num_layers=1 \
   model.peft.peft_scheme=${SCHEME}
XYZ
srun --container-image="nvcr.io/nvidia/nemo:24.05" --container-mounts=/lustre:/lustre bash -c "${cmd}"
