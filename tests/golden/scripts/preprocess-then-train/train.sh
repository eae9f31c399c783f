#!/bin/bash
# One node from raw text to a checkpoint: tokenizes, trains, converts.
RAW=${RAW:-corpus.jsonl}
OUT=${OUT:-work}
GPUS=$(nvidia-smi -L | wc -l)
RUN=$OUT/$(hostname -s)-$(date +%F)
mkdir -p $RUN

if [ ! -f $OUT/corpus_text_document.bin ]; then
    python tools/preprocess_data.py \
        --input $RAW \
        --output-prefix $OUT/corpus \
        --vocab-file vocab.json \
        --merge-file merges.txt \
        --tokenizer-type GPT2BPETokenizer \
        --workers `nproc` \
        --append-eod
fi

LOAD=""
if [ -e $OUT/ckpt/latest_checkpointed_iteration.txt ]; then
    LOAD="--load $OUT/ckpt"
fi

python -m torch.distributed.launch --nproc_per_node=$GPUS --use_env pretrain_gpt.py \
    --num-layers 24 \
    --hidden-size 1024 \
    --num-attention-heads 16 \
    --seq-length 1024 \
    --max-position-embeddings 1024 \
    --micro-batch-size 8 \
    --global-batch-size 512 \
    --train-iters 300000 \
    --lr 0.00015 \
    --fp16 \
    --data-path $OUT/corpus_text_document \
    --vocab-file vocab.json \
    --merge-file merges.txt \
    --split 949,50,1 \
    --save $OUT/ckpt $LOAD \
    --activations-checkpoint-method uniform \
    --distributed-backend nccl 2>&1 | tee $RUN/train.log

python tools/checkpoint_util.py --model-type GPT --load-dir $OUT/ckpt --save-dir $OUT/merged --target-tensor-parallel-size 1
