#!/usr/bin/env bash
# Starts one torchrun a host over ssh. usage: train.sh host1 host2 ...
set -u
HOSTS=("$@")
[ ${#HOSTS[@]} -eq 0 ] && HOSTS=(node01 node02 node03 node04)
NNODES=${#HOSTS[@]}
MASTER=${HOSTS[0]}
WORKDIR=${WORKDIR:-$PWD}
NPROC=8

MODEL="--num-layers 40 --hidden-size 5120 --num-attention-heads 40 --ffn-hidden-size 13824 \
  --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights \
  --position-embedding-type rope --seq-length 4096 --max-position-embeddings 4096"
PARALLEL="--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer"
TRAIN="--micro-batch-size 2 --global-batch-size 256 --train-iters 1000 --lr 3e-4 --bf16"
DATA="--mock-data --tokenizer-type NullTokenizer --vocab-size 32000"

rank=0
for host in "${HOSTS[@]}"; do
    echo "starting rank $rank on $host"
    ssh -o StrictHostKeyChecking=no "$host" "cd $WORKDIR && CUDA_DEVICE_MAX_CONNECTIONS=1 NCCL_DEBUG=WARN \
        torchrun --nproc_per_node $NPROC --nnodes $NNODES --node_rank $rank --master_addr $MASTER --master_port 29501 \
        pretrain_gpt.py $MODEL $PARALLEL $TRAIN $DATA > log.$rank 2>&1" &
    pids[$rank]=$!
    let rank+=1
done

for pid in ${pids[*]}; do
    wait $pid
done
echo "all ranks ended"
