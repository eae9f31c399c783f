#!/bin/bash
export OMP_NUM_THREADS=8
colossalai run --nproc_per_node 8 --host 10.1.1.1,10.1.1.2 --master_addr 10.1.1.1 train.py \
  --pretrained meta-llama/Llama-2-70b-hf --dataset data/a data/b --plugin 3d --tp 4 --pp 2 --zero_stage 1 --microbatch_size 1 \
  --batch_size 16 --max_length 4096 --mixed_precision bf16 --lr 2e-5 --use_grad_checkpoint --use_flash_attn --save_dir /out/$(date +%s)
