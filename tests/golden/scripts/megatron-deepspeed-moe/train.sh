#!/bin/bash
DIR=`pwd`
###############################################################################
### Main configs
## GPT-3 models use 2K sequence length/context window
SEQ_LEN=2048

### The "GPT-3 XXX" below are configs from GPT-3 paper
MODEL_SIZE=${MODEL_SIZE:-1.3}
if [[ $MODEL_SIZE == 0.125 ]]; then
    NUM_LAYERS=12; HIDDEN_SIZE=768; NUM_ATTN_HEADS=12; GLOBAL_BATCH_SIZE=256
elif [[ $MODEL_SIZE == 0.35 ]]; then
    NUM_LAYERS=24; HIDDEN_SIZE=1024; NUM_ATTN_HEADS=16; GLOBAL_BATCH_SIZE=256
elif [[ $MODEL_SIZE == 1.3 ]]; then
    NUM_LAYERS=24; HIDDEN_SIZE=2048; NUM_ATTN_HEADS=16; GLOBAL_BATCH_SIZE=512
else
    echo "no such size: $MODEL_SIZE"; exit 2
fi
###############################################################################
### Training duration configs
## For MoE model, we found sometimes training a bit more to 330B tokens helps
TRAIN_TOKENS=300000000000
TRAIN_ITERS=$(( ${TRAIN_TOKENS} * 3 / ${GLOBAL_BATCH_SIZE} / ${SEQ_LEN} ))
###############################################################################
### Parallelism configs
BATCH_SIZE=4
MP_SIZE=1
PP_SIZE=1
NUM_GPUS=64
###############################################################################
### MoE configs
EP_SIZE=128

if [[ $EP_SIZE -gt $NUM_GPUS ]]; then
    EP_PARALLEL_SIZE=$NUM_GPUS
else
    EP_PARALLEL_SIZE=$EP_SIZE
fi

## Original GPT-3 model always set min LR at 10% of max LR.
LR=$(echo "scale=6; 4.5 / 100000" | bc -l)
MIN_LR=4.5e-06
MOE_TRAIN_CAP_FACTOR=1.0
MLC=0.01
###############################################################################
### Output and data configs
current_time=$(date "+%Y.%m.%d-%H.%M.%S")
host="${HOSTNAME}"
NAME="gpt-${MODEL_SIZE}B-lr-${LR}-bs-${GLOBAL_BATCH_SIZE}-gpus-${NUM_GPUS}-mp-${MP_SIZE}"
if [[ $EP_SIZE -gt 1 ]]; then
    NAME="${NAME}-ep-${EP_SIZE}-mlc-${MLC}-cap-${MOE_TRAIN_CAP_FACTOR}"
fi
OUTPUT_BASEPATH=$DIR/output
TENSORBOARD_DIR="${OUTPUT_BASEPATH}/tensorboard/${NAME}_${host}_${current_time}"
mkdir -p ${TENSORBOARD_DIR}

VOCAB_PATH=/data/the_pile_public_merged_nopreprocessing/gpt2-vocab.json
MERGE_PATH=/data/the_pile_public_merged_nopreprocessing/gpt2-merges.txt
###############################################################################
data_options=" \
         --vocab-file ${VOCAB_PATH} \
         --merge-file ${MERGE_PATH} \
         --data-path /data/pile_text_document \
         --data-impl mmap"

megatron_options=" \
        --override-opt_param-scheduler \
        --adam-beta1 0.9 \
        --adam-beta2 0.95 \
        --tensor-model-parallel-size ${MP_SIZE} \
        --moe-expert-parallel-size ${EP_PARALLEL_SIZE} \
        --num-experts ${EP_SIZE} \
        --topk 1 \
        --expert-interval 2 \
        --moe-loss-coeff ${MLC} \
        --moe-train-capacity-factor ${MOE_TRAIN_CAP_FACTOR} \
        --init-method-std 0.014 \
        --micro-batch-size ${BATCH_SIZE} \
        --global-batch-size ${GLOBAL_BATCH_SIZE} \
        --num-layers ${NUM_LAYERS} \
        --hidden-size ${HIDDEN_SIZE} \
        --num-attention-heads ${NUM_ATTN_HEADS} \
        --seq-length ${SEQ_LEN} \
        --max-position-embeddings ${SEQ_LEN} \
        --train-tokens ${TRAIN_TOKENS} \
        --train-iters ${TRAIN_ITERS} \
        --lr ${LR} \
        --min-lr ${MIN_LR} \
        --split 98,2,0 \
        --fp16"

if [ "${ACTIVATION_CHECKPOINT:-false}" = "true" ]; then
megatron_options="${megatron_options} \
        --checkpoint-activations"
fi
if [[ $EP_SIZE -gt 1 ]]; then
megatron_options="${megatron_options} \
        --create-moe-param-group"
fi

config_json="ds_config_gpt_${NAME}.json"
cat > template.json <<'EOT'
{"train_batch_size": CONFIG_BATCH_SIZE, "zero_optimization": {"stage": 0}, "fp16": {"enabled": CONFIG_FP16}}
EOT
sed "s/CONFIG_BATCH_SIZE/${GLOBAL_BATCH_SIZE}/" template.json \
    | sed "s/CONFIG_FP16/true/" \
    > ${config_json}

deepspeed_options=" \
		    --deepspeed \
		    --deepspeed_config ${config_json} \
		    --pipeline-model-parallel-size ${PP_SIZE} \
		    --no-pipeline-parallel"

run_cmd="deepspeed --num_nodes 8 --num_gpus 8 ${DIR}/../../pretrain_gpt.py ${megatron_options} ${data_options} ${deepspeed_options} &> ${OUTPUT_BASEPATH}/${NAME}.log"
echo ${run_cmd}
eval ${run_cmd}
set +x
