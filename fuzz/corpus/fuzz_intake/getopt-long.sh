#!/usr/bin/env bash
set -euo pipefail

usage() { echo "usage: $0 --model NAME [--nodes N] [--tp N] [--pp N] [--ep N] [--recompute]" >&2; exit 1; }

MODEL=""; NODES=1; TP=1; PP=2; EP=1; RECOMPUTE=0
OPTS=$(getopt -o hm:n: --long help,model:,nodes:,tp:,pp:,ep:,recompute -n "$(basename "$0")" -- "$@") || usage
eval set -- "$OPTS"
while [[ $# -gt 0 ]]; do
  case $1 in
    -h|--help) usage ;;
    -m|--model) MODEL=$2; shift 2 ;;
    -n|--nodes) NODES=$2; shift 2 ;;
    --tp) TP=$2; shift 2 ;;
    --pp) PP=$2; shift 2 ;;
    --ep) EP=$2; shift 2 ;;
    --recompute) RECOMPUTE=1; shift ;;
    --) shift; break ;;
    *) usage ;;
  esac
done
[ -n "$MODEL" ] || usage

case "${MODEL,,}" in
  mixtral-8x7b)
    SHAPE="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --num-query-groups 8"
    EXPERTS=8 ;;
  mixtral-8x22b)
    SHAPE="--num-layers 56 --hidden-size 6144 --ffn-hidden-size 16384 --num-attention-heads 48 --num-query-groups 8"
    EXPERTS=8 ;;
  *) echo "unknown model $MODEL"; exit 1 ;;
esac

MOE="--num-experts $EXPERTS --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce"
COMMON="--group-query-attention --disable-bias-linear --normalization RMSNorm --position-embedding-type rope --swiglu --untie-embeddings-and-output-weights --no-masked-softmax-fusion --no-position-embedding --rotary-base 1000000 --seq-length 4096 --max-position-embeddings 32768 --use-flash-attn"
(( RECOMPUTE )) && COMMON+=" --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
PAR="--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --expert-model-parallel-size $EP --use-distributed-optimizer"
(( TP > 1 )) && PAR="$PAR --sequence-parallel"

torchrun --nproc_per_node 8 --nnodes "$NODES" --node_rank "${NODE_RANK:-0}" --master_addr "${MASTER_ADDR:-localhost}" --master_port 6000 \
  pretrain_gpt.py $SHAPE $MOE $COMMON $PAR \
  --tokenizer-type Llama2Tokenizer --tokenizer-model /data/mixtral/tokenizer.model --mock-data \
  --micro-batch-size 1 --global-batch-size 256 --lr 1e-4 --train-iters 500000 --bf16
