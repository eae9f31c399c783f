#!/bin/bash
# Megatron-DeepSpeed, LLaMA-2 style, ZeRO and Ulysses by options:
#   ZERO_STAGE=3 bash train.sh 
DIR=`pwd`
DATETIME=`date +'date_%y-%m-%d_time_%H-%M-%S'`
###############################################################################
BASE_PATH=${BASE_PATH:-/data}
DS_CONFIG=ds_config.json
DATASET_1="${BASE_PATH}/wikitext/my-gpt2_text_document"
DATASET="1 ${DATASET_1}"
CHECKPOINT_PATH=./tmp
TOKENIZER_PATH=./tmp/tokenizer.model # offical llama tokenizer.model

TP=1
PP=1
ZERO_STAGE=${ZERO_STAGE:-2}

GPUS_PER_NODE=8
NNODES=4

HIDDEN_SIZE=8192 # e.g. llama-13b: 5120
FFN_HIDDEN_SIZE=28672 # e.g. llama-13b: 13824
NUM_LAYERS=80 # e.g. llama-13b: 40
NUM_HEADS=64 # e.g. llama-13b: 40
SEQ_LENGTH=4096
NUM_KV_HEADS=8 # llama2 70B uses GQA

MICRO_BATCH_SIZE=1
GLOBAL_BATCH_SIZE=$((GPUS_PER_NODE * NNODES * MICRO_BATCH_SIZE * 4))
TRAIN_STEPS=250000
LR=3e-4
MIN_LR=3e-5
WEIGHT_DECAY=0.1
GRAD_CLIP=1

# Below configuration required for llama model as per llama paper
activation_checkpoint="true"

cat <<EOT > $DS_CONFIG
{
  "train_batch_size" : $GLOBAL_BATCH_SIZE,
  "train_micro_batch_size_per_gpu": $MICRO_BATCH_SIZE,
  "steps_per_print": 1,
  "zero_optimization": {
    "stage": $ZERO_STAGE
  },
  "bf16": {
    "enabled": true
  }
}
EOT

ds_args=""
ds_args=" --deepspeed ${ds_args}"
ds_args=" --deepspeed_config=$DS_CONFIG ${ds_args}"
ds_args=" --zero-stage=$ZERO_STAGE ${ds_args}"
[ $PP = 1 ] && ds_args=" --no-pipeline-parallel ${ds_args}"

if [ "${activation_checkpoint}" = "true" ]; then
  ds_args="--deepspeed-activation-checkpointing ${ds_args}"
  ## old argument for recomputing the transformer layer
  ds_args="--checkpoint-activations ${ds_args}"
fi

deepspeed --hostfile=/job/hostfile --num_nodes $NNODES --num_gpus $GPUS_PER_NODE pretrain_gpt.py \
       --tensor-model-parallel-size $TP \
       --pipeline-model-parallel-size $PP \
       --num-layers $NUM_LAYERS \
       --hidden-size $HIDDEN_SIZE \
       --ffn-hidden-size $FFN_HIDDEN_SIZE \
       --num-attention-heads $NUM_HEADS \
       --micro-batch-size $MICRO_BATCH_SIZE \
       --global-batch-size $GLOBAL_BATCH_SIZE \
       --seq-length $SEQ_LENGTH \
       --max-position-embeddings $SEQ_LENGTH \
       --train-iters $TRAIN_STEPS \
       --save $CHECKPOINT_PATH \
       --data-path $DATASET \
       --data-impl mmap \
       --tokenizer-type GPTSentencePieceTokenizer \
       --tokenizer-model $TOKENIZER_PATH \
       --vocab-size 32000 \
       --split 949,50,1 \
       --distributed-backend nccl \
       --lr $LR \
       --lr-decay-style cosine \
       --min-lr $MIN_LR \
       --weight-decay $WEIGHT_DECAY \
       --clip-grad $GRAD_CLIP \
       --optimizer adam \
       --bf16 \
       --no-query-key-layer-scaling \
       --attention-dropout 0 \
       --hidden-dropout 0 \
       --use-rotary-position-embeddings \
       --untie-embeddings-and-output-weights \
       --swiglu \
       --normalization rmsnorm \
       --disable-bias-linear \
       --num-key-value-heads $NUM_KV_HEADS \
       $ds_args
