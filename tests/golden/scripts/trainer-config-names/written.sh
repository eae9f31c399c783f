#!/bin/bash
cat > fsdp2.json <<X
{"activation_checkpointing": true}
X
cat > job.yaml <<X
NAME:
  value: 1
X
env PRECISION=bf16 bash -c 'torchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2-xl --block_size 1024 \
  --per_device_train_batch_size 4 --$PRECISION --fsdp full_shard --fsdp_config ./fsdp2.json'
