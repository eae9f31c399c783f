#!/bin/bash
#SBATCH --job-name=viking-33b
#SBATCH --nodes=128
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=7
#SBATCH --mem=480G
#SBATCH --partition=standard-g
#SBATCH --time=2-00:00:00
#SBATCH --gpus-per-node=mi250:8
#SBATCH --exclusive=user
#SBATCH --account=project_462000319
#SBATCH --output=logs/%x-%j.out

# if run without sbatch, invoke here
if [ -z $SLURM_JOB_ID ]; then
    mkdir -p logs
    sbatch "$0"
    exit
fi

mkdir -p workdir
wd=$(realpath workdir)
# hold separate logs for easier debugging
ln -f -s "$SLURM_JOB_ID.out" logs/latest.out

CHECKPOINT_PATH=/scratch/project_462000319/checkpoints/33B
VOCAB_SIZE_ARGS="--tokenizer-type NullTokenizer --vocab-size 131071"
CONTAINER=/scratch/containers/megatron-rocm.sif

# PARALLELISM
export MEMORY_OPT_ALLREDUCE_SIZE=100000000
export CUDA_DEVICE_MAX_CONNECTIONS=1
PP_SIZE=4
TP_SIZE=4
VPP_SIZE=${VPP_SIZE:-7}
MICRO_BATCH_SIZE=1
GLOBAL_BATCH_SIZE=1024

NLAYERS=56
NHIDDEN=7168
NHEADS=56
FFN_HIDDEN_SIZE=20480
SEQ_LEN=5120

OPTIMIZER_ARGS=" \
    --optimizer adam --adam-beta1 0.9 --adam-beta2 0.95 --adam-eps 1e-5 \
    --lr 1e-4 --min-lr 1e-5 --lr-decay-style cosine --clip-grad 1.0 --weight-decay 1e-1 \
    --use-distributed-optimizer \
    "

GPT_ARGS=" \
    --num-layers $NLAYERS \
    --hidden-size $NHIDDEN \
    --num-attention-heads $NHEADS \
    --ffn-hidden-size $FFN_HIDDEN_SIZE \
    --seq-length $SEQ_LEN \
    --max-position-embeddings $SEQ_LEN \
    --micro-batch-size $MICRO_BATCH_SIZE \
    --global-batch-size $GLOBAL_BATCH_SIZE \
    --train-samples 390625000 \
    --bf16 --swiglu --disable-bias-linear --normalization RMSNorm \
    --attention-dropout 0 --hidden-dropout 0 \
    --use-rotary-position-embeddings --no-position-embedding \
    --group-query-attention --num-query-groups 8 \
    --untie-embeddings-and-output-weights --use-flash-attn \
    --recompute-activations \
    --no-gradient-accumulation-fusion \
    $VOCAB_SIZE_ARGS \
    $OPTIMIZER_ARGS \
    "

PARALLEL_ARGS="\
    --tensor-model-parallel-size $TP_SIZE \
    --pipeline-model-parallel-size $PP_SIZE \
    --sequence-parallel \
    "
if (( VPP_SIZE > 1)); then
    PARALLEL_ARGS="$PARALLEL_ARGS \
    --num-layers-per-virtual-pipeline-stage $((NLAYERS / PP_SIZE / VPP_SIZE))"
fi

CMD=" \
    pretrain_gpt.py \
    $GPT_ARGS $PARALLEL_ARGS \
    --save $CHECKPOINT_PATH --load $CHECKPOINT_PATH \
    --data-path 0.07 data/fin 0.63 data/eng 0.3 data/code --split 949,50,1 \
    --dataloader-type single --num-workers 5 \
    "

cat > launch.sh <<'EOL'
#!/bin/bash
# Launch script used by slurm scripts, don't invoke directly.
export RANK=$SLURM_PROCID
export LOCAL_RANK=$SLURM_LOCALID
export WORLD_SIZE=$SLURM_NTASKS
exec python3 -u "$@"
EOL
chmod +x launch.sh

c="fe"
# Bind mask for two threads per core
BIND_MASK="0x${c}000000000000,0x${c}00000000000000"

echo "START $SLURM_JOBID: $(date)"
srun \
    --label \
    --cpu-bind=mask_cpu:$BIND_MASK \
    singularity exec \
    -B /opt/cray:/opt/cray \
    -B "$wd:/workdir" \
    "$CONTAINER" \
    ./launch.sh \
    $CMD
echo "END $SLURM_JOBID: $(date)"
