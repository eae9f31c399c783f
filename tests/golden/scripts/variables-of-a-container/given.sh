#!/bin/bash
export TP=4
export MBS=2
GPUS=8
docker run --gpus all -e MBS -e SEQ=2048 -v $PWD:/w nvcr.io/nvidia/pytorch:25.04-py3 bash -c 'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length $SEQ --max-position-embeddings 4096 --micro-batch-size $MBS --global-batch-size 64 --tensor-model-parallel-size ${TP:-1} --bf16 --vocab-size 32000'
