#!/bin/bash
cd /workspace/llm-foundry/scripts
composer -n 8 --world_size 16 --node_rank 0 --master_addr 10.0.0.1 --master_port 7501 \
  train/train.py mpt-7b.yaml \
  variables.data_local=/my-copy-c4 \
  train_loader.dataset.split=train_small \
  eval_loader.dataset.split=val_small \
  max_duration=10ba eval_interval=0 \
  global_train_batch_size=512 device_train_microbatch_size=8 \
  fsdp_config.activation_checkpointing=true
