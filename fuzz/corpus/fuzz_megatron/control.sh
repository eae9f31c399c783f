#!/bin/bash
#SBATCH --nodes=2 --gres=gpu:8
SIZE=${1:-7b}; : "${TP:=2}"
declare -A LAYERS=([7b]=32 [13b]=40)
if [ "$SIZE" = 7b ]; then H=4096; elif [[ $SIZE == 13* ]]; then H=5120; else exit 1; fi
case $SIZE in 7b|8b) A=32 ;; *) A=40 ;; esac
ARGS=(--num-layers ${LAYERS[$SIZE]} --hidden-size $H --num-attention-heads $A)
for i in 1 2; do ARGS+=(--train-iters $((i * 10))); done
[ "$FP8" = 1 ] && ARGS+=(--fp8-format hybrid)
nvidia-smi | grep -q H100 && EXTRA="--save $(date +%s)"
CMD="torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 pretrain_gpt.py ${ARGS[@]} $EXTRA \
  --tensor-model-parallel-size $TP --vocab-size 32000 --bf16"
srun bash -c "$CMD"
