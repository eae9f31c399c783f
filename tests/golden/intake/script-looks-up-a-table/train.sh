#!/usr/bin/env bash
# model table: name layers hidden heads kv ffn
read -r -d '' TABLE <<'EOF' || true
1b 16 2048 32 8 8192
8b 32 4096 32 8 14336
70b 80 8192 64 8 28672
EOF
SIZE=${1:-8b}
row=$(echo "$TABLE" | awk -v s="$SIZE" '$1 == s {print $0}')
set -- $row
NODES=4
torchrun --nnodes=$NODES --nproc-per-node=8 pretrain_gpt.py --num-layers $2 --hidden-size $3 --num-attention-heads $4 --group-query-attention --num-query-groups $5 \
 --ffn-hidden-size $6 --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights \
 --seq-length 8192 --max-position-embeddings 8192 --tensor-model-parallel-size 4 --sequence-parallel --pipeline-model-parallel-size 1 --micro-batch-size 1 --global-batch-size 128 --bf16 --vocab-size 128256
