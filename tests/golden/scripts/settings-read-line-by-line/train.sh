#!/bin/bash
while IFS='=' read -r key value; do
  [[ $key =~ ^# ]] && continue
  case $key in *.*) continue;; esac
  declare -x "$key=$value"
done <<'EOF'
# parallelism
TP=8
PP=2
EP=4
MBS=1
GBS=512
EOF
torchrun --nnodes 16 --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --max-position-embeddings 8192 --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 128000 --tokenizer-type NullTokenizer --mock-data --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --expert-model-parallel-size ${EP} --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} --micro-batch-size ${MBS} --global-batch-size ${GBS} --seq-length 4096 --bf16 --sequence-parallel 2>&1 | tee log.txt
