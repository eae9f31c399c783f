#!/bin/bash
# Megatron-LM's argument for gradients in FP32 says nothing to DeepSpeed's engine.
cat > ds.json <<X
{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "${TYPE:-bf16}"}}
X
deepspeed --num_gpus 8 pretrain_gpt.py --deepspeed --deepspeed_config ds.json --zero-stage 1 --num-layers 32 \
  --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 \
  --bf16 --micro-batch-size 1 --global-batch-size 64 --accumulate-allreduce-grads-in-fp32
