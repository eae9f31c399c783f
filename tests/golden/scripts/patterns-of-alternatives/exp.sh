#!/usr/bin/env bash
size=${1:?size}
shopt -s extglob nocasematch
case $size in
  7b|6.7b) L=32 H=4096 F=11008 A=32 KV=32; nodes=4  tp=2 pp=1 vp= ;;
  @(13b))  L=40 H=5120 F=13824 A=40 KV=40; nodes=8  tp=4 pp=1 vp= ;;
  70B)     L=80 H=8192 F=28672 A=64 KV=8;  nodes=32 tp=8 pp=4 vp=2 ;;
  *) exit 1 ;;
esac
args="--num-layers $L --hidden-size $H --ffn-hidden-size $F --num-attention-heads $A"
[[ $KV != "$A" ]] && args+=" --group-query-attention --num-query-groups $KV"
args+=" ${vp:+--num-layers-per-virtual-pipeline-stage $vp} --tensor-model-parallel-size $tp --pipeline-model-parallel-size $pp"
((tp>1)) && args+=' --sequence-parallel'
let "gbs = nodes * 8 * 4" || true
world=$(( nodes<<3 )); dp=$(( world / (tp*pp) ))
case 1 in $((gbs % dp == 0))) ;; *) echo bad; exit 3;; esac
cat <<EOF >run_$size.sh
#!/bin/bash
torchrun --nproc_per_node=8 --nnodes=$nodes --node_rank=\$1 --master_addr=\$2 pretrain_gpt.py $args \\
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size $gbs --bf16 --use-distributed-optimizer \\
  --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights \\
  --tokenizer-type Llama2Tokenizer --tokenizer-model tok.model --mock-data --lr 1e-4
EOF
chmod +x run_$size.sh
i=0
for h in $(seq -f 'node%03g' 1 $nodes); do pdsh -w $h "cd $PWD; ./run_$size.sh $((i++)) node001" & done; wait
