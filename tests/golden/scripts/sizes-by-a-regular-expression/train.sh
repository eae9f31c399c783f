#!/usr/bin/env bash
# sizes by name
declare -A LAYERS=([8b]=32 [70b]=80) HIDDEN=([8b]=4096 [70b]=8192) HEADS=([8b]=32 [70b]=64) FFN=([8b]=14336 [70b]=28672)
size=${1:-70b}
[[ ${size,,} =~ ^([0-9]+)b$ ]] || exit 1
n=${BASH_REMATCH[1]}
IFS=x read -r NODES PER TP PP CP <<< "8x8x4x4x2"
printf -v GBS '%d' $(( NODES * PER / (TP * PP * CP) * 16 ))
args=(--num-layers "${LAYERS[$size]}" --hidden-size "${HIDDEN[$size]}" --num-attention-heads "${HEADS[$size]}" --ffn-hidden-size "${FFN[$size]}")
args+=(--group-query-attention --num-query-groups 8 --seq-length $((8 * 1024)) --max-position-embeddings 8192 --swiglu --bf16 --vocab-size 128256)
((n > 30)) && args+=(--recompute-granularity full --recompute-method uniform --recompute-num-layers 1)
args=("${args[@]/#--bf16/--fp16}")
exec torchrun --nnodes "$NODES" --nproc_per_node "$PER" --node_rank "${RANK:-0}" pretrain_gpt.py "${args[@]}" \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --context-parallel-size $CP --micro-batch-size 1 --global-batch-size $GBS
