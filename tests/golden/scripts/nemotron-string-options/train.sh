#!/bin/bash
#SBATCH -p batch -A llmservice_nlp_fm -t 4:00:00 --nodes=32 --exclusive --mem=0 --overcommit --ntasks-per-node=8 --dependency=singleton --job-name=nemotron4-15b

export NCCL_IB_SL=1
export CUDA_DEVICE_MAX_CONNECTIONS=1
export NCCL_IB_TIMEOUT=19

NAME="nemotron4-15b"
DIR=$(readlink -f `pwd`)
DATETIME=`date +'date_%y-%m-%d_time_%H-%M-%S'`

mkdir -p $DIR/logs

# Get the data blend
DATA_BLEND="0.6 /lustre/data/english_text_document 0.25 /lustre/data/code_text_document 0.15 /lustre/data/multi_text_document"
SEQ_LEN=4096

options=" \
    --apply-layernorm-1p \
    --untie-embeddings-and-output-weights \
    --disable-bias-linear \
    --no-position-embedding \
    --use-rotary-position-embeddings \
    --rotary-percent 0.5 \
    --squared-relu \
    --attention-dropout 0.0 \
    --hidden-dropout 0.0 \
    --exit-duration-in-mins 230 \
    --tensor-model-parallel-size 8 \
    --pipeline-model-parallel-size 1 \
    --sequence-parallel \
    --num-layers 32 \
    --hidden-size 6144 \
    --num-attention-heads 48 \
    --group-query-attention \
    --num-query-groups 8 \
    --seq-length ${SEQ_LEN} \
    --max-position-embeddings ${SEQ_LEN} \
    --micro-batch-size 4 \
    --global-batch-size 1152 \
    --rampup-batch-size 384 384 97656250 \
    --train-samples 1953125000 \
    --lr-decay-style cosine \
    --lr 4.5e-4 \
    --min-lr 4.5e-5 \
    --log-interval 100 \
    --data-path ${DATA_BLEND} \
    --tokenizer-type GPTSentencePieceTokenizer \
    --tokenizer-model /lustre/tokenizers/nemotron_2_256k.model \
    --vocab-size 256000 \
    --make-vocab-size-divisible-by 128 \
    --bf16 \
    --use-distributed-optimizer \
    --overlap-grad-reduce \
    --recompute-activations \
    --use-flash-attn"

run_cmd="python -u ${DIR}/pretrain_gpt.py ${options}"

srun -l \
     --container-image "nvcr.io/nvidia/pytorch:24.01-py3" \
     --container-mounts "/lustre:/lustre" \
     --output=$DIR/logs/%x_%j_$DATETIME.log sh -c "${run_cmd}"

set +x
