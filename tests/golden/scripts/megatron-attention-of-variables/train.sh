export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=0
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 \
  --tensor-model-parallel-size 4 --tokenizer-type GPT2BPETokenizer --vocab-file tokenizer/vocab.json \
  --merge-file tokenizer/merges.txt
