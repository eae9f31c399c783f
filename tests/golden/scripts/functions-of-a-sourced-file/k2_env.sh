GPN=8
model_args() {
  local -a a=(--num-layers 80 --hidden-size 8192 --ffn-hidden-size 22016 --num-attention-heads 64
    --seq-length 2048 --max-position-embeddings 2048 --swiglu --normalization RMSNorm
    --use-rotary-position-embeddings --no-position-embedding --untie-embeddings-and-output-weights --disable-bias-linear)
  echo "${a[@]}"
}
parallel_args() {
  local tp=$1 pp=${2:-1}
  printf -- '--tensor-model-parallel-size %d --pipeline-model-parallel-size %d --sequence-parallel --use-distributed-optimizer' "$tp" "$pp"
}
train_args() {
  cat <<-EOT
	--micro-batch-size 1 --global-batch-size 2040 --bf16
	--lr 1.5e-4 --tokenizer-type NullTokenizer --vocab-size 32000 --use-flash-attn
	EOT
}
