#!/bin/bash
# The cluster's own file sets NNODES, GPUS_PER_NODE, TP and PP.
source /cluster/llm/site_defaults.sh

LAYERS=40
GPU_ARGS="--nnodes $NNODES --nproc_per_node $GPUS_PER_NODE --master_addr $HEAD_NODE"
ARGS="--num-layers $LAYERS --hidden-size 5120 --num-attention-heads 40 \
      --seq-length 4096 --max-position-embeddings 4096 \
      --micro-batch-size 1 --global-batch-size ${GBS:-512} \
      --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} \
      --bf16 --tokenizer-type Llama2Tokenizer --tokenizer-model $TOKENIZER"

torchrun $GPU_ARGS pretrain_gpt.py $ARGS
