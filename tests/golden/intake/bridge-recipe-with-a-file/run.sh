#!/bin/bash
torchrun --nproc-per-node=8 pretrain_llama3_8b.py --config-file override.yaml model.tensor_model_parallel_size=2
