export MASTER_PORT=$((10000 + ($JOB_ID % 50000)))
export MASTER_ADDR=$(hostname)
T=($(squeue -h -o %L | tr ':' ' '))
X=$((T[0]*60 + T[1] - 15))
torchrun --nproc_per_node 8 --master_port $MASTER_PORT pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 256 --vocab-size 50257 --bf16 \
  --train-iters $(cat steps.txt) --exit-duration-in-mins ${X}
