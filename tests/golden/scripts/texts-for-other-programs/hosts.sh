MODEL="pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --micro-batch-size 1 --global-batch-size 64 --bf16"
TP=2
rank=0
for host in a b c d; do
  ssh -p 22 $host <<EOF
torchrun --nnodes 4 --node-rank $rank --nproc-per-node 8 $MODEL --tensor-model-parallel-size $TP
EOF
  rank=$((rank + 1))
done
