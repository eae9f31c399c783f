#!/bin/bash
start-everywhere gpt --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --tokenizer-type NullTokenizer --bf16 --micro-batch-size 1 --global-batch-size 64
