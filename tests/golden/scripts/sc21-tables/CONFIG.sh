#!/bin/bash
DATA_PATH=/data/x

export CUDA_DEVICE_MAX_CONNECTIONS=1
export NTASKS_PER_NODE=8
TOKENIZER="--tokenizer-type GPT2BPETokenizer --vocab-file vocab.json --merge-file merges.txt"
export options="--tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} ${INTERLEAVE} --num-layers ${NLS} --hidden-size ${HS} --num-attention-heads ${NAH} --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size ${MBS} --global-batch-size ${GBS} --train-iters 20 ${TOKENIZER} --data-path $DATA_PATH --fp16 ${MEGATRON_EXTRA_PARAMS}"
