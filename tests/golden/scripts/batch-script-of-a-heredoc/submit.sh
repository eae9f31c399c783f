#!/bin/bash
NODES=4
TP=4
cat > job.sbatch <<-EOF
	#!/bin/bash
	#SBATCH --nodes=${NODES}
	#SBATCH --gpus-per-node=8
	#SBATCH --ntasks-per-node=1
	srun torchrun --nnodes=\$SLURM_NNODES --nproc_per_node=\$SLURM_GPUS_ON_NODE --rdzv_endpoint=\$(hostname):29500 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --max-position-embeddings 8192 --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 128000 --tokenizer-type NullTokenizer --mock-data --seq-length 4096 --micro-batch-size 1 --global-batch-size \$((16 * SLURM_NNODES)) --bf16 --tensor-model-parallel-size ${TP}
EOF
sbatch --nodes=2 job.sbatch
