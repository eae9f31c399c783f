#!/bin/bash
# usage: train.sh -m 13b -t 2 -p 4
TEMP=$(getopt -o m:t:p: --long model:,tp:,pp: -- "$@")
eval set -- "$TEMP"
while true; do
  case "$1" in
    -m|--model) MODEL=$2; shift 2 ;;
    -t|--tp) TP=$2; shift 2 ;;
    -p|--pp) PP=$2; shift 2 ;;
    --) shift; break ;;
  esac
done
declare -A LAYERS=([7b]=32 [13b]=40) HIDDEN=([7b]=4096 [13b]=5120) HEADS=([7b]=32 [13b]=40)
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers ${LAYERS[$MODEL]} --hidden-size ${HIDDEN[$MODEL]} --num-attention-heads ${HEADS[$MODEL]} \
  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 512 \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --fp16 --vocab-size 50304 --tokenizer-type NullTokenizer
