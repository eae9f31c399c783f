torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 \
  --max-position-embeddings 4096 --vocab-size 128256 --tokenizer-type NullTokenizer --micro-batch-size 1 --global-batch-size 8 --bf16 \
  --tensor-model-parallel-size 2 --use-distributed-optimizer \
  --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16
