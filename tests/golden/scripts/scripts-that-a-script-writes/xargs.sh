cat > args <<'X'
--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096
--vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64
X
set_size() { local -n size=$1; size=$2; }
set_size TP 8
xargs -a args torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size $TP
