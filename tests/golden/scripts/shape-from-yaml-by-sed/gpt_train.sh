#!/bin/bash
# Multi-experiment launcher: heredoc writes MODEL_ARGS yaml, python turns it into flags
set -o pipefail
EXP=${EXP:-moe_small}
yaml_get() { sed -n "s/^ *$1: *//p" exp/$EXP.yaml | head -1 | tr -d '"'; }
L=$(yaml_get num_layers); H=$(yaml_get hidden_size); A=$(yaml_get heads)
E=$(yaml_get experts)
K=$(yaml_get topk)
EXTRA=$(yaml_get extra)
GPUS_PER_NODE=${SLURM_GPUS_ON_NODE:-8}
NNODES=${SLURM_JOB_NUM_NODES:-2}
if [[ "$E" -gt 0 ]]; then
  MOE="--num-experts $E --moe-router-topk $K --expert-model-parallel-size $(( E < GPUS_PER_NODE ? E : GPUS_PER_NODE )) --moe-token-dispatcher-type alltoall --moe-grouped-gemm"
fi
echo "L=$L H=$H A=$A E=$E" | tee -a info.txt
python -m torch.distributed.run --nproc_per_node=$GPUS_PER_NODE --nnodes=$NNODES --node_rank=${SLURM_NODEID:-0} \
  pretrain_gpt.py --num-layers $L --hidden-size $H --num-attention-heads $A ${MOE-} $EXTRA \
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 2 --global-batch-size 256 --bf16 --use-distributed-optimizer \
  --swiglu --position-embedding-type rope --normalization RMSNorm --disable-bias-linear --vocab-size 32000 --train-iters 1000 || exit $?
