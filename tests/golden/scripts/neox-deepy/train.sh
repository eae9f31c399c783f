#!/bin/bash
#SBATCH --job-name="neox-20b"
#SBATCH --partition=a100
#SBATCH --nodes=12
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
#SBATCH --exclusive
module load openmpi cuda/11.7
source /fsx/env/neox/bin/activate
export HOSTNAMES=`scontrol show hostnames "$SLURM_JOB_NODELIST"`
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=12802

# Your hostfile creation script from above
hostfile=./hosts_$SLURM_JOBID
rm $hostfile &> /dev/null
for i in $HOSTNAMES
do
    echo $i slots=8 >>$hostfile
done
export DLTS_HOSTFILE=$hostfile

cat > 20B.yml <<'YML'
{
  "pipe-parallel-size": 4,
  "model-parallel-size": 2,
  "num-layers": 44,
  "hidden-size": 6144,
  "num-attention-heads": 64,
  "seq-length": 2048,
  "max-position-embeddings": 2048,
  "pos-emb": "rotary",
  "rotary-pct": 0.25,
  "no-weight-tying": true,
  "gpt-j-residual": true,
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 32,
  "zero_optimization": {"stage": 1},
  "checkpoint-activations": true,
  "checkpoint-num-layers": 1,
  "partition-activations": false,
  "fp16": {"enabled": true},
  "tokenizer-type": "HFTokenizer",
  "make_vocab_size_divisible_by": 256,
  "vocab-file": "20B_tokenizer.json",
  "data-path": "data/pile_text_document"
}
YML

cd ${NEOX_DIR:-.}
python ./deepy.py train.py 20B.yml
