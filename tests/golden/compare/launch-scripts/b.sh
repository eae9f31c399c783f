torchrun --nproc_per_node 8 --nnodes ${NNODES:-1} pretrain_gpt.py --num-layers 16 --hidden-size 2048 \
  --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 \
  --global-batch-size 64 --vocab-size 32000 --bf16 --use-distributed-optimizer --overlap-grad-reduce
