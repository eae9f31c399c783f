#!/bin/bash
# Three learning rates, one after the other, on one node.
set -o errexit

COMMON=(
    --num-layers 24 --hidden-size 2048 --num-attention-heads 16
    --seq-length 2048 --max-position-embeddings 2048
    --micro-batch-size 8 --global-batch-size 512
    --bf16 --use-distributed-optimizer
    --tokenizer-type GPT2BPETokenizer --vocab-file vocab.json --merge-file merges.txt
)

launch() {
    local lr=$1 name=$2
    shift 2
    torchrun --standalone --nproc_per_node=8 pretrain_gpt.py "${COMMON[@]}" \
        --lr "$lr" --min-lr 1e-5 --save "ckpt/$name" "$@"
}

n=0
for lr in 1e-4 3e-4 6e-4; do
    (( ++n ))
    launch $lr "run$n-lr$lr" --train-iters 20000
done
