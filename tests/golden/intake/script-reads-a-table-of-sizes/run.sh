#!/bin/bash
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
set -euo pipefail
trap 'echo "job ended"; rm -f /tmp/lock.*' EXIT
nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
head_node=${nodes[0]}
head_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address | cut -d' ' -f1)
SIZES="7b:32:4096:32:11008 13b:40:5120:40:13824"
MODEL=${MODEL:-13b}
LINE=$(echo "$SIZES" | tr ' ' '\n' | grep "^$MODEL:")
L=$(echo $LINE | cut -d: -f2); H=$(echo $LINE | cut -d: -f3); A=$(echo $LINE | cut -d: -f4)
F=$(echo $LINE | cut -d: -f5-)
srun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 --rdzv_id $RANDOM --rdzv_backend c10d --rdzv_endpoint $head_ip:29500 pretrain_gpt.py \
  --num-layers $L --hidden-size $H --num-attention-heads $A --ffn-hidden-size $F --swiglu --normalization RMSNorm --disable-bias-linear \
  --position-embedding-type rope --untie-embeddings-and-output-weights --seq-length 4096 --max-position-embeddings 4096 \
  --tensor-model-parallel-size 2 --sequence-parallel --micro-batch-size 2 --global-batch-size 512 --bf16 --use-distributed-optimizer --vocab-size 32000
