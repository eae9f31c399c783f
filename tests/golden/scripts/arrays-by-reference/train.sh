#!/bin/bash
build_args() {
  local -n out=$1
  local tp=$2 pp=$3
  shift 3
  out+=(--tensor-model-parallel-size "$tp" --pipeline-model-parallel-size "$pp" "$@")
}
launch() {
  local nodes=${1:?nodes}; shift
  torchrun --nnodes="${nodes}" --nproc_per_node="${GPUS_PER_NODE:=8}" pretrain_gpt.py "$@"
}
ARGS=(--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --max-position-embeddings 8192 --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 128000 --tokenizer-type NullTokenizer --mock-data)
build_args ARGS 2 4 --sequence-parallel --num-layers-per-virtual-pipeline-stage 2
mapfile -t EXTRA < <(printf '%s\n' --bf16 --micro-batch-size 1 --global-batch-size 512 --seq-length 8192)
launch 16 "${ARGS[@]}" "${EXTRA[@]}" ${OVERLAP:+--overlap-grad-reduce} --use-distributed-optimizer
