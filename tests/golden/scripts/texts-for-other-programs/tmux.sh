MODEL="pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --micro-batch-size 1 --global-batch-size 64 --bf16"
TP=2
tmux new-session -d -s train "torchrun --nproc-per-node 8 $MODEL --tensor-model-parallel-size $TP"
