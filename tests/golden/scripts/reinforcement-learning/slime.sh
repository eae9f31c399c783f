#!/bin/bash
pkill -9 sglang
set -ex
export PYTHONBUFFERED=16
MODEL_ARGS=(--swiglu --num-layers 36 --hidden-size 2560 --ffn-hidden-size 9728 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --use-rotary-position-embeddings --disable-bias-linear --normalization RMSNorm --vocab-size 151936 --kv-channels 128 --qk-layernorm)
ROLLOUT_ARGS=(--num-rollout 3000 --rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 8192 --global-batch-size 256 --balance-data)
PERF_ARGS=(--tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 1 --context-parallel-size 1 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --use-dynamic-batch-size --max-tokens-per-gpu 9216)
GRPO_ARGS=(--advantage-estimator grpo --use-kl-loss)
ray start --head --num-gpus 8
ray job submit --address="http://127.0.0.1:8265" --runtime-env-json='{"env_vars": {"PYTHONPATH": "/opt/Megatron-LM/"}}' -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate ${MODEL_ARGS[@]} ${ROLLOUT_ARGS[@]} ${PERF_ARGS[@]} ${GRPO_ARGS[@]}
