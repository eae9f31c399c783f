#!/bin/bash
# Sizes of a Hugging Face model and of a file of our own.
HERE=$(dirname "$0")
read -r L H A < <(jq -r '[.num_hidden_layers, .hidden_size, .num_attention_heads] | @tsv' "$HERE/config.json")
V=$(cat config.json | jq .vocab_size)
cfg() { yq -r "$1" "$HERE/job.yaml"; }
TP=$(cfg "${KEY:-.parallel.tp}")
torchrun --nnodes $(cfg '.nodes // 2') --nproc-per-node 8 pretrain_gpt.py --num-layers $L --hidden-size $H \
  --num-attention-heads $A --vocab-size $V --tokenizer-type NullTokenizer --tensor-model-parallel-size $TP \
  --seq-length $(cfg .train.seq) --max-position-embeddings $(cfg .train.seq) --micro-batch-size 1 \
  --global-batch-size $(cfg '.train["global-batch"]') --$(cfg .train.precision)
