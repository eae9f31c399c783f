#!/bin/bash
python -m torch.distributed.launch --nproc_per_node 8 --nnodes 2 pretrain_gpt2.py --model-parallel-size 4 --num-layers 24 --hidden-size 1536 \
  --num-attention-heads 16 --batch-size 8 --seq-length 1024 --max-position-embeddings 1024 --fp16 --checkpoint-activations \
  --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --train-iters 320000
