#!/bin/bash --login
#PBS -l select=16:system=polaris
#PBS -l place=scatter
#PBS -l walltime=1:00:00
#PBS -q prod
#PBS -A datascience

cd "${PBS_O_WORKDIR:-.}"
module use /soft/modulefiles; module load conda; conda activate base

setup_hosts() {
    NHOSTS=$(wc -l < "${PBS_NODEFILE}")
    NGPU_PER_HOST=$(nvidia-smi -L | wc -l)
    NGPUS=$(( NHOSTS * NGPU_PER_HOST ))
    export NHOSTS NGPU_PER_HOST NGPUS WORLD_SIZE=$NGPUS
}

setup_model() {
    local key="${1:-AuroraGPT-7B}"
    case "$key" in
        *7B)  HEADS=32 NLAYERS=32 HIDDEN=4096 NUM_KV_HEAD=8 FFN_HIDDEN_SIZE=11008 ;;
        *13B) HEADS=40 NLAYERS=40 HIDDEN=5120 NUM_KV_HEAD=40 FFN_HIDDEN_SIZE=13824 ;;
    esac
}

setup_hosts
setup_model "$1"

TP=${TP:-2}
PP=${PP:-1}
ZERO_STAGE=${ZERO_STAGE:-1}
MICRO_BATCH=${MICRO_BATCH:-4}
GRAD_ACC_STEPS=${GRAD_ACC_STEPS:-8}
GLOBAL_BATCH=$(( NGPUS * MICRO_BATCH * GRAD_ACC_STEPS / TP / PP ))

mpiexec --verbose --envall -n "${NGPUS}" -ppn "${NGPU_PER_HOST}" --hostfile "${PBS_NODEFILE}" --cpu-bind depth -d 16 \
    python3 -Wignore pretrain_gpt_alcf.py \
    --bf16 --use-flash-attn-v2 \
    --num-layers "${NLAYERS}" --hidden-size "${HIDDEN}" --num-attention-heads "${HEADS}" \
    --ffn-hidden-size "${FFN_HIDDEN_SIZE}" --num-key-value-heads "${NUM_KV_HEAD}" \
    --seq-length 4096 --max-position-embeddings 4096 \
    --tensor-model-parallel-size "${TP}" --pipeline-model-parallel-size "${PP}" --zero-stage "${ZERO_STAGE}" \
    --micro-batch-size "${MICRO_BATCH}" --global-batch-size "${GLOBAL_BATCH}" \
    --vocab-size 32000 --tokenizer-type Llama2Tokenizer --tokenizer-model tokenizer.model \
    --swiglu --disable-bias-linear --normalization rmsnorm --untie-embeddings-and-output-weights \
    --use-rotary-position-embeddings --deepspeed --no-pipeline-parallel --train-iters 317892
