#!/bin/bash
# Runs Mixtral 8x22B model on 16 H100 nodes
set -euo pipefail
NUM_NODES="${NUM_NODES:-16}"
: "${GPUS_PER_NODE:=8}"
NNODES=$NUM_NODES
declare -A CFG=( [tp]=2 [pp]=8 [ep]=8 [mbs]=1 [gbs]=256 [seq]=65536 [cp]=1 )
CFG[seq]=8192
while [[ $# -gt 0 ]]; do
  case $1 in
    --cp) CFG[cp]=$2; shift 2 ;;
    --gbs=*) CFG[gbs]="${1#*=}"; shift ;;
    *) break ;;
  esac
done
MODEL_ARGS=(
    --use-mcore-models --disable-bias-linear
    --seq-length "${CFG[seq]}" --max-position-embeddings 65536
    --num-layers 56 --hidden-size 6144 --ffn-hidden-size 16384
    --num-attention-heads 48 --init-method-std 0.01
    --attention-dropout 0.0 --hidden-dropout 0.0
    --normalization RMSNorm --position-embedding-type rope --swiglu
    --untie-embeddings-and-output-weights
    --group-query-attention --num-query-groups 8
    --no-masked-softmax-fusion --no-position-embedding --rotary-base 1000000
)
MOE_ARGS="--num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce"
if (( CFG[tp] > 1 )); then SP="--sequence-parallel"; else SP=""; fi
torchrun --nproc_per_node=$GPUS_PER_NODE --nnodes=$NNODES --node_rank=${NODE_RANK:-0} pretrain_gpt.py \
  "${MODEL_ARGS[@]}" $MOE_ARGS \
  --tokenizer-type Llama2Tokenizer --tokenizer-model /workspace/tokenizer.model --mock-data \
  --micro-batch-size ${CFG[mbs]} --global-batch-size ${CFG[gbs]} --train-iters 500000 --bf16 \
  --tensor-model-parallel-size ${CFG[tp]} --pipeline-model-parallel-size ${CFG[pp]} --num-layers-per-virtual-pipeline-stage 1 \
  --expert-model-parallel-size ${CFG[ep]} --context-parallel-size ${CFG[cp]} --use-distributed-optimizer $SP
