#!/bin/bash
set -euo pipefail
module purge
module load cuda/12.4 nccl/2.21 || true
eval "$(conda shell.bash hook)"
conda activate megatron

NNODES=${SLURM_JOB_NUM_NODES:?run me under slurm}
# options as key=value; the dashes are put in front below
readarray -t MODEL <<'EOF'
num-layers=80
hidden-size=8192
ffn-hidden-size=28672
num-attention-heads=64
num-query-groups=8
seq-length=16384
max-position-embeddings=131072
rotary-base=500000
EOF
FLAGS=(group-query-attention swiglu disable-bias-linear untie-embeddings-and-output-weights use-mcore-models sequence-parallel bf16 use-distributed-optimizer overlap-grad-reduce overlap-param-gather)
declare -A KV=( [tensor-model-parallel-size]=8 [pipeline-model-parallel-size]=4 [context-parallel-size]=2 [num-layers-per-virtual-pipeline-stage]=4 [micro-batch-size]=1 [global-batch-size]=128 [normalization]=RMSNorm [position-embedding-type]=rope )
ARGS=()
for kv in "${MODEL[@]}"; do ARGS+=("--${kv%%=*}" "${kv#*=}"); done
for k in "${!KV[@]}"; do ARGS+=("--$k" "${KV[$k]}"); done
ARGS+=("${FLAGS[@]/#/--}")
printf -v RUN_NAME 'llama3_%03dnodes_%s' "$NNODES" "$(date +%s)"
precision=fp8
if [[ ${precision^^} == FP8 ]]; then ARGS+=(--fp8-format hybrid --fp8-amax-history-len 1024 --fp8-amax-compute-algo max); fi
srun --ntasks-per-node=1 --container-image=/images/nemo.sqsh --container-mounts=/lustre:/lustre \
  bash -c "torchrun --nnodes=$NNODES --nproc-per-node=8 --rdzv-backend=c10d --rdzv-id=\$SLURM_JOB_ID --rdzv-endpoint=\$(scontrol show hostnames \$SLURM_JOB_NODELIST | head -1):29400 /opt/megatron-lm/pretrain_gpt.py ${ARGS[*]} --tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Meta-Llama-3-70B --mock-data --tensorboard-dir tb/$RUN_NAME --train-iters 50"
