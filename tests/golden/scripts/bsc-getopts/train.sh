#!/bin/bash
#SBATCH --job-name=salamandra
#SBATCH --qos=acc_ehpc
#SBATCH --output=slurm_output/%x_%j.out
#SBATCH --error=slurm_output/%x_%j.err
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=80
#SBATCH --gres=gpu:4
#SBATCH --time=72:00:00

usage() {
    echo "Usage: sbatch -N <nodes> $0 [-s size] [-t tp] [-p pp] [-g global batch] [-r] [-h]"
    echo "  -r  recompute activations"
}

size=2b
tp=1
pp=1
gbs=512
recompute=
while getopts ":s:t:p:g:rh" opt; do
    case ${opt} in
        s) size=$OPTARG ;;
        t) tp=$OPTARG ;;
        p) pp=$OPTARG ;;
        g) gbs=$OPTARG ;;
        r) recompute="--recompute-granularity selective" ;;
        h) usage; exit 0 ;;
        \?) echo "Invalid option: -$OPTARG" 1>&2; usage; exit 1 ;;
        :) echo "Option -$OPTARG needs an argument" 1>&2; exit 1 ;;
    esac
done
shift $((OPTIND - 1))

# What is left goes to the trainer as it is
extra="$*"

declare -r -A layers=([2b]=24 [7b]=32 [40b]=48) hidden=([2b]=2048 [7b]=4096 [40b]=8192)
declare -r -A heads=([2b]=16 [7b]=32 [40b]=64) ffn=([2b]=5440 [7b]=11008 [40b]=24576)
groups=${heads[$size]}
[[ $size != 2b ]] && groups=8

export GPUS_PER_NODE=4
head_node=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
head_node_ip=$( srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address )

LAUNCHER="singularity exec --nv --bind /gpfs:/gpfs /gpfs/containers/nemo.sif \
torchrun --nproc-per-node=$GPUS_PER_NODE --nnodes=$SLURM_JOB_NUM_NODES --rdzv-id=$RANDOM --rdzv-backend=c10d --rdzv-endpoint=$head_node_ip:29500"

PYTHON_FILE="pretrain_gpt.py"
PYTHON_ARGS="--num-layers ${layers[$size]} --hidden-size ${hidden[$size]} \
--num-attention-heads ${heads[$size]} --group-query-attention --num-query-groups $groups \
--ffn-hidden-size ${ffn[$size]} --swiglu --normalization RMSNorm --disable-bias-linear \
--seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope \
--untie-embeddings-and-output-weights --use-distributed-optimizer \
--tensor-model-parallel-size $tp --pipeline-model-parallel-size $pp \
--micro-batch-size 1 --global-batch-size $gbs --bf16 $recompute \
--tokenizer-type NullTokenizer --vocab-size 256000 --train-iters 1000000 --lr 2e-4"

export CMD="$LAUNCHER $PYTHON_FILE $PYTHON_ARGS $extra"
echo "$CMD"
srun --wait=60 --kill-on-bad-exit=1 bash -c "$CMD"
