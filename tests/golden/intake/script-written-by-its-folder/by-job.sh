#!/bin/bash
#SBATCH -N 2
cat > inner_$SLURM_JOB_ID.sh <<EOF
python pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --bf16 --vocab-size 32000
EOF
srun --ntasks-per-node=8 bash inner_$SLURM_JOB_ID.sh
