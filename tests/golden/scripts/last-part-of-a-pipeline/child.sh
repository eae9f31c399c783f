TP=1
printf '%s\n' 2 4 | while read -r size; do TP=$size; done
torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64 --tensor-model-parallel-size $TP
