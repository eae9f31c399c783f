#!/bin/bash
export NNODES=2
export EXP=mixtral_8x7B_v0.1-pretrain.yaml
bash ./examples/run_slurm_pretrain.sh --micro_batch_size 2 --global_batch_size 512
