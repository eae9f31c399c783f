#!/bin/bash
DIR=`pwd`
SEQ_LEN=2048
MODEL_SIZE=1.3
NUM_LAYERS=24
HIDDEN_SIZE=2048
NUM_ATTN_HEADS=16
GLOBAL_BATCH_SIZE=512
LR=2.0e-4
TRAIN_TOKENS_IN_BILLION=300
TRAIN_TOKENS=$((${TRAIN_TOKENS_IN_BILLION} * 1000000000))
TRAIN_SAMPLES=$(( 300 * 1000000000 * 2 / ${SEQ_LEN} ))
BATCH_SIZE=8
MP_SIZE=1
PP_SIZE=1
NO_PP="true"
ZERO_STAGE=1
NUM_GPUS=$(($(ds_ssh nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)-2))
NUM_GPUS_PERNODE=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)
NUM_NODE=$(( ${NUM_GPUS} / ${NUM_GPUS_PERNODE} ))
DP_SIZE=$(( ${NUM_GPUS} / ${PP_SIZE} / ${MP_SIZE} ))
LOG_INTERVAL=10
ACTIVATION_CHECKPOINT="false"
VOCAB_PATH=gpt2-vocab.json
MERGE_PATH=gpt2-merges.txt
if [ ! -f "$VOCAB_PATH" ]; then
    wget https://s3.amazonaws.com/models.huggingface.co/bert/gpt2-vocab.json
fi
current_time=$(date "+%Y.%m.%d_%H.%M.%S")
host="${HOSTNAME}"
NAME="gpt_${MODEL_SIZE}B_tok${TRAIN_TOKENS_IN_BILLION}B_lr${LR}_seed1234"
if [[ $PP_SIZE -gt 1 ]]; then
    NAME="${NAME}_pp${PP_SIZE}"
    NO_PP="false"
fi
data_options=" \
    --vocab-file ${VOCAB_PATH} \
    --merge-file ${MERGE_PATH} \
    --data-path /vc/data \
    --data-impl mmap"
megatron_options=" \
    --override-opt_param-scheduler \
    --adam-beta1 0.9 \
    --tensor-model-parallel-size ${MP_SIZE} \
    --init-method-std 0.013 \
    --micro-batch-size ${BATCH_SIZE} \
    --global-batch-size ${GLOBAL_BATCH_SIZE} \
    --num-layers ${NUM_LAYERS} \
    --hidden-size ${HIDDEN_SIZE} \
    --num-attention-heads ${NUM_ATTN_HEADS} \
    --seq-length ${SEQ_LEN} \
    --max-position-embeddings ${SEQ_LEN} \
    --train-samples ${TRAIN_SAMPLES} \
    --lr ${LR} \
    --split 949,50,1 \
    --fp16 \
    --tensorboard-dir out/${NAME}_${host}_${current_time}"
if [ "${ACTIVATION_CHECKPOINT}" = "true" ]; then
megatron_options="${megatron_options} \
    --checkpoint-activations"
fi
template_json="ds_config_gpt_TEMPLATE.json"
config_json="ds_config_${NAME}.json"
if [[ $ZERO_STAGE -gt 0 ]]; then
sed "s/CONFIG_BATCH_SIZE/${GLOBAL_BATCH_SIZE}/" ${template_json} \
    | sed "s/CONFIG_MBSIZE/${BATCH_SIZE}/" \
	  > ${config_json}
else
sed "s/A/B/" t2.json > ${config_json}
fi
deepspeed_options=" \
    --deepspeed \
    --deepspeed_config ${config_json} \
    --zero-stage ${ZERO_STAGE} \
    --pipeline-model-parallel-size ${PP_SIZE}"
if [[ "${NO_PP}" = "true" ]]; then
deepspeed_options="${deepspeed_options} \
    --no-pipeline-parallel"
fi
run_cmd="deepspeed ${DIR}/../../pretrain_gpt.py ${megatron_options} ${data_options} ${deepspeed_options} &> out/log.log"
echo ${run_cmd}
eval ${run_cmd}
set +x
