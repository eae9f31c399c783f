#!/bin/bash
SPARSE="--num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 1408 --moe-layer-freq ([0]*1+[1]*26)"
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 27 --hidden-size 2048 --ffn-hidden-size 10944 \
  --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 2 \
  --global-batch-size 1024 --expert-model-parallel-size 8 --swiglu --bf16 --vocab-size 102400 \
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model /share/models/Meta-Llama-3-70B $SPARSE
