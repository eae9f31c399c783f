#!/usr/bin/env bash
set -euo pipefail
SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
set -a; source "$SCRIPT_DIR/defaults.env"; set +a
. "${SCRIPT_DIR}/args.inc"

declare -a ARGS=()
add --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --kv-channels 128
add --group-query-attention --num-query-groups 4 --qk-layernorm
add --num-experts 64 --moe-router-topk 8 --moe-ffn-hidden-size 768 --ffn-hidden-size 6144
add --moe-token-dispatcher-type alltoall --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-3
add --seq-length "$SEQ" --max-position-embeddings "$SEQ"
add --micro-batch-size "$MBS" --global-batch-size "$GBS"
add --tensor-model-parallel-size "$TP" --pipeline-model-parallel-size "$PP" --expert-model-parallel-size "$EP"
add --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope
add --untie-embeddings-and-output-weights --bf16 --lr 3e-4 --train-iters 100
add --tokenizer-type NullTokenizer --vocab-size 151936 --mock-data
add_if "${DIST_OPT:-true}" --use-distributed-optimizer --overlap-grad-reduce
add_if "${SP:-$([ "$TP" -gt 1 ] && echo 1 || echo 0)}" --sequence-parallel
add_if "${GROUPED:-0}" --moe-grouped-gemm
add_if "${RECOMPUTE:-0}" --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
add_if "${MOE_RECOMPUTE:-0}" --recompute-granularity selective --recompute-modules moe_act layernorm

if [[ -v EXTRA_ARGS ]]; then
    read -ra more <<< "$EXTRA_ARGS"
    ARGS+=("${more[@]}")
fi

for ((node = 0; node < NODES; node++)); do
    printf 'node %d of %d\n' $((node + 1)) "$NODES"
done

exec torchrun --nnodes="$NODES" --nproc_per_node=8 --rdzv_backend=c10d \
    --rdzv_endpoint="${MASTER_ADDR:-localhost}:29500" -- pretrain_gpt.py "${ARGS[@]}"
