#!/bin/bash
# Continues Llama 2 13B on own text with the Transformers trainer and DeepSpeed.
set -eu
MODEL=${MODEL:-meta-llama/Llama-2-13b-hf}
STAGE=${STAGE:-3}
BS=4
ACC=2
NUM_GPUS=8

cat > ds.json <<EOT
{
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": $STAGE,
    "overlap_comm": true,
    "contiguous_gradients": true,
    "reduce_bucket_size": "auto",
    "stage3_prefetch_bucket_size": "auto"
  },
  "gradient_accumulation_steps": "auto",
  "gradient_clipping": "auto",
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": "auto"
}
EOT

deepspeed --num_gpus=$NUM_GPUS --master_port 29600 run_clm.py \
  --deepspeed ds.json \
  --model_name_or_path "$MODEL" \
  --train_file corpus.txt \
  --block_size 2048 \
  --per_device_train_batch_size $BS \
  --gradient_accumulation_steps $ACC \
  --gradient_checkpointing true \
  --bf16 true --do_train \
  --learning_rate 2e-5 --max_steps 5000 \
  --output_dir "runs/$(basename $MODEL)-z$STAGE"
