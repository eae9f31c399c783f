#!/bin/bash
# Micro batch and recomputation by what the GPU holds.
MEM=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | head -n 1)
if [ "$MEM" -gt 100000 ]; then
    MBS=4
    RECOMPUTE=""
elif [ "$MEM" -gt 60000 ]; then
    MBS=2
    RECOMPUTE=""
else
    MBS=1
    RECOMPUTE="--recompute-activations"
fi
echo "memory $MEM MiB: micro batch $MBS"

torchrun --nproc_per_node 8 pretrain_gpt.py \
    --tensor-model-parallel-size 2 \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 4096 --max-position-embeddings 4096 \
    --micro-batch-size $MBS --global-batch-size 128 $RECOMPUTE \
    --bf16 --use-distributed-optimizer --use-flash-attn \
    --tokenizer-type Llama2Tokenizer --tokenizer-model tokenizer.model
