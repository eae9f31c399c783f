#!/bin/bash
cat > hosts <<E
node1 slots=8
node2 slots=8
E
mpirun --hostfile hosts -x NCCL_DEBUG=INFO -bind-to none python pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 64 --bf16 --vocab-size 50304 --tokenizer-type NullTokenizer
