#!/bin/bash
torchrun --nnodes 8 --nproc-per-node 8 primus/cli/main.py train pretrain --config exp.yaml --bf16 true
