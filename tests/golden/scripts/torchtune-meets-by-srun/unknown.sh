#!/bin/bash
BATCH=$(python batch.py)
tune run --nnodes 2 --nproc_per_node 8 full_finetune_distributed --config c.yaml batch_size=$BATCH
