set -euo pipefail
die() { echo "$*" >&2; exit 1; }
usage() { die "usage: $0 SIZE"; }
[[ $# -ge 1 ]] || usage
case "${1,,}" in
  llama3-8b)  L=32 H=4096 F=14336 A=32 K=8 ;;
  llama3-70b) L=80 H=8192 F=28672 A=64 K=8 ;;
  *) die "unknown size $1" ;;
esac
TP=${2:-$(( H > 5000 ? 8 : 2 ))}
readonly WORLD=$(( ${NNODES:=2} * 8 ))
GBS=$(( WORLD / TP * 4 ))
mapfile -t EXTRA < <(printf '%s\n' --use-flash-attn --sequence-parallel)
launch() {
  local -a args=("$@")
  torchrun --nnodes "$NNODES" --nproc_per_node 8 ${RDZV:+--rdzv_endpoint "$RDZV"} pretrain_gpt.py "${args[@]}" "${EXTRA[@]}"
}
launch --num-layers $L --hidden-size $H --ffn-hidden-size $F --num-attention-heads $A --group-query-attention --num-query-groups $K \
  --tensor-model-parallel-size $TP --micro-batch-size 1 --global-batch-size $GBS --seq-length 8192 --max-position-embeddings 8192 \
  --tokenizer-type Llama3Tokenizer --swiglu --bf16 2>&1 | tee log.txt
