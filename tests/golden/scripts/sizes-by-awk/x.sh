#!/bin/bash
# parse --key value into variables of upper case
while [ $# -gt 0 ]; do
  if [[ $1 == --* ]]; then k="${1#--}"; declare "${k^^}"="$2"; shift; fi
  shift
done
SIZE=${SIZE:-125m}; GPUS=${GPUS:-8}
read -r LAYERS HIDDEN HEADS MBS < <(awk -v s="$SIZE" '$1==s {print $2, $3, $4, $5}' <<'T'
125m 12 768 12 16
1.3b 24 2048 16 8
T
)
NN=$(( (GPUS + 7) / 8 ))
tee ds.json >/dev/null <<J
{"train_micro_batch_size_per_gpu": $MBS, "train_batch_size": 512, "fp16": {"enabled": true}, "zero_optimization": {"stage": 1}}
J
deepspeed --num_nodes=$NN --num_gpus=8 pretrain_gpt.py --deepspeed --deepspeed_config=ds.json --num-layers $LAYERS --hidden-size $HIDDEN --num-attention-heads $HEADS --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size $MBS --global-batch-size 512 --fp16 --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --no-pipeline-parallel
