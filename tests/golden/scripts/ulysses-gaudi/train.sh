#!/bin/bash
# LLaMA on HPUs with the DeepSpeed runner inside bash -c, as on other clusters; HL_* override.
set -ex

DATA_DIR=${HL_DATA_DIR_ROOT:-/data/datasets/oscar}
NUM_NODES=${HL_NUM_NODES:-1}
DP=${HL_DP:-2}
TP=${HL_TP:-2}
PP=${HL_PP:-2}
SP_DEGREE=${HL_SEQ_PAR:-1}
MICRO_BATCH=${HL_MICRO_BATCH:-1}
GLOBAL_BATCH=${HL_GBS:-2048}
HOSTSFILE=${HL_HOSTSFILE:-"hostsfile"}
CKP_ACT=${HL_CKP_ACT:-0}
LLAMA_VER=${HL_LLAMA_VER:-2}
LLAMA_MODEL_SIZE=${HL_LLAMA_MODEL_SIZE:-13}
ZERO_STAGE=${HL_ZERO_STAGE:-0}

if [[ -z "${MEGATRON_DEEPSPEED_ROOT:-}" ]]; then
    MEGATRON_DEEPSPEED_ROOT=$(realpath $(dirname $0)/../)
fi

GROUP_QUERY=0
if [ $LLAMA_VER -eq 2 ] && [ $LLAMA_MODEL_SIZE -eq 70 ]; then
    N_LAYERS=80; NHIDDEN=8192; NHEADS=64; FFN=28672; KV=8
elif [ $LLAMA_MODEL_SIZE -eq 13 ]; then
    N_LAYERS=40; NHIDDEN=5120; NHEADS=40; FFN=13824; KV=40
else
    N_LAYERS=32; NHIDDEN=4096; NHEADS=32; FFN=11008; KV=32
fi

NUM_DEVICES=$(($DP * $TP * $PP * $SP_DEGREE))
DEVICES_PER_NODE=$((NUM_DEVICES/NUM_NODES))
EXTRA=
if [ "$NUM_NODES" != "1" -a -f "$HOSTSFILE" ]; then
    MULTINODE_CMD="--hostfile=$HOSTSFILE --master_addr $(head -n 1 $HOSTSFILE | sed -n s/[[:space:]]slots.*//p)"
fi

RUNTIME=`date +"%Y%m%d_%H%M"`
DS_CONFIG=/tmp/ds_config_$RUNTIME.json
cat << EOT > $DS_CONFIG
{
  "train_batch_size" : $GLOBAL_BATCH,
  "train_micro_batch_size_per_gpu": $MICRO_BATCH,
  "zero_optimization": { "stage": $ZERO_STAGE },
  "bf16": { "enabled": true }
}
EOT

CMD="python3 -u ${MEGATRON_DEEPSPEED_ROOT}/pretrain_gpt.py \
    --deepspeed \
    --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size ${PP} \
    --ds-sequence-parallel-size ${SP_DEGREE} \
    --num-layers ${N_LAYERS} \
    --hidden-size ${NHIDDEN} \
    --ffn-hidden-size ${FFN} \
    --num-attention-heads ${NHEADS} \
    --num-key-value-heads ${KV} \
    --seq-length 4096 \
    --max-position-embeddings 4096 \
    --micro-batch-size ${MICRO_BATCH} \
    --global-batch-size ${GLOBAL_BATCH} \
    --use-rotary-position-embeddings --swiglu --normalization rmsnorm --disable-bias-linear \
    --untie-embeddings-and-output-weights --no-query-key-layer-scaling \
    --tokenizer-type GPTSentencePieceTokenizer --tokenizer-model ${DATA_DIR}/tokenizer.model --vocab-size 32000 \
    --train-iters 100 --lr 3e-4 --bf16 \
    --deepspeed_config=${DS_CONFIG} --zero-stage=${ZERO_STAGE}"

if [[ $CKP_ACT -eq 1 ]]; then
    CMD="${CMD} --checkpoint-activations --deepspeed-activation-checkpointing"
elif [[ $CKP_ACT -eq 2 ]]; then
    CMD="${CMD} --checkpoint-activations-granularity selective"
fi
if [[ $NUM_NODES -gt 1 || "${HL_USE_DEEPSPEED:-1}" = "1" ]]; then
    deepspeed --num_nodes $NUM_NODES --num_gpus $DEVICES_PER_NODE \
        --no_local_rank --no_python ${MULTINODE_CMD:-} \
        /usr/bin/bash -c "$CMD"
else
    bash -c "$CMD"
fi
