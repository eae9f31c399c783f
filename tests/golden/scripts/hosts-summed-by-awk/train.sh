#!/bin/bash
cat > hostfile <<HOSTS
node-01 slots=8
node-02 slots=8
spare-01 slots=4
HOSTS
TOTAL=$(awk -F= '{s+=$2} END {print s}' hostfile)
FULL=$(grep -c node hostfile)
NODES=$(awk -F= '/node/ { n += $2; } END { print n }' hostfile)
torchrun --nnodes $FULL --nproc_per_node $((NODES / FULL)) pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --tokenizer-type NullTokenizer --bf16 \
  --micro-batch-size 1 --global-batch-size $((TOTAL - 4 + NODES))
