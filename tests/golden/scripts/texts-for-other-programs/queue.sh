MODEL="pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --micro-batch-size 1 --global-batch-size 64 --bf16"
TP=2
bsub <<EOF
#BSUB -n 2
#BSUB -R "span[ptile=1]"
#BSUB -gpu "num=8"
torchrun --nnodes 2 --nproc-per-node 8 $MODEL --tensor-model-parallel-size $TP
EOF
