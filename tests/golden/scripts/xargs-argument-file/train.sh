#!/bin/sh
# Arguments come from a file without its comments.
cd "$(dirname "$0")" || exit 1
ARGS_FILE=${ARGS_FILE:-gpt-7b.args}
NODES=${NODES:-2}
GPUS=`expr $NODES \* 8`
TP=2

echo "training on $GPUS GPUs from $ARGS_FILE"

grep -v '^#' "$ARGS_FILE" | xargs torchrun --nnodes $NODES --nproc_per_node 8 \
    --rdzv_backend=c10d --rdzv_endpoint="$(hostname):29400" \
    pretrain_gpt.py \
    --tensor-model-parallel-size $TP \
    --tokenizer-type Llama2Tokenizer --tokenizer-model tokenizer.model --mock-data
