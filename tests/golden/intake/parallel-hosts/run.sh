#!/bin/bash
HOSTS=(n1 n2 n3 n4)
GBS=$(echo "scale=0; 1048576/2048" | bc)
ARGS="--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 \
  --vocab-size 32000 --tokenizer-type NullTokenizer --bf16 --micro-batch-size 1 --global-batch-size $GBS"
parallel --jobs 0 --tag ssh {1} "cd $PWD; torchrun --nnodes ${#HOSTS[@]} --nproc_per_node 8 --node_rank {#} \
  --master_addr ${HOSTS[0]} pretrain_gpt.py $ARGS --tensor-model-parallel-size 2" ::: "${HOSTS[@]}"
