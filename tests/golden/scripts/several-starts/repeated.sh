#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
MODEL="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000"
BATCH="--micro-batch-size 1 --global-batch-size 256 --bf16"
# The batch's time is up before the training is: the job goes on from its checkpoint.
for part in 1 2 3; do
  srun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 pretrain_gpt.py $MODEL $BATCH --load ckpt --save ckpt --exit-duration-in-mins 200
done
