#!/bin/bash
# Words with brackets and semicolons go through a second shell.
ARGS=(pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096
  --max-position-embeddings 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64
  --num-experts 8 --moe-layer-freq "([0]*1+[1]*31)" --wandb-exp-name "it's a; test # & more")
srun bash -c "torchrun --nproc-per-node 8 ${ARGS[*]@Q} --tensor-model-parallel-size 2"
