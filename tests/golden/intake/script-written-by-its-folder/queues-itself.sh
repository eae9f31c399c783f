#!/bin/bash
if [ -z "$SLURM_JOB_ID" ]; then sbatch -N 8 --gpus-per-node=8 --ntasks-per-node=8 $0; exit; fi
srun python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 --swiglu --disable-bias-linear --normalization RMSNorm --untie-embeddings-and-output-weights --bf16 --vocab-size 128256 --tokenizer-type NullTokenizer --tensor-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 64
