#!/bin/bash
# usage: train.sh [--size 8b|70b] [--nodes N] [--tp N] [--pp N] [--cp N] [--vpp N] [--fp8] [--recompute LAYERS] [-- args of Megatron]
SIZE=8b
NODES=1
TP=1 PP=1 CP=1 VPP=
FP8=0
RECOMPUTE=0
while [[ $# -gt 0 ]]; do
    key="$1"
    case $key in
        --size) SIZE="$2"; shift; shift ;;
        --size=*) SIZE="${key#*=}"; shift ;;
        --nodes) NODES="$2"; shift 2 ;;
        --tp|--tensor) TP="$2"; shift 2 ;;
        --pp) PP=$2; shift 2;;
        --cp) CP=$2; shift 2;;
        --vpp) VPP=$2; shift 2;;
        --fp8) FP8=1; shift ;;
        --recompute) RECOMPUTE=$2; shift 2;;
        --) shift; break ;;
        *) echo "unknown option $1"; exit 1 ;;
    esac
done

IMAGE=${IMAGE:-nvcr.io/nvidia/pytorch:25.04-py3}
: "${SEQ:=8192}"
: "${MBS:=1}"
: "${GBS:=$(( NODES * 8 / (TP * PP * CP) * MBS * 16 ))}"

case ${SIZE,,} in
    8b)  L=32 H=4096 A=32 F=14336 ;;
    70b) L=80 H=8192 A=64 F=28672 ;;
    405b) L=126 H=16384 A=128 F=53248 ;;
esac

ARGS=(
    --num-layers $L --hidden-size $H --num-attention-heads $A --ffn-hidden-size $F
    --group-query-attention --num-query-groups 8
    --seq-length $SEQ --max-position-embeddings $SEQ
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --context-parallel-size $CP
    --micro-batch-size $MBS --global-batch-size $GBS
    --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights
    --position-embedding-type rope --rotary-base 500000 --attention-dropout 0 --hidden-dropout 0
    --bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
    --tokenizer-type NullTokenizer --vocab-size 128256 --mock-data --train-iters 50 --lr 1e-4
)
(( TP > 1 )) && ARGS+=( --sequence-parallel --tp-comm-overlap )
[ "$FP8" = 1 ] && ARGS+=( --fp8-format hybrid --fp8-recipe tensorwise )
[ -n "$VPP" ] && ARGS+=( --num-layers-per-virtual-pipeline-stage $((L / PP / VPP)) )
[ "$RECOMPUTE" -gt 0 ] && ARGS+=(
    --recompute-granularity full
    # "uniform" would need a divisor of the layers
    --recompute-method block
    --recompute-num-layers "$RECOMPUTE"
)

docker run --rm --gpus all --ipc=host --network=host --ulimit memlock=-1 --ulimit stack=67108864 \
    -v "$PWD":/workspace -w /workspace -e CUDA_DEVICE_MAX_CONNECTIONS=1 -e NCCL_DEBUG=WARN \
    "$IMAGE" \
    torchrun --nnodes "$NODES" --nproc-per-node 8 --node-rank "${NODE_RANK:-0}" --master-addr "${MASTER_ADDR:-127.0.0.1}" \
    pretrain_gpt.py "${ARGS[@]}" "$@"
