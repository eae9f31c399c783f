#!/bin/bash
MODEL_ARGS=(--swiglu --num-layers 36 --hidden-size 2560 --ffn-hidden-size 9728 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --use-rotary-position-embeddings --disable-bias-linear --normalization RMSNorm --vocab-size 151936 --kv-channels 128 --qk-layernorm)
SFT_ARGS=(--rollout-function-path slime.rollout.sft_rollout.generate_rollout --prompt-data /data/openhermes.parquet --input-key messages --rollout-shuffle
  --num-epoch 3 --rollout-batch-size 128 --global-batch-size 128 --loss-type sft_loss --calculate-per-token-loss --disable-compute-advantages-and-returns --debug-train-only)
PERF_ARGS=(--tensor-model-parallel-size 2 --sequence-parallel --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
  --use-dynamic-batch-size --max-tokens-per-gpu 9216)
ray start --head --num-gpus 8
ray job submit --address=http://127.0.0.1:8265 -- python3 train_async.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 \
  --hf-checkpoint /data/Qwen3-4B-Base --ref-load /data/Qwen3-4B-Base_torch_dist ${MODEL_ARGS[@]} ${SFT_ARGS[@]} ${PERF_ARGS[@]}
