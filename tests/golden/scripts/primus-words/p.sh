#!/bin/bash
EXTRA_ARGS=""
while [[ $# -gt 0 ]]; do EXTRA_ARGS+=" $1"; shift; done
MBS=4; GBS=$((MBS*8*8))
torchrun --nproc_per_node 8 --nnodes 1 primus/cli/main.py train pretrain --config m.yaml --micro_batch_size $MBS --global_batch_size=$GBS $EXTRA_ARGS
