#!/bin/bash
fetch() {
  if [ -d "$1" ]; then
    return 0
  fi
  mkdir -p runs
  FETCHED=1
}
restore() {
  [[ -f /no/such/checkpoint ]] || return 1
  LOAD="--load /no/such/checkpoint"
}
fetch /no/such/data
restore || echo "from the start"
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --tokenizer-type NullTokenizer --bf16 $LOAD \
  --tensor-model-parallel-size 2 --micro-batch-size 2 --global-batch-size 32
