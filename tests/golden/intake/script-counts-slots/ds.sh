#!/bin/bash
cat > hostfile <<EOF
worker-0 slots=8
worker-1 slots=8
worker-2 slots=8
worker-3 slots=8
EOF
NUM_NODES=$(grep -c slots hostfile)
SLOTS=$(head -n 1 hostfile | grep -o 'slots=[0-9]*' | cut -d= -f2)
NUM_GPUS=$((NUM_NODES*SLOTS))
MBS=2; GBS=$((NUM_GPUS*MBS*4/2))
cat > ds.json <<EOF
{"train_batch_size": $GBS, "train_micro_batch_size_per_gpu": $MBS, "zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}
EOF
deepspeed --hostfile hostfile pretrain_gpt.py --deepspeed --deepspeed_config ds.json --zero-stage 1 --no-pipeline-parallel --tensor-model-parallel-size 2 \
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size $MBS --global-batch-size $GBS --bf16 --vocab-size 50257 --checkpoint-activations --deepspeed-activation-checkpointing
