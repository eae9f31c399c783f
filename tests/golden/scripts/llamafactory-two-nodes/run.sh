#!/bin/bash
# node 0 of 2
FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDR=192.168.0.1 MASTER_PORT=29500 \
  llamafactory-cli train llama3_full_sft.yaml learning_rate=1e-5 per_device_train_batch_size=2 cutoff_len=4096
