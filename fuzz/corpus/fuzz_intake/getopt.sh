#!/bin/sh
#BSUB -J gpt1b
#BSUB -q gpu -n 32 -R "span[ptile=8]" -gpu "num=8:mode=exclusive_process"
args=`getopt n:t:r: $*`
if [ $? != 0 ]; then echo 'Usage: ...'; exit 2; fi
set -- $args
for i
do
  case "$i" in
    -n) NNODES=$2; shift; shift;;
    -t) TP=$2; shift; shift;;
    -r) REC=$2; shift; shift;;
    --) shift; break;;
  esac
done
HOSTS=`sort -u $LSB_DJOB_HOSTFILE | paste -sd, -`
extra=
test "$REC" = full && extra="--recompute-granularity full --recompute-method block --recompute-num-layers 24"
mpirun -np $((NNODES * 8)) -H $HOSTS --map-by ppr:8:node -x PATH \
  python pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 \
  --tensor-model-parallel-size $TP --micro-batch-size 2 --global-batch-size 128 --bf16 --tokenizer-type GPT2BPETokenizer --vocab-file v --merge-file m $extra
